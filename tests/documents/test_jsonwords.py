from pathlib import Path

import pytest

from tests.command import draguard

CLAIM = '{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": %s, '
CLAIM += '"spec": {"devices": {"requests": %s}}}'


@pytest.mark.parametrize(
    ("text", "words", "of_yaml"),
    [
        ('{"kind": "Pod" "spec": {}}', "while parsing an object", "while parsing a flow mapping"),
        ('[{"kind": "Pod"}', "while parsing an array", "while parsing a flow sequence"),
        (CLAIM % ('["a"]', "[]"), "help: write an object, with name", "help: write a map, with name"),
        (CLAIM % ('{"labels": "a"}', "[]"), "help: write an object: `", "help: write a map: a line"),
        (CLAIM % ('{"name": "a"}', '{"name": "g"}'), "help: write an array: the entries", "help: write a list: a `-`"),
        (
            CLAIM % ('{"name": "a"}', '{"g": {}}'),
            'help: write an array: [{"name": …}]',
            "help: write a list: `- name: …`",
        ),
    ],
)
def test_files_of_json_are_explained_in_its_words(text: str, words: str, of_yaml: str, tmp_path: Path) -> None:
    for name, expected in (("a.json", words), ("a.yaml", of_yaml)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert expected in draguard("validate", tmp_path / name).out
