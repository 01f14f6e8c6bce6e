"""What the command line looks like: commands, options and their help.

Imports nothing that a command needs, so that ``draguard --help`` and usage errors are quick.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXIT_CODES = """\
exit codes:
  0    fine; warnings do not count
  1    something was found: the API server would refuse an object, or an input cannot be read
  2    wrong use: an unknown option, a path that does not exist
  3    draguard itself failed
  130  interrupted; 141: nobody reads the output any more
"""

_VALIDATE = """\
examples:
  draguard validate                                 everything below the current directory
  draguard validate manifests/ 'apps/*/claim*.yaml'
  kustomize build . | draguard validate -
  draguard validate --kubernetes-version 1.29 claim.yaml
  draguard validate --feature-gates DRAListTypeAttributes=true,AllBeta=false slices/
  draguard validate --namespace-labels ops=resource.kubernetes.io/admin-access=true claim.yaml
  draguard validate --old deployed/ manifests/      may these objects be changed like that?
  kubectl get resourceclaims -A -o yaml | draguard validate --old - manifests/
  draguard validate --policies policies/ --as jane --as-group dev manifests/
  draguard validate --output json manifests/ | jq '.findings[].rule'

Files named *.yaml, *.yml and *.json are read in directories. Objects of kinds that are not judged
are counted in the summary, and otherwise skipped; `draguard explain` lists the kinds that are. A
kind or version of resource.k8s.io that no release serves is an error.

An object is looked up in the --old state by API group, kind, namespace and name. A namespace that
is missing on one side matches any. An object without an old state is judged as a new one; one that
is only in the old state is left out.

JSON output is one object: files (names); findings (each with file, document, line, column, level,
rule, reason, field, message, hint, apiVersion, kind, namespace, name, kubernetes, policy); summary
(files, documents, judged, errors, warnings, notes, and skipped: a list of apiVersion, kind,
documents). policy is null, or names the policy's kind, name, binding, params, field, file, line and
column. More keys may come, none will go.

Claims with admin access are for namespaces with a label. A namespace is known from a Namespace
object among the manifests or --policies, wherever it stands, or from --namespace-labels, which
counts more: NAMESPACE=KEY=VALUE,KEY=VALUE for all of its labels, NAMESPACE= for none. Where nothing
is known of it, such a claim is a warning.

With --policies, objects of every kind are judged as an API server with these policies would: first
the mutating ones change them, then its own rules, then the validating ones.
"""

_MUTATE = """\
examples:
  draguard mutate pod.yaml
  draguard mutate --patch manifests/
  kustomize build . | draguard mutate - | kubectl apply -f -

Pods, and pod templates of workloads, that name their node (spec.nodeName) and use resource claims
bypass the scheduler and can never run. Their node becomes a constraint that the scheduler obeys, as
the webhook does at admission. With --policies, mutating policies change the objects first; those
with reinvocationPolicy IfNeeded see them again afterwards.

All objects are printed as YAML documents, changed or not; comments and layout are lost. If any
input cannot be read, or a pod contradicts itself, nothing is printed on standard output and the
exit code is 1. With --patch one JSON object per changed document is printed: file, document,
apiVersion, kind, namespace, name, patch.
"""

_REVIEW = """\
examples:
  draguard review review.json
  draguard review --endpoint mutate - < reviews.jsonl | jq .response.patch

Input is AdmissionReviews (admission.k8s.io/v1) as JSON, one or many, each on one line or several.
Each is answered by an AdmissionReview on a line of its own. What is no AdmissionReview is reported
with its line, and the exit code is 1; a refusal is an answer like any other.
"""

_POLICY = """\
examples:
  draguard policy check policies/           syntax, types, cost, what can never apply
  draguard policy test policies/            the suites that stand beside the policies

Policies are ValidatingAdmissionPolicies and MutatingAdmissionPolicies with their bindings.
`draguard policy check --help` and `draguard policy test --help` show more.
"""

_POLICY_CHECK = """\
examples:
  draguard policy check policies/
  draguard policy check --kubernetes-version 1.30 --costs policies/quota.yaml
  draguard policy check --output json policies/ | jq '.costs[] | select(.unbounded)'

An error is what the API server refuses; a warning what it takes although it cannot work: conditions
that never hold, resources that do not exist, expressions that cost too much. Other objects are what
policies look at: CustomResourceDefinitions, parameters. JSON output is as that of validate, with
costs: a list of kind, policy, field, file, line, least, most, unbounded.
"""

_POLICY_TEST = """\
examples:
  draguard policy test policies/
  draguard policy test --strict policies/           every validation seen true and seen false
  draguard policy test --output junit policies/ > report.xml

A suite is a YAML document with cases, in a file beside the policies; it tests what the manifests of
its directory hold. docs/policies.md tells what a suite says. Validations that no case has seen
true, or none false, are warnings. JSON output is one object: suites (each with file, line,
kubernetes, and cases with name, file, line, passed, failures); coverage (each with kind, policy,
field, file, line, missing); findings, as those of validate; summary (suites, cases, failed,
expressions, covered, errors, warnings).
"""

_SERVE = """\
examples:
  draguard serve --dev                      a certificate made on the fly, on https://localhost:8443
  draguard certs && draguard serve          certs/tls.crt and certs/tls.key, on all addresses
  draguard serve --kubernetes-version 1.30 --tls-cert /tls/tls.crt --tls-key /tls/tls.key

POST /validate and POST /mutate answer AdmissionReviews; GET /healthz and GET /readyz answer probes.
SIGTERM and SIGINT end it once the requests in flight are answered.
"""

_CERTS = """\
examples:
  draguard certs                            for Service draguard in draguard-system, and localhost
  draguard certs admission.dra.svc 10.0.0.7
  draguard certs --ca-bundle                prints caBundle for the webhook configurations

Writes ca.crt, ca.key, tls.crt and tls.key. An authority that is already there signs; nothing is
overwritten without --force. Keys can be read by their owner only.
"""

_EXPLAIN = """\
examples:
  draguard explain                                  all kinds and rules
  draguard explain ResourceClaim
  draguard explain 'ResourceClaim.status.allocation.resourceHandles[0].data'
  draguard explain ResourceSlice.spec.devices.attributes    and where the other versions have it
  draguard explain --kubernetes-version 1.29 ResourceClass
  draguard explain reserved-only-while-allocated
"""


class UsageError(Exception):
    """The command was used wrongly; the text says how to mend that."""


class Version(argparse.Action):
    """Prints the version, and looks it up only then."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        _namespace: argparse.Namespace,
        _values: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> None:
        """Print the version of the installed distribution and exit."""
        from importlib.metadata import version  # noqa: PLC0415 - takes longer than all the rest

        print(f"draguard {version('draguard')}")
        parser.exit()


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help of a fixed width: to ask the terminal for its own takes argparse longer than all the rest."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="draguard",
        description="Tells what a Kubernetes API server will say of Dynamic Resource Allocation objects.",
        epilog=f"{_EXIT_CODES}\n`draguard COMMAND --help` shows a command's options, with examples.",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(prog="draguard", dest="command", metavar="COMMAND", title="commands")

    def add(name: str, summary: str, epilog: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog,
            formatter_class=_Help,
            allow_abbrev=False,
        )

    _validate(add("validate", "say what the API server would refuse in manifests, and where", _VALIDATE))
    _mutate(add("mutate", "rewrite pods that bypass the scheduler, in manifests", _MUTATE))
    _explain(add("explain", "tell what is declared about a kind, a field or a rule", _EXPLAIN))
    _policy(add("policy", "check and test policies", _POLICY))
    _review(add("review", "answer recorded AdmissionReviews as the webhook would", _REVIEW))
    _serve(add("serve", "run the admission webhook", _SERVE))
    _certs(add("certs", "make a certificate authority and a serving certificate", _CERTS))
    return parser


def _validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        default=["."],
        metavar="PATH",
        help="files, directories, globs, or - for standard input (default: the current directory)",
    )
    parser.add_argument(
        "--kubernetes-version",
        metavar="VERSION",
        help="judge as this release does, such as 1.30 (default: the newest release that serves the object's version; "
        "pods and workloads follow the objects of resource.k8s.io in the same file or else in the same directory)",
    )
    _gates(parser, "the defaults of the release")
    parser.add_argument(
        "--namespace-labels",
        action="append",
        default=[],
        metavar="NAMESPACE=KEY=VALUE,…",
        help="the labels of a namespace, all of them; can be repeated",
    )
    parser.add_argument(
        "--old",
        action="append",
        default=[],
        metavar="PATH",
        help="an earlier state of the same objects, to judge updates: a file, directory, glob or -; can be repeated",
    )
    parser.add_argument(
        "--subresource",
        choices=["status"],
        default="",
        help="judge updates of the status; needs --old",
    )
    parser.add_argument("--strict", action="store_true", help=_STRICT)
    _report(parser, "text", "json")
    _requester(_policies(parser))


def _gates(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--feature-gates",
        action="append",
        default=[],
        metavar="GATE=BOOL,…",
        help="feature gates that differ from the defaults of the release, as kube-apiserver takes them, AllAlpha and "
        f"AllBeta included; DynamicResourceAllocation counts as on; can be repeated (default: {default})",
    )


_STRICT = "warnings make the exit code 1, too"


def _report(parser: argparse.ArgumentParser, *outputs: str) -> None:
    parser.add_argument("--output", choices=outputs, default=outputs[0], help="how findings are shown")
    parser.add_argument("-q", "--quiet", action="store_true", help="show findings only: no summary, no progress")
    parser.add_argument(
        "--color",
        choices=["auto", "always", "never"],
        default="auto",
        help="colours in text: auto means on a terminal, unless NO_COLOR is set",
    )


def _mutate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, directories, globs, or - for standard input")
    parser.add_argument("--patch", action="store_true", help="print JSON Patches in place of manifests")
    parser.add_argument("--kubernetes-version", metavar="VERSION", help=_RELEASE)
    _prescheduled(parser)
    _requester(_policies(parser))


_RELEASE = "judge policies as this release does, such as 1.34 (default: the newest)"


def _policies(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("policies")
    group.add_argument(
        "--policies",
        action="append",
        default=[],
        metavar="PATH",
        help="policies and bindings, and objects that they look at, such as parameters and Namespaces: "
        "a file, directory, glob or -; can be repeated",
    )
    group.add_argument(
        "--authorizer",
        metavar="FILE",
        help="what users may do, where policies ask: {rules: [{groups, apiGroups, resources, verbs, …}]} "
        "(default: nothing)",
    )
    return group


def _requester(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--as", dest="as_user", metavar="USER", help="who sends the objects (default: kubernetes-admin)")
    group.add_argument(
        "--as-group",
        action="append",
        default=[],
        metavar="GROUP",
        help="a group of that user, beside system:authenticated; can be repeated",
    )
    group.add_argument(
        "-n", "--namespace", default="default", help="where objects go that state none (default: %(default)s)"
    )


def _policy(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def add(name: str, summary: str, epilog: str, *outputs: str) -> argparse.ArgumentParser:
        action = actions.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog,
            formatter_class=_Help,
            allow_abbrev=False,
        )
        paths = "files, directories, globs, or - for standard input"
        action.add_argument("paths", nargs="+", metavar="PATH", help=paths)
        action.add_argument("--strict", action="store_true", help=_STRICT)
        _report(action, *outputs)
        return action

    check = add("check", "say what is wrong with policies before they meet an object", _POLICY_CHECK, "text", "json")
    check.add_argument("--kubernetes-version", metavar="VERSION", help=_RELEASE)
    check.add_argument("--costs", action="store_true", help="show what each expression may cost")
    test = add("test", "run the suites that stand beside policies", _POLICY_TEST, "text", "json", "junit")
    release = "run all suites for this release (default: what the suite says, or the newest)"
    test.add_argument("--kubernetes-version", metavar="VERSION", help=release)


def _prescheduled(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("pods that name their node")
    group.add_argument(
        "--select-node-by",
        choices=["hostname", "name"],
        default="hostname",
        help="by the label kubernetes.io/hostname (default), or by required node affinity to the node's name",
    )
    group.add_argument(
        "--pods",
        choices=["claims", "all"],
        default="claims",
        help="which pods: those with resource claims (default), or every pod that names its node",
    )


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        nargs="?",
        default="",
        metavar="RULE|KIND[.FIELD]",
        help="a rule, a kind, or a field as findings spell it after its kind (default: list kinds and rules)",
    )
    parser.add_argument("--kubernetes-version", metavar="VERSION", help="what this release has (default: all releases)")
    parser.add_argument(
        "--api-version",
        metavar="GROUP/VERSION",
        help="the API version to look into (default: the newest that has the kind)",
    )


def _answers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kubernetes-version",
        metavar="VERSION",
        help="the cluster's release, such as 1.30 (default: the newest that knows the object's fields)",
    )
    _gates(parser, "every gate may be on")
    parser.add_argument(
        "--failure-policy",
        choices=["fail", "ignore"],
        default="fail",
        type=str.lower,
        help="refuse (default) or admit a request if answering it fails unexpectedly",
    )
    _prescheduled(parser)
    _policies(parser)


def _review(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="FILE", help="files, or - for standard input")
    parser.add_argument(
        "--endpoint",
        choices=["validate", "mutate"],
        default="validate",
        help="answer as the validating (default) or the mutating webhook",
    )
    _answers(parser)


def _serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", help="the name or address to listen on; :: takes IPv4, too (default: 0.0.0.0, with --dev localhost)"
    )
    parser.add_argument("--port", type=int, default=8443, help="the port; 0 takes a free one (default: %(default)s)")
    parser.add_argument("--dev", action="store_true", help="make a certificate on the fly, and print its caBundle")
    parser.add_argument(
        "--tls-cert", default="certs/tls.crt", metavar="FILE", help="serving certificate, PEM (default: %(default)s)"
    )
    parser.add_argument(
        "--tls-key", default="certs/tls.key", metavar="FILE", help="its private key, PEM (default: %(default)s)"
    )
    parser.add_argument(
        "--body-limit", type=int, metavar="BYTES", help="the longest request that is read (default: 6 MiB)"
    )
    _answers(parser)


def _certs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="DNS names and IP addresses of the webhook")
    parser.add_argument("--dir", default="certs", metavar="DIRECTORY", help="where (default: %(default)s)")
    parser.add_argument("--days", type=int, help="how long the serving certificate is valid (default: 365)")
    parser.add_argument("--ca-days", type=int, help="how long a new authority is valid (default: 3650)")
    parser.add_argument("--force", action="store_true", help="replace what is there, the authority included")
    parser.add_argument(
        "--ca-bundle", action="store_true", help="print the authority's certificate in base64, make none"
    )
