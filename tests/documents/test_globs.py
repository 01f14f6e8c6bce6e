from pathlib import Path

import pytest

from tests.rows import each_row
from webhook.documents.globs import MAX_PATTERN, Globs, PatternError


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*.json", ["a.json", "x/a.json", "./x/../a.json"], ["a.jsonx", "json"]),
        ("charts", ["charts/a.yaml", "x/charts/y/a.yaml"], ["chart", "charts.yaml", "mycharts/a"]),
        ("charts/", ["charts/a.yaml"], ["charts.yaml"]),
        ("/charts", ["charts/a.yaml"], ["x/charts/a.yaml"]),
        ("x/*.yaml", ["x/a.yaml"], ["x/y/a.yaml", "y/x/a.yaml"]),
        ("./x/a.yaml", ["x/a.yaml"], ["y/x/a.yaml"]),
        ("x/**", ["x/a.yaml", "x/y/a.yaml"], ["x.yaml", "y/x/a.yaml"]),
        ("x/**/a.yaml", ["x/a.yaml", "x/y/z/a.yaml"], ["xa.yaml", "x/ya.yaml"]),
        ("**/a.yaml", ["a.yaml", "x/y/a.yaml"], ["ba.yaml"]),
        ("a?.yaml", ["ab.yaml"], ["a.yaml", "a/.yaml"]),
        ("[ab].yaml", ["a.yaml"], ["c.yaml"]),
        ("[!ab].yaml", ["c.yaml"], ["a.yaml"]),
        ("a.b+(c)", ["a.b+(c)"], ["axb+(c)"]),
        ("[", ["["], ["x"]),
        ("é*.yaml", ["ébc.yaml"], ["e.yaml"]),
    ],
)
def test_patterns_match_as_in_gitignore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, matching: list[str], other: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    globs = Globs([pattern, "never"], ".")
    assert [each for each in (*matching, *other) if globs.has(each)] == matching
    assert globs.has(f"{tmp_path}/{matching[0]}")


def test_patterns_are_relative_to_their_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    globs = Globs(["x/*.yaml", "*.json"], "a")
    assert globs.has("a/x/1.yaml")
    assert not globs.has("x/1.yaml")
    assert globs.has("/elsewhere/1.json")
    assert not Globs([], ".").has("a")


@each_row("pattern", ["", "/", "../a", "a/../b", "a\nb", "a" * (MAX_PATTERN + 1), "[z-a]"])
def test_a_pattern_that_makes_no_sense_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        Globs([pattern], ".")


def test_a_pattern_takes_no_more_than_linear_time() -> None:
    assert not Globs(["*a" * 400 + "b"], ".").has("a" * 4000)


@pytest.mark.parametrize("pattern", ["**/" + "[a-z]*?" * 140, "x" * 1000])
@pytest.mark.parametrize("count", [pytest.param(190, marks=pytest.mark.slow), 1000])
def test_more_patterns_than_can_be_matched_at_once_are_refused(pattern: str, count: int) -> None:
    with pytest.raises(PatternError, match="too many or too long"):
        Globs([f"{pattern}{number}" for number in range(count)], ".")
