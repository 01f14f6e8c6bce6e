"""Arguments that several commands share."""

from __future__ import annotations

from webhook.cli.arguments.outputs import reports
from webhook.cli.arguments.parsing import namespace, repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


STRICT = "exit with 1 for warnings, too"


def report(parser: argparse.ArgumentParser) -> None:
    """Declare the options for showing findings."""
    reports(parser)
    terminal(parser, "findings")


def terminal(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare the options for quiet output and colours."""
    parser.add_argument("-q", "--quiet", action="store_true", help=f"show {what} only: no summary, no progress")
    parser.add_argument(
        "--color",
        choices=["auto", "always", "never"],
        default="auto",
        help="colors in text: auto means on a terminal, unless NO_COLOR is set (default: %(default)s)",
    )


def cluster(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare the option for the objects of a cluster."""
    repeated(
        parser,
        "--cluster",
        metavar="PATH",
        help=f"objects of the cluster, for {what}: a file, directory, glob or - with what `kubectl get -o yaml` "
        "prints (`draguard snapshot` shows the command) or must-gather collects",
    )


def gates(parser: argparse.ArgumentParser, default: str) -> None:
    """Declare the option for feature gates."""
    repeated(
        parser,
        "--feature-gates",
        metavar="GATE=BOOL,…",
        help="feature gates that differ from the defaults of the release, as kube-apiserver takes them, AllAlpha and "
        "AllBeta included; DynamicResourceAllocation counts as on",
        then=f" (default: {default})",
    )


def pod_templates(parser: argparse.ArgumentParser) -> None:
    """Declare the option for the pod templates of other projects' workloads."""
    repeated(
        parser,
        "--pod-template",
        metavar="GROUP/KIND=PATH",
        help="the place of pod templates or pod specs in another project's workloads, such as "
        "example.com/Trainer=spec.workers[].template; * is for each value of a map or list",
    )


RELEASE = "judge policies as this release does, such as 1.34 (default: 1.37)"


def policies(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Declare the options for policies and the authorizer."""
    group = parser.add_argument_group("policies")
    repeated(
        group,
        "--policies",
        metavar="PATH",
        help="policies and bindings, and objects that they read, such as parameters and Namespaces: "
        "a file, directory, glob or -",
    )
    group.add_argument(
        "--authorizer",
        metavar="FILE",
        help="what the authorizer of policies allows: {rules: [{groups, apiGroups, resources, verbs, …}]} "
        "(default: nothing)",
    )
    return group


def requester(group: argparse._ArgumentGroup) -> None:
    """Declare the options for the requesting user and the namespace."""
    group.add_argument(
        "--as", dest="as_user", metavar="USER", help="the user who sends the objects (default: kubernetes-admin)"
    )
    repeated(group, "--as-group", metavar="GROUP", help="a group of that user, in addition to system:authenticated")
    repeated(
        group,
        "--as-user-extra",
        metavar="KEY=VALUE",
        help="an extra attribute of that user, such as authentication.kubernetes.io/node-name=node-1",
    )
    group.add_argument(
        "-n",
        "--namespace",
        type=namespace,
        default="default",
        help="the namespace of objects without one (default: %(default)s)",
    )


def prescheduled(parser: argparse.ArgumentParser) -> None:
    """Declare the options for rewriting pre-scheduled pods."""
    group = parser.add_argument_group("pods that name their node")
    group.add_argument(
        "--select-node-by",
        choices=["hostname", "name"],
        default="hostname",
        help="select the node by the label kubernetes.io/hostname (default), or by required node affinity to its name",
    )
    group.add_argument(
        "--pods",
        choices=["claims", "all"],
        default="claims",
        help="rewrite pods with resource claims (default), or every pod that names its node",
    )
