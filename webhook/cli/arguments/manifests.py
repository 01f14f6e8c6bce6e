"""Arguments of the commands that read manifests."""

from __future__ import annotations

from webhook.cli.arguments import EXIT_CODES, reading
from webhook.cli.arguments.configured import configured, excluded
from webhook.cli.arguments.parsing import repeated
from webhook.cli.arguments.shared import (
    RELEASE,
    STRICT,
    cluster,
    gates,
    pod_templates,
    policies,
    prescheduled,
    report,
    requester,
)
from webhook.cli.arguments.suppression import suppression

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


_VALIDATE = """\
examples:
  draguard validate                                 everything below the current directory
  draguard validate manifests/ 'apps/*/claim*.yaml'
  kustomize build . | draguard validate -
  draguard validate charts/driver --helm-set gpu.enabled=true      rendered by Helm
  draguard validate overlays/prod                   a kustomization, built by kustomize or kubectl
  draguard validate --kubernetes-version 1.29 claim.yaml
  draguard validate --kubernetes-version 1.34 --kubernetes-version 1.36 manifests/
  draguard validate --feature-gates DRAListTypeAttributes=true,AllBeta=false slices/
  draguard validate --namespace-labels ops=resource.kubernetes.io/admin-access=true claim.yaml
  draguard validate --old deployed/ manifests/      is this update allowed?
  kubectl get resourceclaims -A -o yaml | draguard validate --old - manifests/
  draguard validate --against origin/main --new-only    which findings are new?
  draguard validate --policies policies/ --as jane --as-group dev manifests/
  draguard validate --output json manifests/ | jq '.findings[].rule'
  draguard validate --ignore class-not-found --level deprecated=error manifests/
  draguard validate --write-baseline baseline.json    and then --baseline baseline.json
  draguard validate --diff manifests/               what would --fix change?
  draguard validate --output sarif=draguard.sarif --output html=report.html manifests/

In directories, files named *.yaml, *.yml and *.json are read. Skipped, and counted in the summary:
the templates of Helm charts and other templates that are not filled in yet, patches that a
kustomization names, vendor and node_modules, files that git ignores, and files that are not YAML and have
no apiVersion. A path that you name is always read, unless --exclude matches it.

Helm charts and kustomizations that you name are rendered, and so are those found in directories if
they are about devices: by helm or Helm's library (pip install '.[helm]' in a clone), and by kustomize
or kubectl. Findings name the object, and the line of the template, or of the kustomization's
resource, that causes them. No cluster is contacted, and neither plugins nor post-renderers run.

Without a PATH, standard input is read if it is a pipe or a file. If it has no manifest, the command
that writes it has probably failed: this is an error, unless --allow-empty is given.

.draguard.yaml and environment variables set options, too; `draguard config show` prints the settings
in effect.

Pods and workloads that neither use resource claims, nor request an extended resource of a known
device class, nor name their node are counted, and not judged without --all-pods. So are objects of
other kinds; `draguard explain` lists the kinds that are judged. A kind or version of
resource.k8s.io that no release serves is an error.

An object is looked up in the --old state by API group, kind, namespace and name. A namespace that
is missing on one side matches any. An object without an old state is judged as a new one; one that
exists only in the old state is ignored.

A comment `# draguard: ignore[RULE] reason` suppresses findings on its line, on the line below it if
it has a line of its own, or in the whole document if it stands above all content; the annotation
draguard.github.io/ignore: "RULE: reason; RULE: reason" suppresses those of its object. docs/suppress.md has
the details, and the format of baselines.

--output can be repeated: one report goes to standard output, the others to files. sarif is for code
scanning, junit for test reports, gitlab for GitLab's Code Quality, github for annotations of a pull
request, markdown for comments and job summaries, html for people. `draguard schema report` prints
the JSON schema of json.

Claims with admin access need a label on their namespace. The labels come from a Namespace among the
manifests or --policies, or from --namespace-labels, which takes precedence:
NAMESPACE=KEY=VALUE,KEY=VALUE for all labels, NAMESPACE= for none. If the labels are not known, such a
claim is a warning.

With --policies, objects of every kind are judged as by an API server with these policies: mutating
policies change them first, then its own rules apply, then validating policies.
"""
VALIDATE = f"{EXIT_CODES}\n{_VALIDATE}"


MUTATE = """\
examples:
  draguard mutate pod.yaml
  draguard mutate --diff manifests/                 what would change?
  draguard mutate --write manifests/                change the files in place
  draguard mutate --patch manifests/
  draguard mutate charts/inference --helm-set node=node-a
  kustomize build . | draguard mutate - | kubectl apply -f -

Pods, and pod templates of workloads, that name their node (spec.nodeName) and use resource claims
bypass the scheduler and can never run. Their node becomes a constraint that the scheduler obeys, as
the webhook does at admission. With --policies, mutating policies change the objects first; those
with reinvocationPolicy IfNeeded run again afterwards. Namespaces among the manifests count for
policies, in any order.

All manifests are printed, changed or not. Comments, order and layout stay, and JSON stays JSON. An
object that cannot be changed, such as a pod that contradicts itself, is reported and stays as it is;
the others are changed, and the exit code is 1. With --patch one JSON object per changed object is
printed: file, document, apiVersion, kind, namespace, name, patch.
"""


EXPLAIN = """\
examples:
  draguard explain                                  all kinds and rules
  draguard explain ResourceClaim
  draguard explain 'ResourceClaim.status.allocation.resourceHandles[0].data'
  draguard explain exactly.count                    the end of a path, if it means one field
  draguard explain ResourceSlice.spec.devices.attributes    and where the other versions have it
  draguard explain --recursive DeviceClass.spec             all fields below it
  draguard explain --kubernetes-version 1.29 ResourceClass
  draguard explain --api-version v1beta1 ResourceClaim
  draguard explain reserved-only-while-allocated            a rule
  draguard explain DRAAdminAccess                           a feature gate
  draguard explain v1beta1                                  the kinds of an API version
  kubectl apply -f claim.yaml 2>&1 | draguard explain -     what the API server has refused
"""


def fixes(parser: argparse.ArgumentParser) -> None:
    """Declare the options for fixes."""
    group = parser.add_argument_group("fixes")
    group.add_argument(
        "--fix",
        action="store_true",
        help="apply safe fixes in place, and report the other findings; for standard input, print the result",
    )
    group.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="also apply fixes that may not be what you intended; needs --fix or --diff",
    )
    group.add_argument(
        "--diff", action="store_true", help="print the changes of --fix as a unified diff, and write nothing"
    )


def validate(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard validate`."""
    reading.paths(
        parser,
        "files, directories, globs, the directory of a Helm chart or kustomization, or - for standard input (default: "
        "standard input if that is a pipe or a file, else the current directory)",
    )
    reading.stdin(parser)
    reading.empty(parser)
    excluded(parser)
    repeated(
        parser,
        "--kubernetes-version",
        metavar="VERSION",
        help="judge as this release does, such as 1.30 (default: 1.37, or the newest release that serves the object's "
        "version; a pod is judged by the release of the claims in its file, or else in its directory)",
        then=": a table shows which release reports what",
    )
    gates(parser, "the defaults of the release")
    repeated(parser, "--namespace-labels", metavar="NAMESPACE=KEY=VALUE,…", help="all labels of a namespace")
    _updates(parser)
    cluster(parser, "references of the manifests")
    parser.add_argument(
        "--all-pods",
        action="store_true",
        help="judge pods and workloads without resource claims, too",
    )
    pod_templates(parser)
    repeated(
        parser,
        "--driver-profile",
        metavar="FILE",
        help="a profile of a driver's attributes, capacities and parameters (`draguard driver show`)",
    )
    parser.add_argument("--strict", action="store_true", help=STRICT)
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 where the exit code would be 1, whatever is found"
    )
    parser.add_argument(
        "--markdown", action="store_true", help="read the YAML blocks of Markdown files (.md) in directories, too"
    )
    parser.add_argument(
        "--show-files", action="store_true", help="list the files that were read, and those that were not, with reasons"
    )
    parser.add_argument(
        "--statistics", action="store_true", help="show how many findings each rule has, instead of the findings"
    )
    fixes(parser)
    report(parser)
    reading.charts(parser)
    suppression(parser)
    requester(policies(parser))
    configured(parser)


def _updates(parser: argparse.ArgumentParser) -> None:
    repeated(
        parser,
        "--old",
        metavar="PATH",
        help="an earlier state of the same objects, to judge updates: a file, directory, glob, chart, "
        "kustomization or -",
    )
    parser.add_argument(
        "--against",
        metavar="REV",
        help="compare objects with this git revision, such as origin/main, as --old does; follows moved files",
    )
    parser.add_argument(
        "--new-only",
        action="store_true",
        help="report only findings that the revision does not have; needs --against",
    )
    parser.add_argument(
        "--subresource", choices=["status"], default="", help="judge updates of the status; needs --old"
    )


def mutate(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard mutate`."""
    reading.paths(parser)
    reading.empty(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("-w", "--write", action="store_true", help="change the files in place, and print no manifests")
    form.add_argument("--diff", action="store_true", help="print the changes as a unified diff, and write nothing")
    form.add_argument("--patch", action="store_true", help="print JSON Patches instead of manifests")
    parser.add_argument("--kubernetes-version", metavar="VERSION", help=RELEASE)
    reading.charts(parser)
    prescheduled(parser)
    requester(policies(parser))


def explain(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard explain`."""
    parser.add_argument(
        "name",
        nargs="?",
        default="",
        metavar="KIND[.FIELD]|RULE|GATE",
        help="a kind, a field as findings spell it after its kind, a rule, a feature gate, an API version, a driver, "
        "or, in quotes, what kubectl has printed of a refusal or an event; - reads it from standard input "
        "(default: list kinds and rules)",
    )
    parser.add_argument("--recursive", action="store_true", help="print the fields of fields, too, with their types")
    parser.add_argument("--kubernetes-version", metavar="VERSION", help="describe only this release (default: all)")
    parser.add_argument(
        "--api-version",
        metavar="[GROUP/]VERSION",
        help="the API version to look into, such as v1beta1 or resource.k8s.io/v1beta1 "
        "(default: the newest that has the kind)",
    )
