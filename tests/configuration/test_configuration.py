"""`.draguard.yaml`, environment variables, and which of them take effect."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import ROOT, SCRIPT, Done, draguard, usage_error
from tests.rows import each_row_beside
from tests.suppression.manifests import claim, rules, suppressed
from webhook.cli.parser import make_parser, settle
from webhook.configuration.options import COMMANDS, CONFIGURED, Live
from webhook.configuration.reading import KEYS

OLD = claim("old").replace("/v1\n", "/v1beta1\n").replace("      exactly:\n        device", "      device")
"""A claim that Kubernetes 1.32 serves and 1.30 does not."""
CLUSTER = ROOT / "examples/scan/cluster.yaml"
MISSPELT = ROOT / "examples/mistakes/flat-request.yaml"
Configure = Callable[..., None]


pytestmark = pytest.mark.usefixtures("repository")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "top"
    for directory in (".git", "apps/one"):
        (top / directory).mkdir(parents=True)
    (top / "apps/one/claim.yaml").write_text(claim("GPU", "  colour: red\n"), encoding="utf-8")
    monkeypatch.chdir(top)
    return top


@pytest.fixture
def configure(repository: Path) -> Configure:
    def configure(text: str, directory: str = ".") -> None:
        (repository / directory / ".draguard.yaml").write_text(text, encoding="utf-8")

    return configure


@pytest.fixture
def variable(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    return lambda name, value: monkeypatch.setenv(f"DRAGUARD_{name}", value)


BOTH = [("error", "object-name"), ("error", "unknown-field")]


def found(*arguments: str | Path) -> list[tuple[str, str]]:
    done = draguard("validate", "-o", "json", *arguments)
    assert done.err == ""
    return rules(done)


HOSTILE = r"no\n::error::x\n  ::stop-commands::y\r::z\e[2J##[debug]"


@pytest.mark.parametrize("text", ['levels: {{"{}": off}}', 'policies: ["../../{}"]', 'baseline: "{}"'])
def test_no_complaint_commands_a_runner_or_a_terminal(configure: Configure, text: str) -> None:
    configure(text.format(HOSTILE))
    done = draguard("validate", "apps")
    assert done.code == 2
    assert r"\x3a:error::x" in done.err
    assert not {"\r", "\x1b"}.intersection(done.err)
    assert "##[" not in done.err
    assert not [line for line in done.err.splitlines() if line.lstrip().startswith("::")]


class TestFinding:
    @pytest.mark.parametrize("path", [".", "apps", "apps/one/claim.yaml", "apps/*/claim.yaml", "apps/one/"])
    def test_it_is_found_above_the_first_path(self, configure: Configure, path: str) -> None:
        configure("levels: {unknown-field: off}\n")
        assert found(path) == BOTH[:1]

    def test_the_nearest_counts(self, configure: Configure) -> None:
        configure("levels: {unknown-field: off}\n")
        configure("levels: {object-name: off}\n", "apps")
        assert found("apps/one") == BOTH[1:]
        assert found(".") == BOTH[:1]

    def test_one_above_the_repository_does_not_count(self, repository: Path) -> None:
        (repository.parent / ".draguard.yaml").write_text("levels: {unknown-field: off}\n", encoding="utf-8")
        assert found("apps") == BOTH

    def test_outside_a_repository_it_is_found_up_to_the_working_directory(
        self, repository: Path, configure: Configure, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (repository / ".git").rmdir()
        configure("levels: {unknown-field: off}\n")
        assert found("apps/one") == BOTH[:1]
        (repository.parent / "other").mkdir()
        monkeypatch.chdir(repository.parent / "other")
        assert found("../top/apps/one") == BOTH
        assert found("../top") == BOTH[:1]

    def test_one_can_be_named_or_left_out(self, configure: Configure, repository: Path) -> None:
        configure("levels: {unknown-field: off}\n")
        (repository / "other.yaml").write_text("levels: {object-name: off}\n", encoding="utf-8")
        assert found("--no-config", "apps") == BOTH
        assert found("--config", "other.yaml", "apps") == BOTH[1:]
        done = draguard("validate", "--config", "gone.yaml")
        assert done == Done(2, "", "draguard validate: error: gone.yaml: no such file or directory\n")

    def test_it_is_not_a_manifest(self, configure: Configure) -> None:
        configure("strict: true\n")
        assert "\n1 document in 1 file: no problems (Kubernetes 1.37);" in draguard("validate", "--level", "*=off").out


class TestKeys:
    def test_levels(self, configure: Configure) -> None:
        configure("levels: {unknown-field: warn, object-*: audit}\n")
        assert found() == [("note", "object-name"), ("warning", "unknown-field")]
        assert found("--level", "unknown-field=error") == [("note", "object-name"), ("error", "unknown-field")]
        configure("levels: {unknown-field: off}\n")
        assert suppressed(draguard("validate", "-o", "json")) == [
            ("unknown-field", "option", "levels.unknown-field in .draguard.yaml")
        ]
        assert found("--select", "unknown-field") == BOTH[1:]

    def test_kubernetes_versions(self, configure: Configure, repository: Path) -> None:
        (repository / "apps/one/claim.yaml").write_text(OLD, encoding="utf-8")
        configure('kubernetesVersions: ["1.30"]\n')
        assert found() == [("error", "not-served")]
        assert found("--kubernetes-version", "1.32") == []
        configure('kubernetesVersions: ["1.32", "1.30"]\n')
        assert found() == [("error", "not-served")]
        assert draguard("policy", "check", ".").code == 2

    def test_maps_are_shown_and_those_of_the_command_line_join_them(self, configure: Configure) -> None:
        configure(
            "featureGates: {AllBeta: true, AllAlpha: true}\nnamespaceLabels: {ops: {a: b}, dev: {a: ''}}\n"
            "podTemplates: {example.com/Trainer: ['spec.workers[].template', spec.head]}\n"
        )
        done = draguard("config", "show", "--feature-gates", "AllAlpha=false", "--namespace-labels", "ops=c=d")
        shown = yaml.safe_load(done.out)
        assert shown["featureGates"] == {"AllBeta": True, "AllAlpha": False}
        assert shown["namespaceLabels"] == {"dev": {"a": ""}, "ops": {"c": "d"}}
        assert shown["podTemplates"] == {"example.com/Trainer": ["spec.workers[].template", "spec.head"]}

    def test_settings_are_printed_as_json_but_not_as_reports(self, configure: Configure, variable: Configure) -> None:
        configure("strict: true\n")
        shown = json.loads(draguard("config", "show", "-o", "json", "--all-pods").out)
        assert shown["configuration"] == ".draguard.yaml"
        assert shown["settings"].keys() == yaml.safe_load(draguard("config", "show").out).keys() | {"baseline"}
        assert shown["settings"]["strict"] == {"value": True, "source": ".draguard.yaml:1"}
        assert shown["settings"]["allPods"] == {"value": True, "source": "command line"}
        assert shown["settings"]["baseline"] == {"value": None, "source": "default"}
        for output in ("sarif", "json=settings.json"):
            done = draguard("config", "show", "-o", output)
            assert (done.code, done.out, "printed as text, which is YAML, or as json" in done.err) == (2, "", True)
        variable("OUTPUT", "github")
        assert draguard("config", "show").out.startswith("# configuration file: .draguard.yaml\n")

    def test_exclude(self, configure: Configure, repository: Path) -> None:
        (repository / "apps/two.yaml").write_text(claim("TWO"), encoding="utf-8")
        configure("exclude: [apps/one]\n")
        assert found() == BOTH[:1]
        done = draguard("validate", "--exclude", "two.*", "apps", "apps/one/claim.yaml")
        assert done.out == "nothing was read\nnot read: 3 paths that are excluded\n"

    def test_ignores(self, configure: Configure) -> None:
        configure("ignores:\n- paths: [apps/**]\n  rules: [unknown-field, object-*]\n  reason: they show mistakes\n")
        done = draguard("validate", "-o", "json", "apps/one")
        assert suppressed(done) == [
            ("object-name", "path", "they show mistakes"),
            ("unknown-field", "path", "they show mistakes"),
        ]

    def test_ignores_that_ignore_nothing_are_reported_where_everything_was_read(self, configure: Configure) -> None:
        configure("ignores:\n- paths: [apps]\n  rules: [unknown-field, required]\n  reason: why not\n")
        assert found("apps") == BOTH[:1]
        done = draguard("validate", "-o", "concise")
        assert ".draguard.yaml:2:1: warning unused-suppression: ignores[apps][required]: suppresses no " in done.out

    def test_a_baseline_knows_which_ignore_is_unused(self, configure: Configure) -> None:
        ignore = "ignores:\n- paths: [apps]\n  rules: [%s]\n  reason: why not\n"
        configure(ignore % "required")
        assert draguard("validate", "--write-baseline", "known.json").code == 0
        assert found("--baseline", "known.json") == []
        configure(ignore % "immutable")
        assert found("--baseline", "known.json") == [("warning", "unused-suppression")]

    def test_a_baseline(self, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
        configure("baseline: known.json\n")
        said = (
            "known.json: no such file or directory: `--write-baseline known.json` makes it (set by .draguard.yaml:1)\n"
        )
        assert f"--baseline: {said}" in draguard("validate").err
        shown = draguard("config", "show")
        assert (shown.code, shown.err) == (0, "")
        said = "no such file: `draguard validate --write-baseline known.json` makes it"
        assert f'baseline: "known.json"  # .draguard.yaml:1; {said}\n' in shown.out
        assert draguard("validate", "--write-baseline", "known.json").code == 0
        assert "no such file" not in draguard("config", "show").out
        monkeypatch.chdir("apps")
        assert found() == []

    def test_policies_are_those_of_the_repository(self, configure: Configure, repository: Path) -> None:
        policy = '{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}'
        (repository / "policies").mkdir()
        (repository / "policies/p.json").write_text(policy, encoding="utf-8")
        configure("policies: [policies]\n")
        assert ("error", "required") in found("apps")
        assert ("error", "required") in found("--config", ".draguard.yaml", "apps")

    def test_switches(self, configure: Configure, repository: Path) -> None:
        pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: POD}\nspec: {containers: []}\n"
        (repository / "apps/one/claim.yaml").write_text(pod, encoding="utf-8")
        assert draguard("validate").code == 0
        configure("allPods: true\nlevels: {'*': warn}\nstrict: true\n")
        assert draguard("validate").code == 1


class TestMistakes:
    @pytest.fixture
    def trapped(self, repository: Path) -> None:
        (repository / "link").symlink_to("/etc")
        (repository / "kept").symlink_to(".git/config")
        os.mkfifo(repository / "pipe")

    @pytest.mark.usefixtures("trapped")
    @each_row_beside("text", "message")
    def test_the_place_and_the_fix_are_reported(self, configure: Configure, text: str, message: str) -> None:
        configure(text)
        assert usage_error("validate", "apps").startswith(f"draguard validate: error: .draguard.yaml:{message}")

    def test_all_errors_are_reported_at_once(self, configure: Configure) -> None:
        configure(
            "strict: maybe\nlevel: {}\nlevels: {unknown-feild: off, requierd: warn}\n"
            "ignores: [{paths: [a], rules: [b]}]\nexclude: ['[z-a]']\npolicies: [../a, b, ../c]\n"
        )
        lines = draguard("validate", "apps").err.splitlines()
        assert [line.removeprefix("draguard validate: error: ").split(": ")[:2] for line in lines] == [
            [".draguard.yaml:1:1", "strict"],
            [".draguard.yaml:2:1", "level"],
            [".draguard.yaml:3:10", "levels.unknown-feild"],
            [".draguard.yaml:3:30", "levels.requierd"],
            [".draguard.yaml:4:11", "ignores[0]"],
            [".draguard.yaml:5:1", "exclude"],
            [".draguard.yaml:6:12", "policies[0]"],
            [".draguard.yaml:6:21", "policies[2]"],
        ]

    def test_errors_lists_and_the_file_are_bounded(self, configure: Configure) -> None:
        for wrong in ("exclude: [" + "1," * 1000 + "]", "".join(f"a{n}: 1\n" for n in range(30)) + "levels: 5\n"):
            configure(wrong)
            lines = draguard("validate", "apps").err.splitlines()
            assert (len(lines), lines[-1]) == (21, "and more")
        configure("exclude: [" + "a," * 1001 + "]")
        assert ".draguard.yaml:1:1: exclude: has more than 1000 items" in usage_error("validate", "apps")
        configure("#" * 1024 * 1024 + "\n")
        assert draguard("validate").err == "draguard validate: error: .draguard.yaml: larger than 1024 KiB\n"

    def test_a_link_out_of_the_repository_is_not_read(self, repository: Path) -> None:
        (repository.parent / "secret").write_text("secret\n", encoding="utf-8")
        (repository / ".draguard.yaml").symlink_to("../secret")
        message = f".draguard.yaml: a symbolic link that leads out of {repository}\n"
        assert draguard("validate") == Done(2, "", f"draguard validate: error: {message}")

    def test_a_pipe_is_not_waited_for(self, repository: Path) -> None:
        os.mkfifo(repository / ".draguard.yaml")
        assert draguard("validate").err == "draguard validate: error: .draguard.yaml: no regular file\n"

    def test_standard_input_is_not_among_policies(self, configure: Configure) -> None:
        configure("policies: ['-']\n")
        done = draguard("validate", "-o", "concise", stdin=b"x: y")
        assert "-: error unreadable: no such file or directory\n" in done.out


class TestVariables:
    @pytest.mark.parametrize(
        ("name", "value", "left"),
        [
            ("SELECT", "unknown-field", BOTH[1:]),
            ("IGNORE", "unknown-field\nobject-name", []),
            ("LEVEL", "unknown-field=off", BOTH[:1]),
            ("EXCLUDE", "one", []),
            ("LEVEL", "", BOTH),
        ],
    )
    def test_they_set_options(self, variable: Configure, name: str, value: str, left: list[tuple[str, str]]) -> None:
        variable(name, value)
        assert found() == left

    def test_the_command_line_counts_more_and_the_file_less(self, configure: Configure, variable: Configure) -> None:
        Path("apps/one/claim.yaml").write_text(OLD, encoding="utf-8")
        configure('kubernetesVersions: ["1.32"]\n')
        assert found() == []
        variable("KUBERNETES_VERSION", "1.30")
        assert found() == [("error", "not-served")]
        assert found("--kubernetes-version", "1.33") == []

    def test_an_option_that_repeats_its_default_counts_more(self, variable: Configure) -> None:
        variable("COLOR", "always")
        assert "\x1b[" in draguard("validate").out
        assert "\x1b[" not in draguard("validate", "--color", "auto").out

    @each_row_beside("command", "name", "value", "message")
    def test_one_that_makes_no_sense_or_has_set_an_option_that_makes_none_is_named(
        self, monkeypatch: pytest.MonkeyPatch, command: str, name: str, value: str, message: str
    ) -> None:
        paths = {"validate": (".",), "scan": ("--cluster", "."), "convert": ("-",)}
        with monkeypatch.context() as patched:
            patched.setenv(f"DRAGUARD_{name}", value)
            done = draguard(command, *paths.get(command, ("--cluster", CLUSTER)))
        option = name.lower().replace("_", "-")
        error = f"DRAGUARD_{name}: {message}" if message else f"--{option}*: * (set by DRAGUARD_{name})"
        assert (done.code, done.out) == (2, "")
        assert fnmatchcase(done.err, f"draguard {command}: error: {error}\n")

    def test_a_variable_with_a_slip_is_refused(self, variable: Configure) -> None:
        variable("SERVICE_HOST", "10.0.0.1")
        variable("PORTS", "1")  # policy test has --costs
        assert draguard("validate").err == ""
        variable("FIX", "true")  # one of another command; simulate has --fit
        assert draguard("simulate", "--cluster", CLUSTER).code == 0
        variable("STRIC", "true")
        message = "the variable DRAGUARD_STRIC is unknown; did you mean DRAGUARD_STRICT?"
        assert draguard("validate") == Done(2, "", f"draguard validate: error: {message}\n")

    def test_none_writes_or_watches(self, tmp_path: Path, variable: Configure) -> None:
        for name in ("WRITE", "DIFF", "WATCH"):
            variable(name, "true")
        pod = tmp_path / "pod.yaml"
        text = next((ROOT / "examples/pre-scheduled").glob("*.yaml")).read_text(encoding="utf-8")
        pod.write_text(text, encoding="utf-8")
        assert "nodeSelector" in draguard("mutate", pod).out
        assert pod.read_text(encoding="utf-8") == text
        assert draguard("devices", "--cluster", CLUSTER).code == 0

    @pytest.mark.parametrize(
        ("command", "expected"),
        [
            (["why", "node/node-a"], "node/node-a: "),
            (["simulate"], "no pod is pending\nsimulated as Kubernetes 1.36"),
            (["match", "device.driver == 'x'"], "device.driver == 'x': 0 of 2 devices match"),
            (["devices"], "NODE "),
            (["scan"], f"{CLUSTER}:25:3: warning node-without-slices"),
            (["validate", MISSPELT], f"{MISSPELT}:10:7: error unknown-field"),
        ],
    )
    def test_they_set_the_cluster_of_all_that_ask_about_one(
        self, variable: Configure, command: list[str], expected: str
    ) -> None:
        variable("CLUSTER", str(CLUSTER))
        assert draguard(*command).out.startswith(expected)
        variable("CLUSTER", "gone.yaml")
        assert "gone.yaml: error unreadable: no such file" in "".join(draguard(*command)[1:])

    def test_the_output_of_reports_is_not_that_of_other_commands(self, variable: Configure) -> None:
        variable("OUTPUT", "github")
        assert draguard("devices", "--cluster", CLUSTER).out.startswith("NODE ")

    def test_the_files_and_the_running_cluster_add_up(self, variable: Configure) -> None:
        variable("CLUSTER", "a.yaml\nb.yaml")
        variable("CONTEXT", "prod")
        arguments = make_parser(["devices"]).parse_args(["devices"])
        settle(arguments)
        assert arguments.cluster == ["a.yaml", "b.yaml", Live("prod")]
        assert arguments.settings.sources == {"cluster": "DRAGUARD_CONTEXT"}

    def test_of_options_that_exclude_each_other_one_is_set(self, variable: Configure) -> None:
        variable("CONFIG", "gone.yaml")
        assert draguard("validate", "--no-config").err == ""
        variable("NO_CONFIG", "true")
        message = "DRAGUARD_CONFIG and DRAGUARD_NO_CONFIG exclude each other: set one of them"
        assert draguard("validate") == Done(2, "", f"draguard validate: error: {message}\n")
        variable("NO_CONFIG", "false")
        assert "gone.yaml" in draguard("validate").err

    def test_several_releases_are_too_many_for_some_commands(self, variable: Configure) -> None:
        variable("KUBERNETES_VERSION", "1.33\n1.34")
        assert "are several releases: give one (set by" in draguard("simulate", "--cluster", CLUSTER).err

    def test_the_documentation_names_the_commands_that_read_them(self) -> None:
        text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
        with_file, _, rest = text.partition(" read `.draguard.yaml`")
        of_variables = rest.partition("These commands, and ")[2].partition(", read a variable")[0]
        ours = {
            " ".join(words): command
            for name, each in COMMANDS.items()
            for words, command in [((name,), each), *(((name, action), of) for action, of in each.actions.items())]
            if command.reads_variables
        }
        configured = [name for name, command in ours.items() if CONFIGURED in command.of and name != "config show"]
        assert sorted(re.findall("`(?:draguard )?([a-z ]+)`", with_file)) == sorted(configured)
        others = [name for name, command in ours.items() if CONFIGURED not in command.of]
        assert sorted(re.findall("`([a-z]+)`", of_variables)) == sorted(others)

    def test_a_service_of_that_name_sets_no_option(self, variable: Configure) -> None:
        for name in ("PORT", "SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTPS", "PORT_443_TCP", "PORT_443_TCP_PORT"):
            # Kubernetes sets them in every pod beside the Service.
            variable(name, "tcp://10.0.0.1:443")
        assert draguard("devices", "--cluster", CLUSTER).code == 0
        assert "no such file" in draguard("ui", "--cluster", "gone").err
        assert "no such file" in draguard("serve", "--tls-cert", "gone", "--tls-key", "gone").err.lower()


class TestConfigCommand:
    def test_the_schema_describes_every_key(self) -> None:
        schema = json.loads(draguard("config", "schema").out)
        assert list(schema["properties"]) == list(KEYS)
        assert all(each["description"] for each in schema["properties"].values())
        assert schema["additionalProperties"] is False
        assert schema["properties"]["ignores"]["items"]["required"] == ["paths", "rules", "reason"]
        assert False in schema["properties"]["levels"]["additionalProperties"]["enum"]

    def test_it_shows_what_is_in_force_and_who_says_so(self, configure: Configure, variable: Configure) -> None:
        configure("exclude: [a]\nlevels: {deprecated: off}\n")
        variable("STRICT", "yes")
        done = draguard("config", "show", "--level", "deprecated=warn", "apps")
        assert done.code == 0
        lines = done.out.splitlines()
        assert [line.partition(":")[0] for line in lines[1:]] == [
            f"# {name}" if name == "baseline" else name for name in KEYS
        ]
        assert [line for line in lines if not line.endswith("# default")] == [
            "# configuration file: .draguard.yaml",
            'exclude: ["a"]  # .draguard.yaml:1',
            'levels: {"deprecated": "warning"}  # .draguard.yaml:2, command line',
            "# baseline: none",
            "strict: true  # DRAGUARD_STRICT",
        ]

    def test_a_path_that_does_not_exist_is_refused(self) -> None:
        done = draguard("config", "show", "*.yaml", "-", "gone")
        assert (done.code, done.err) == (2, "draguard config show: error: gone: no such file or directory\n")

    def test_what_it_shows_can_be_the_file(self, configure: Configure) -> None:
        shown = draguard("config", "show", "--no-config", "--exclude", "x").out
        configure(shown)
        again = yaml.safe_load(draguard("config", "show").out)
        assert again == yaml.safe_load(shown)
        assert found("apps") == BOTH

    def test_what_cannot_be_is_refused(self, repository: Path) -> None:
        done = draguard("config", "show", "--feature-gates", "x", repository)
        assert (done.code, done.out) == (2, "")


@pytest.mark.process
def test_a_process_obeys_the_file_of_its_repository(configure: Configure, repository: Path) -> None:
    configure("levels: {unknown-field: off, object-name: warn}\n")

    def run(*arguments: str, **env: str) -> tuple[int, Any]:
        done = subprocess.run(
            [SCRIPT, "validate", "-o", "json", *arguments],
            capture_output=True,
            check=False,
            cwd=repository / "apps",
            env={**os.environ, **env},
        )
        return done.returncode, [each["level"] for each in json.loads(done.stdout)["findings"]]

    assert run() == (0, ["warning"])
    assert run(DRAGUARD_STRICT="1") == (1, ["warning"])
    assert run("--no-config") == (1, ["error", "error"])
