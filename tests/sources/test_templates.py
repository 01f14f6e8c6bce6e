"""Rendered output of a chart, traced back to the lines of its templates."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import draguard
from tests.examples import examples
from tests.rows import each_row
from tests.sources.programs import chart
from webhook.sources.origins import locate

TEMPLATE = """\
{{- range $i := until 2 }}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: {{ $.Values.name }}-{{ $i }}
  {{- with $.Values.labels }}
  labels:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  devices:
    requests:
    {{- include "requests" $ | nindent 4 }}
{{- end }}
"""
RENDERED = """\
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: gpu-0
  labels:
    team: a
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: gpu-1
  labels:
    team: a
spec:
  devices:
    requests:
    - name: gpu
"""


@each_row(
    ("line", "column", "place"),
    (3, 1, (4, 1)),
    (5, 3, (6, 3)),  # a value that an action has written stands beside its key
    (5, 9, (6, 9)),
    (7, 5, (9, 5)),  # what an action has written as a whole
    (10, 5, (13, 5)),
    (11, 7, (14, 5)),
    (13, 9, (14, 5)),
    (18, 3, (6, 3)),  # the second time that a loop comes by
    (21, 1, (11, 1)),
)
def test_a_line_is_traced_to_the_template(line: int, column: int, place: tuple[int, int]) -> None:
    assert locate(TEMPLATE, RENDERED, line, column) == (*place, TEMPLATE.splitlines()[place[0] - 1])


def test_a_line_that_is_indented_anew_keeps_its_column() -> None:
    assert locate("{{ if x }}\n      kind: Pod\n{{ end }}", "\n  kind: Pod\n", 2, 9) == (2, 13, "      kind: Pod")


@each_row(
    ("template", "word", "place"),
    ("a: {n: {{ .Values.n }}, foo: 1}", "foo", "foo: 1}"),
    ("a: {n: {{ .Values.n }}, foo: 1}", "n", "n: {{ .Values.n }}, foo: 1}"),
    ("a: {n: {{ .Values.n }}, foo: {m: 1}}", "more", "{{ .Values.n }}, foo: {m: 1}}"),
    ("a: {n: {{ .Values.n }}, o: {{ .Values.o }}}", "more", "{{ .Values.n }}, o: {{ .Values.o }}}"),
    ("a: {n: {{ .Values.n }}, o: {{ .Values.o }}}", "foo", "a: {n: {{ .Values.n }}, o: {{ .Values.o }}}"),
    ("a: {n: {{ .Values.n }}, foo: {foo: 1}}", "foo", "foo: {foo: 1}}"),
    ("a: {n: {{ .Values.n }}, foo: {foo: {{ .Values.o }}}}", "1", "{{ .Values.o }}}}"),
    ("a: {n: {{ .Values.n }}, foo: {foo: {{ .Values.o }}}}", "more", "{{ .Values.n }}, foo"),
    ("a: {n: {{- /* none */ -}} more, foo: {foo: {{ .Values.o -}} }}", "1", "{{ .Values.o -}}"),
)
def test_places_among_and_behind_actions_are_found(template: str, word: str, place: str) -> None:
    rendered = "a: {n: more, foo: {foo: 1}}"
    found = locate(template, rendered, 1, rendered.index(word) + 1)
    assert found == (1, template.index(place) + 1, template)


@each_row(("line", "template"), (0, TEMPLATE), (99, TEMPLATE), (1, ""), (1, "x\n" * 400_000))
def test_an_unknown_cause_is_not_reported(line: int, template: str) -> None:
    assert locate(template, RENDERED, line, 1) is None


def test_lines_that_repeat_among_others_take_no_cubic_time() -> None:
    template, rendered = ("".join(f"x: 1\n{key}{index}: 1\n" for index in range(999)) for key in "ab")
    assert locate(template, rendered, 1, 1) is None


@examples(50)
@given(
    template=st.lists(st.sampled_from([*TEMPLATE.splitlines(), "", "{{ x }}", "- a", '"k": v']), max_size=12),
    rendered=st.lists(st.sampled_from([*RENDERED.splitlines(), "", "- b", "k:"]), min_size=1, max_size=12),
    data=st.data(),
)
def test_a_place_is_in_the_template(template: list[str], rendered: list[str], data: st.DataObject) -> None:
    line = data.draw(st.integers(1, len(rendered)))
    column = data.draw(st.integers(1, len(rendered[line - 1]) + 1))
    place = locate("\n".join(template), "\n".join(rendered), line, column)
    if place:
        found, at, text = place
        assert template[found - 1] == text
        assert 1 <= at <= len(text) + 1


@pytest.mark.tools
def test_findings_stand_in_templates(tmp_path: Path) -> None:
    helper = '{{ define "requests" }}- name: gpu\n  exactly: {deviceClassName: gpu.example.com, cuont: 2}{{ end }}'
    directory = chart(tmp_path / "c", claim=TEMPLATE.replace("requests:", "requests: # many"), helper=helper)
    out = draguard("validate", directory, "--helm-set", "name=Gpu").out
    assert f"{directory}/templates/claim.yaml:6:3: error object-name: " in out
    assert f"{directory}/templates/claim.yaml:14:5: error unknown-field: " in out
    assert '14 |     {{- include "requests" $ | nindent 4 }}\n' in out
    assert "Gpu-0, rendered as `name: Gpu-0`\n" in out
