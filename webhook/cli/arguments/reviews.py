"""Arguments of the commands that answer AdmissionReviews."""

from __future__ import annotations

from webhook.cli.arguments import reading
from webhook.cli.arguments.parsing import repeated, synonym
from webhook.cli.arguments.shared import cluster, gates, policies, prescheduled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any


REVIEW = """\
examples:
  draguard review review.json
  draguard review --endpoint mutate - < reviews.jsonl | jq .response.patch
  draguard review --exit-code review.json > answer.json && echo admitted

Input is AdmissionReviews (admission.k8s.io/v1) as JSON, one or many, each on one line or several.
Each is answered by an AdmissionReview on a line of its own. Input that is not an AdmissionReview is
reported with its line, and the exit code is 1. A refused request does not change the exit code without
--exit-code.
"""


SERVE = """\
examples:
  draguard serve --dev                      a certificate made on the fly, on https://localhost:8443
  draguard certs && draguard serve          certs/tls.crt and certs/tls.key, on all addresses
  draguard serve --kubernetes-version 1.30 --tls-cert /tls/tls.crt --tls-key /tls/tls.key

POST /validate and POST /mutate answer AdmissionReviews; GET /healthz and GET /readyz answer probes.
--monitoring-port adds a port for probes and GET /metrics; docs/observability.md lists both.
SIGTERM and SIGINT end it once the requests in flight are answered. Certificates and policies are
reloaded when their files change.
"""


MANAGE_CERTIFICATE = """\
examples:
  draguard manage-certificate --webhooks draguard --name draguard.draguard-system.svc

Makes a certificate, keeps it in a Secret that the webhook's pods mount, renews it, and writes caBundle
into the webhook configurations. Keeps the cluster's version in the Secret, too, which `draguard serve
--kubernetes-version-file` follows. It listens on no port and ends on SIGTERM. docs/certificates.md lists
the objects and permissions that it needs.
"""


CERTS = """\
examples:
  draguard certs                            for Service draguard in draguard-system, and localhost
  draguard certs admission.dra.svc 10.0.0.7
  draguard certs --ca-bundle                prints caBundle for the webhook configurations

Writes ca.crt, ca.key, tls.crt and tls.key. An existing authority is used to sign; nothing is overwritten
without --force. Only their owner can read keys.
"""


def _answers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kubernetes-version",
        metavar="VERSION",
        help="the cluster's release, such as 1.30 (default: the newest that knows the object's fields)",
    )
    gates(parser, "every gate may be on")
    parser.add_argument(
        "--failure-policy",
        choices=["fail", "ignore"],
        default="fail",
        type=str.lower,
        help="refuse (default) or admit a request if answering it fails unexpectedly",
    )
    _enforcement(parser)
    prescheduled(parser)
    policies(parser)
    cluster(parser, "references of new objects (warnings, unless --enforce RULE=deny refuses them)")


def _enforcement(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("enforcement")
    repeated(
        group,
        "--enforce",
        metavar="[WHAT=]MODE",
        help="deny (default): the request is refused; warn: it is admitted, and its user warned; audit: it is "
        "admitted, and the finding noted in the audit log. WHAT is a rule, policy/NAME, or workloads (pod templates; "
        "default: warn); without WHAT, the mode applies to everything else. Pre-scheduled pods are rewritten in every "
        "mode, and the validating webhook admits them",
    )
    exempt = {
        "namespace": "admit objects in these namespaces without a review",
        "user": "admit requests of these users without a review, such as 'system:serviceaccount:kube-system:*'",
        "group": "admit requests of these groups without a review, such as system:nodes",
    }
    for what, text in exempt.items():
        repeated(group, f"--exempt-{what}", metavar="PATTERN", help=f"{text}")


def review(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard review`."""
    reading.paths(parser, f"files, or - for {reading.STDIN}", metavar="FILE")
    reading.empty(parser, "an AdmissionReview")
    parser.add_argument(
        "--endpoint",
        choices=["validate", "mutate"],
        default="validate",
        help="answer as the validating (default) or the mutating webhook",
    )
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 if a request is refused")
    _answers(parser)


def serve(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard serve`."""
    parser.add_argument(
        "--host", help="the name or address to listen on; :: takes IPv4, too (default: 0.0.0.0, with --dev localhost)"
    )
    parser.add_argument("--port", type=int, default=8443, help="the port; 0 takes a free one (default: %(default)s)")
    parser.add_argument("--dev", action="store_true", help="make a certificate on the fly, and print its caBundle")
    parser.add_argument("--tls-cert", metavar="FILE", help="serving certificate, PEM (default: certs/tls.crt)")
    parser.add_argument("--tls-key", metavar="FILE", help="its private key, PEM (default: certs/tls.key)")
    parser.add_argument(
        "--body-limit", type=int, metavar="BYTES", help="the longest request that is read (default: 6 MiB)"
    )
    parser.add_argument(
        "--kubernetes-version-file",
        metavar="FILE",
        help="read the cluster's release from this file, if it exists, and reload it; --kubernetes-version takes "
        "precedence",
    )
    _process(parser)
    _managed(parser)
    _clients(parser)
    _monitoring(parser)
    _answers(parser)


def _process(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the process")
    group.add_argument(
        "--connections-per-address",
        type=int,
        default=500,
        metavar="N",
        help="the most connections that one address may keep open; beyond it, or beyond 1000 in total, those that are "
        "idle for longest are closed (default: %(default)s)",
    )
    group.add_argument(
        "--shutdown-delay",
        type=float,
        metavar="SECONDS",
        help="how long to serve after SIGTERM, while reporting not ready (default: 5, with --dev 0)",
    )
    group.add_argument(
        "--on-broken-policies",
        choices=["keep", "unready"],
        default="keep",
        help="if changed policies cannot be used: keep the previous ones (default), or keep them and report not ready",
    )


def _managed(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("a certificate of its own, in a cluster (docs/certificates.md)")
    group.add_argument(
        "--manage-certificate",
        action="store_true",
        help="make the certificate, renew it, and write caBundle into the webhook configurations",
    )
    _cluster(group, "manage-")
    group.add_argument(
        "--manage-directory",
        default="/etc/draguard/tls",
        metavar="DIR",
        help="the directory for tls.crt and tls.key, preferably in memory (default: %(default)s)",
    )


def _cluster(group: argparse._ActionsContainer, prefix: str) -> None:
    """Declare the options for the cluster's objects that hold or trust the certificate."""

    def add(name: str, **options: Any) -> None:
        group.add_argument(f"--{prefix}{name}", dest=f"manage_{name}", **options)

    add("namespace", metavar="NAME", help="the namespace of Secret and Lease (default: the pod's)")
    add(
        "secret",
        default="draguard-certificates",
        metavar="NAME",
        help="the Secret that replicas share; it must exist, and may be empty (default: %(default)s)",
    )
    add(
        "lease",
        default="draguard-certificates",
        metavar="NAME",
        help="the Lease by which one replica leads; it must exist (default: %(default)s)",
    )
    add(
        "webhooks",
        action="append",
        default=[],
        metavar="NAME",
        help="a ValidatingWebhookConfiguration and MutatingWebhookConfiguration of this name; can be repeated",
    )
    add(
        "name",
        action="append",
        default=[],
        metavar="NAME",
        help="a DNS name of the Service, such as draguard.draguard-system.svc; can be repeated",
    )
    add(
        "account",
        default="/var/run/secrets/kubernetes.io/serviceaccount",
        metavar="DIR",
        help="the service account's token and ca.crt (default: %(default)s)",
    )


def manage_certificate(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard manage-certificate`."""
    _cluster(parser, "")
    _log(parser)


def _clients(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("clients that may send requests")
    group.add_argument(
        "--client-ca",
        metavar="FILE",
        help="accept only clients whose certificate an authority in this file has signed, PEM (default: any)",
    )
    group.add_argument(
        "--client-name",
        action="append",
        default=[],
        metavar="NAME",
        help="accept only clients whose certificate has this common name, DNS name, URI or email address; can be "
        "repeated (default: any)",
    )


def _monitoring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("logs and metrics")
    group.add_argument(
        "--monitoring-port",
        type=int,
        metavar="PORT",
        help="serve /metrics, /healthz and /readyz on this port, too, without TLS; 0 takes a free one (default: none)",
    )
    group.add_argument(
        "--monitoring-host", metavar="HOST", help="the name or address for --monitoring-port (default: as --host)"
    )
    group.add_argument(
        "--log-allowed",
        metavar="SHARE",
        help="log this share of the reviews that are simply allowed, from 0 to 1 or as 1/100; refusals, warnings and "
        "changes are always logged (default: 0.01, with --dev 1)",
    )
    _log(group)


def _log(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--log-format",
        choices=["auto", "json", "text"],
        default="auto",
        help="lines of JSON, or text for people (default: text on a terminal, else JSON)",
    )
    group.add_argument(
        "--log-level",
        choices=["debug", "info", "warning", "error"],
        default="info",
        help="log nothing below this level; decisions are info, failures error (default: %(default)s)",
    )


def certs(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard certs`."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="DNS names and IP addresses of the webhook (default: those of Service draguard in draguard-system, and of "
        "localhost)",
    )
    synonym(parser, "--directory", "dir")
    parser.add_argument("--dir", default="certs", metavar="DIRECTORY", help="the directory (default: %(default)s)")
    parser.add_argument(
        "--days", type=int, metavar="DAYS", help="how long the serving certificate is valid (default: 365)"
    )
    parser.add_argument("--ca-days", type=int, metavar="DAYS", help="how long a new authority is valid (default: 3650)")
    parser.add_argument("--force", action="store_true", help="replace existing files, also the authority's")
    parser.add_argument(
        "--ca-bundle", action="store_true", help="only print the certificate of the existing authority, in base64"
    )
