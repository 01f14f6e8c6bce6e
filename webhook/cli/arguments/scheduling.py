"""Arguments of the commands that simulate scheduling."""

from __future__ import annotations

from webhook.cli.arguments import reading
from webhook.cli.arguments.parsing import namespace, repeated, seconds
from webhook.cli.arguments.shared import cluster, gates, terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


SIMULATE = """\
examples:
  draguard snapshot --run > cluster.yaml             what is in the cluster
  draguard simulate --cluster cluster.yaml           why do its pods stay pending?
  draguard simulate deployment.yaml --cluster cluster.yaml
  draguard simulate charts/inference --helm-set replicas=4 --cluster cluster.yaml
  draguard why team-x/train-2 --cluster cluster.yaml     one of its pods
  draguard simulate pod.yaml --cluster must-gather/ --release team-x/train-1
  draguard simulate job.yaml --cluster cluster.yaml --without node-7
  draguard simulate pod.yaml --cluster cluster.yaml --fit
  kubectl get deviceclasses,resourceslices,nodes,pods,resourceclaims -A -o yaml |
    draguard simulate deployment.yaml --cluster -
  draguard simulate pod.yaml --cluster cluster.yaml --output json

Pods, also those of workloads, are scheduled one after another, by
priority, age, and order; each uses up devices, cpu and memory. Other objects in the manifests (claims,
templates, classes, slices, nodes) are added to the cluster. Claims are created from templates, and for
extended resources that a device class provides.

Each pending pod is shown with the scheduler's message; how many devices of each node are left after
each step, with similar nodes grouped; and what would help: draguard tries changes, and lists those
with which the pod gets a node, the smallest first.

Not simulated: affinity to other pods, topology spread, volumes, preemption, and all scores but those
of devices; pods that use any of these have a note. Where several nodes suit a pod equally well the
scheduler picks one at random; here it is the first.

The exit code is 1 if a pod stays pending, a container starts without its devices, or time runs out; with
--fit, if no pod fits.

JSON and YAML output is a list with an object for each pod: namespace, name, node, condition (of type
PodScheduled), claims (allocations by name), candidates (nodes that suit it equally well, at most 32),
candidateCount (their number), why (reason, nodes, help, tried, allTried, notes). With --fit it is one
object: pod, pods, nodes, last. Keys may be added, but are never removed.
"""

MATCH = """\
examples:
  draguard match claim.yaml --cluster cluster.yaml
  draguard match classes/ --cluster slices.yaml                  classes, too
  draguard match 'device.driver == "gpu.example.com"' --cluster cluster.yaml
  kubectl get resourceslices,deviceclasses -o yaml | draguard match template.yaml --cluster -
  draguard match claim.yaml --cluster cluster.yaml --output json

Each request of claims and templates, each alternative, and each class is shown with how many devices its
selectors match, and why others do not: the first condition that is false, with the device's value.
Devices of one model with the same outcome are shown together, with their nodes. The exit code is 1 if
no device matches a request, or if a selector fails on a device, which ends the scheduling of a pod for
all nodes.

JSON and YAML output is a list with an object for each request, class or expression: file, kind, namespace,
name, request, deviceClass, devices (their number), matching, rows (outcome, reason, model, unused,
nodes, devices).
"""

SNAPSHOT = """\
examples:
  draguard snapshot                                  print the command
  draguard snapshot --run > cluster.yaml             run it
  draguard snapshot --run --context prod > cluster.yaml

You may leave out pods, if nothing else uses the nodes' cpu and memory; namespaces; and
devicetaintrules, if the cluster has none. kubectl fails on a kind that the server does not serve: --run
then leaves it out, with a warning; for the printed command, leave it out with --without. Nodes and
resourceslices are needed for `draguard simulate`, deviceclasses and resourceslices for `draguard
match`. With -n, for users who cannot read other namespaces, claims and pods of other namespaces are
missing, and their devices look free. Secrets are not read, but pods hold environment variables: review
the file before you share it.
"""


def simulate(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard simulate`."""
    reading.paths(
        parser,
        "manifests of pods and workloads: files, directories, globs, or - for standard input; or [NAMESPACE/]NAME of a "
        "pod of the cluster (default: all its pending pods)",
    )
    reading.empty(parser)
    cluster(parser, "the simulation")
    parser.add_argument("--pending", action="store_true", help="schedule the pending pods of the cluster, too")
    parser.add_argument(
        "--fit",
        action="store_true",
        help="show how many of these pods fit beside those of the cluster, on which nodes, and what runs out",
    )
    repeated(parser, "--without", metavar="NODE", help="simulate the cluster without this node")
    repeated(
        parser,
        "--release",
        metavar="[NAMESPACE/]CLAIM",
        help="simulate the cluster without this claim and the pods that use it",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=300.0,
        metavar="SECONDS",
        help="end after this time, reading included, and list the pods that are left out (default: 300)",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        type=namespace,
        help="the namespace of manifests, charts, and claims of --release without one (default: default); if given, "
        "pods are named in it, and of the pending pods of the cluster only its own are reported",
    )
    _scheduler(parser)


def match(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard match`."""
    reading.paths(
        parser, "manifests of claims, templates and classes: files, directories, globs, or - for standard input"
    )
    reading.empty(parser)
    cluster(parser, "their devices")
    repeated(
        parser, "-e", "--expression", metavar="CEL", help="a selector; -e may be left out if it contains `device.`"
    )
    _scheduler(parser)


def snapshot(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard snapshot`."""
    parser.add_argument("--run", action="store_true", help="run the command, and print its output")
    parser.add_argument("--context", metavar="NAME", help="the context of kubectl's configuration")
    parser.add_argument(
        "-n",
        "--namespace",
        type=namespace,
        metavar="NAME",
        help="one namespace only (default: all); devices in use elsewhere look free",
    )
    repeated(parser, "--without", metavar="RESOURCE", help="leave a resource out")


def _scheduler(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kubernetes-version", metavar="VERSION", help="the scheduler's release, such as 1.35 (default: 1.37)"
    )
    gates(parser, "the defaults of the release")
    reading.charts(parser)
    formats = ("text", "json", "yaml")
    parser.add_argument(
        "-o", "--output", choices=formats, default="text", help="the format of the results (default: %(default)s)"
    )
    terminal(parser, "results")
