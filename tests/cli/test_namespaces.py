"""Namespaces of objects: stated, given by ``-n``, and what is known of their labels."""

from pathlib import Path

from tests.cli.manifests import levels
from tests.command import draguard, usage_error
from tests.policies import POLICY
from tests.rows import each_row
from tests.simulation import clusters
from tests.structured import claim_manifest
from webhook.objects import JSONObject

ADMIN_CLAIM = claim_manifest("claim", "        adminAccess: true\n", "ops")
LABEL = "resource.kubernetes.io/admin-access"
LABELLED = f'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ops\n  labels:\n    {LABEL}: "true"\n'
UNLABELLED = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ops\n"


class TestNamespaces:
    def test_nothing_known_of_the_namespace_is_a_warning_that_says_how_to_fix_that(self) -> None:
        done = draguard("validate", "-", stdin=ADMIN_CLAIM.encode())
        assert (done.code, "warning admin-access: " in done.out) == (0, True)
        assert "help: its labels are not known: add the Namespace, or give --namespace-labels" in done.out

    @each_row(("namespace", "found"), (LABELLED, []), (UNLABELLED, [("error", "admin-access")]))
    def test_a_namespace_may_stand_anywhere_among_the_manifests(
        self, namespace: str, found: list[tuple[str, str]]
    ) -> None:
        for documents in ([namespace, ADMIN_CLAIM], [ADMIN_CLAIM, namespace]):
            assert levels(stdin="---\n".join(documents)) == found

    def test_a_namespace_may_stand_beside_the_policies(self, tmp_path: Path) -> None:
        (tmp_path / "policies.yaml").write_text(
            UNLABELLED + "---" + POLICY.format(expression="'true'"), encoding="utf-8"
        )
        assert levels("--policies", str(tmp_path), stdin=ADMIN_CLAIM) == [("error", "admin-access")]
        assert levels("--policies", str(tmp_path), stdin=ADMIN_CLAIM + "---\n" + LABELLED) == []

    @each_row(
        ("labels", "found"),
        ([f"ops={LABEL}=true"], []),
        ([f"ops=team=a,{LABEL}=true"], []),
        (["ops=team=a", f"ops={LABEL}=true"], []),
        ([f"ops={LABEL}=false"], [("error", "admin-access")]),
        (["ops="], [("error", "admin-access")]),
        (["other="], [("warning", "admin-access")]),
    )
    def test_its_labels_may_be_stated(self, labels: list[str], found: list[tuple[str, str]]) -> None:
        options = [f"--namespace-labels={each}" for each in labels]
        assert levels(*options, stdin=ADMIN_CLAIM) == found

    @each_row("label", "resource.k8s.io/admin-access: true", f"{LABEL[:-1]}: true", f"{LABEL}: yes", "team: a")
    def test_a_label_that_was_probably_meant_is_named(self, label: str) -> None:
        namespace = LABELLED.replace(f'{LABEL}: "true"', label.replace(": ", ': "') + '"')
        for documents in ([namespace, ADMIN_CLAIM], [ADMIN_CLAIM, namespace]):
            out = draguard("validate", "-", stdin="---\n".join(documents).encode()).out
            said = f'help: the namespace has {label}: write {LABEL}: "true"\n'
            assert (said in out) == ("admin" in label)

    @each_row("value", "true", "1")
    def test_a_label_without_quotes_is_named_as_it_is_written(self, value: str) -> None:
        namespace = LABELLED.replace('"true"', value)
        out = draguard("validate", "-", stdin=f"{namespace}---\n{ADMIN_CLAIM}".encode()).out
        assert f'help: the namespace has {LABEL}: {value}: write {LABEL}: "true"\n' in out

    def test_what_is_stated_counts_more_than_objects(self) -> None:
        assert levels("--namespace-labels=ops=", stdin=LABELLED + "---\n" + ADMIN_CLAIM) == [("error", "admin-access")]

    def test_an_object_that_states_no_namespace_goes_to_that_of_the_command(self) -> None:
        claim = ADMIN_CLAIM.replace("  namespace: ops\n", "")
        assert levels("--namespace-labels=default=", stdin=claim) == [("error", "admin-access")]
        assert levels("--namespace-labels=ops=", "--namespace=ops", stdin=claim) == [("error", "admin-access")]

    @each_row("namespace", "metadata: 1", "metadata:\n  name: [ops]", "metadata:\n  name: ops\n  labels: 1")
    def test_a_namespace_that_is_none_does_no_harm(self, namespace: str) -> None:
        manifests = f"apiVersion: v1\nkind: Namespace\n{namespace}\n---\n{ADMIN_CLAIM}"
        assert [rule for _, rule in levels(stdin=manifests)] == ["admin-access"]

    @each_row(
        ("labels", "message"),
        ("ops", f"ops has no labels: write it as ops={LABEL}=true, or ops= for none"),
        ("Ops=a=b", "'Ops' is not a namespace: a lowercase RFC 1123 label must"),
        ("ops=a", f"ops: the label a has no value: write it as ops={LABEL}=true"),
        ("ops=a=b c", "ops: a=b c is not a label: a valid label must"),
        ("ops=a b=c", "ops: a b=c is not a label: "),
    )
    def test_labels_that_are_malformed_are_wrong_use(self, labels: str, message: str) -> None:
        assert f"error: --namespace-labels: {message}" in usage_error("validate", "--namespace-labels", labels, "-")


def given(of_claim: str, of_pod: str) -> tuple[JSONObject, JSONObject]:
    """Make a claim and a pod that uses it, in namespaces; one that is empty is not stated."""
    objects = clusters.claim(), clusters.pod(claims={"gpu": "c"})
    for each, namespace in zip(objects, (of_claim, of_pod), strict=True):
        each["metadata"] |= {"namespace": namespace} if namespace else {}
    return objects


@each_row("of_pod", "", "team")
@each_row("of_claim", "", "team")
def test_references_are_looked_up_there(of_pod: str, of_claim: str, tmp_path: Path) -> None:
    file = clusters.written(tmp_path / "a.yaml", *given(of_claim, of_pod))
    assert "claim-not-found" not in draguard("validate", "-n", "team", file).out
    done = draguard("validate", "-n", "other", file)
    assert ("claim-not-found" in done.out) == (bool(of_pod) != bool(of_claim))
    assert ("is not among these manifests in namespace other" in done.out) == (bool(of_claim) and not of_pod)


@each_row("command", ("validate",), ("mutate",), ("simulate",), ("policy", "check"), ("snapshot",))
def test_what_cannot_be_a_namespace_is_refused(command: tuple[str, ...]) -> None:
    assert "argument -n/--namespace: 'Team_X' is not a namespace: " in usage_error(*command, "-n", "Team_X", stdin=b"")


def test_an_object_is_repeated_if_another_states_that_namespace(tmp_path: Path) -> None:
    file = clusters.written(tmp_path / "a.yaml", given("team", "")[0], given("", "")[0])
    assert 'ResourceClaim "c" in namespace team is at line 4, too' in draguard("validate", "-n", "team", file).out
    assert "repeated-object" not in draguard("validate", file).out


def test_pods_are_scheduled_there(tmp_path: Path) -> None:
    cluster = clusters.node("a"), clusters.device_class(), clusters.devices("a")
    done = clusters.ran(tmp_path, *given("team", ""), cluster=cluster, options=["-n", "team"])
    assert (done.code, done.out.splitlines()[0]) == (0, "team/p: a")
    assert clusters.ran(tmp_path, *given("team", ""), cluster=cluster).code == 1
