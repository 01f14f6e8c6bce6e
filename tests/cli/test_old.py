"""``draguard validate --old``: updates."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.manifests import CLAIM, CLAIM_V1, CONFIG_MAP, NEW_POD, rules
from tests.command import draguard, findings
from tests.rows import each_row

HERE = "  namespace: default\n"
CHANGED, CHANGED_V1 = (each.replace("gpu.example.com", "other.example.com") for each in (CLAIM, CLAIM_V1))
FLAT = CLAIM_V1.replace("/v1\n", "/v1beta1\n").replace("      exactly:\n  ", "")


class TestOld:
    def test_what_may_not_change_is_found_in_the_new_state(self, write: Callable[..., Path]) -> None:
        folder = write(old__a=CLAIM, new__b=f"{CONFIG_MAP}---\n{CHANGED}")
        (found,) = findings("validate", "--old", folder / "old", folder / "new")
        assert (found["file"], found["line"], found["rule"]) == (f"{folder}/new/b.yaml", 11, "immutable")
        assert found["hint"] == "delete the object and create it again"

    def test_objects_of_one_state_only_are_no_problem(self, write: Callable[..., Path]) -> None:
        gone, new = CLAIM.replace("name: claim", "name: gone"), CLAIM.replace("name: claim", "name: new")
        folder = write(old=f"{gone}---\n{CLAIM}", new=f"{new}---\n{CLAIM}")
        assert findings("validate", "--old", folder / "old.yaml", folder / "new.yaml") == []

    def test_an_old_state_of_other_objects_is_noted(self, write: Callable[..., Path]) -> None:
        other = CLAIM.replace("name: claim", "name: other")
        folder = write(old=CLAIM, other=other, both=f"{other}---\n{CLAIM}", map=CONFIG_MAP)
        note = "note: --old has none of these objects by kind, namespace and name: all are judged as new\n"
        outputs = [
            draguard("validate", "--old", folder / "old.yaml", folder / f"{name}.yaml").out
            for name in ("old", "other", "both", "map")
        ]
        assert [note in each for each in outputs] == [False, True, False, False]

    @pytest.mark.parametrize(
        ("files", "old"),
        [
            ({"old__values": "replicas: 1"}, "old"),
            ({"old__kustomization": "resources: [../new.yaml]"}, "old/kustomization.yaml"),
            ({"old__Chart": "apiVersion: v2\nname: chart\nversion: 1.0.0"}, "old/Chart.yaml"),
        ],
    )
    def test_an_old_state_without_objects_is_noted(
        self, files: dict[str, str], old: str, write: Callable[..., Path]
    ) -> None:
        folder = write(new=CLAIM, **files)
        assert "note: --old has none of these" in draguard("validate", "--old", folder / old, folder / "new.yaml").out

    @pytest.mark.parametrize("option", ["--old", "--cluster"])
    def test_a_directory_or_glob_of_another_state_leads_to_a_file(
        self, option: str, write: Callable[..., Path]
    ) -> None:
        folder = write(new=CLAIM)
        (folder / "empty").mkdir()
        for path, why in (("empty", "no manifest in this directory"), ("missing*.yaml", "no manifest matches")):
            done = draguard("validate", option, folder / path, folder / "new.yaml")
            assert (done.code, why in done.out, "--allow-empty" in done.out) == (2, True, False)

    def test_files_of_the_old_state_that_are_not_read_are_noted_as_such(self, write: Callable[..., Path]) -> None:
        folder = write(new=CLAIM, old__chart__Chart="name: chart", old__chart__templates__a="{{ x }}")
        done = draguard("validate", "--old", folder / "old", folder / "new.yaml")
        assert "--old: not read: 1 Helm template" in done.err + done.out

    def test_old_states_come_from_several_paths_and_from_standard_input(self, write: Callable[..., Path]) -> None:
        folder = write(old=CONFIG_MAP, new=CHANGED)
        old = ["--old", str(folder / "old.yaml"), "--old", "-"]
        assert rules(*old, folder / "new.yaml", stdin=CLAIM) == [("immutable", "spec")]

    @each_row(
        ("old", "new", "found"),
        [
            (CLAIM, CHANGED, True),
            (CLAIM, CHANGED.replace(HERE, ""), True),
            (CLAIM.replace(HERE, ""), CHANGED, True),
            (CLAIM.replace(HERE, ""), CHANGED.replace(HERE, ""), True),
            (CLAIM.replace("default", "other"), CHANGED, False),
            (f"{CLAIM}---\n{CLAIM.replace('default', 'other')}", CHANGED.replace(HERE, ""), False),
            (CLAIM.replace("claim\n", "other\n"), CHANGED, False),
            (CLAIM.replace("kind: ResourceClaim", "kind: ResourceClaimTemplate"), CHANGED, False),
            (CLAIM.replace("name: claim", "generateName: a"), CHANGED.replace("name: claim", "generateName: a"), False),
            *((CLAIM_V1.replace("/v1", "/v1beta2"), new, new != CLAIM_V1) for new in (CLAIM_V1, CHANGED_V1)),
            *((FLAT, new, new != CLAIM_V1) for new in (CLAIM_V1, CHANGED_V1)),
            (f"[1]\n---\n3\n---\n{NEW_POD.replace('apiVersion: v1', '')}", NEW_POD, False),
        ],
    )
    def test_an_object_is_known_by_its_kind_name_and_namespace_in_any_version(
        self, old: str, new: str, found: bool, write: Callable[..., Path]
    ) -> None:
        folder = write(old=old, new=new)
        assert rules("--old", folder / "old.yaml", folder / "new.yaml") == [("immutable", "spec")] * found

    def test_states_that_cannot_be_converted_are_not_compared(self, write: Callable[..., Path]) -> None:
        folder = write(
            old=CLAIM.replace("v1alpha2", "v1").replace("resourceClassName: gpu.example.com", "{}"), new=CLAIM
        )
        done = draguard("validate", "--old", folder / "old.yaml", folder / "new.yaml")
        assert done.code == 0
        assert ":1:1: warning old-version: apiVersion: the old state is in resource.k8s.io/v1, so " in done.out
        assert (
            "\nhelp: get the old state in resource.k8s.io/v1alpha2: kubectl get resourceclaim.v1alpha2.res" in done.out
        )

    def test_an_old_state_that_cannot_be_read_is_found(self, write: Callable[..., Path]) -> None:
        folder = write(old="a: [", new=CLAIM)
        (found,) = findings("validate", "--old", folder / "old.yaml", folder / "new.yaml")
        assert (found["file"], found["rule"]) == (f"{folder}/old.yaml", "unreadable")

    def test_a_status_is_compared_on_demand(self, write: Callable[..., Path]) -> None:
        status = "status:\n  reservedFor:\n  - {resource: pods, name: pod, uid: uid}\n"
        folder = write(old=CLAIM, new=CLAIM + status)
        states = ["--old", str(folder / "old.yaml"), str(folder / "new.yaml")]
        assert ("reserved-only-while-allocated", "status.reservedFor") in rules("--subresource", "status", *states)
        assert ("reserved-only-while-allocated", "status.reservedFor") not in rules(*states)

    def test_a_status_that_is_not_judged_names_the_option(self, write: Callable[..., Path]) -> None:
        claim = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec: {}\n"
        folder = write(old=claim, new=f"{claim}status: {{devices: [{{driver: a.b, pool: p, device: d}}]}}\n")
        old, new = folder / "old.yaml", folder / "new.yaml"
        for options in ((), ("--old", old)):
            (found,) = [each for each in findings("validate", *options, new) if each["rule"].startswith("status-")]
            assert "--subresource status" in found["hint"]
        assert [each["rule"] for each in findings("validate", "--old", old, "--subresource", "status", new)] != []

    def test_a_status_needs_an_old_state(self, write: Callable[..., Path]) -> None:
        done = draguard("validate", "--subresource", "status", write(new=CLAIM))
        assert (done.code, done.out) == (2, "")
        assert "--subresource status judges updates: give the earlier state with --old" in done.err
