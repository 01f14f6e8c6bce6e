"""Arguments of the command that converts manifests."""

from __future__ import annotations

from webhook.cli.arguments import reading
from webhook.cli.arguments.configured import configured, excluded
from webhook.cli.arguments.parsing import repeated
from webhook.cli.arguments.shared import pod_templates

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

TARGETS = ("v1", "v1beta2", "v1beta1", "v1alpha3")
_GROUP = "resource.k8s.io/"

CONVERT = """\
examples:
  draguard convert --diff manifests/                what would change?
  draguard convert --write manifests/               convert the files in place
  draguard convert --check manifests/               for CI: exit code 1 if an object is older
  draguard convert claim.yaml | kubectl apply -f -
  kustomize build . | draguard convert -
  draguard convert --kubernetes-version 1.33 --kubernetes-version 1.35 --write manifests/
  draguard convert --to v1beta1 claim.yaml          back again

Objects of resource.k8s.io of every version that has a counterpart are converted as the API server
converts them. Pods, also those of workloads, lose the field source around the names of their claims,
which Kubernetes 1.31 removed. Everything else stays as it is, byte for byte: comments,
order, quotes, indentation, blank lines. Fields that move keep their comments. JSON stays JSON.

Without --to, objects get the newest version that all releases given by --kubernetes-version or in
.draguard.yaml serve, or else the newest of all. A kind that the version lacks, such as a
DeviceTaintRule in v1beta1, gets the newest version that the releases serve.

Claims and classes of v1alpha2 (Kubernetes 1.27 to 1.30) are converted as far as possible;
their ResourceClaimParameters, if given, too. What newer versions cannot express stays unchanged, and is
an error that says what to write instead. Files without manifests, such as values.yaml, are not printed.
docs/migrate.md describes the migration from 1.30 to 1.34.

Helm templates are not YAML: convert what they render, or edit them by hand.
"""


def convert(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard convert`."""
    reading.paths(parser)
    reading.empty(parser)
    excluded(parser)
    parser.add_argument(
        "--to",
        choices=TARGETS,
        type=lambda text: text.removeprefix(_GROUP),
        help="the version (default: the newest that the stated releases serve)",
    )
    repeated(
        parser,
        "--kubernetes-version",
        metavar="VERSION",
        help="a release that the objects are for, such as 1.34 (default: 1.37)",
    )
    pod_templates(parser)
    parser.add_argument("-w", "--write", action="store_true", help="change the files in place")
    parser.add_argument(
        "--diff",
        action="store_true",
        help="print the changes as a unified diff, and write nothing; exit code 0 without --check",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="list objects of older versions, and convert none; exit code 1 if there are any",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show findings only: no summary")
    configured(parser)
