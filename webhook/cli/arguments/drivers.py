"""Arguments of ``draguard driver``."""

from __future__ import annotations

from webhook.cli.arguments.parsing import subcommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

DRIVER = """\
examples:
  draguard driver show                      the drivers that draguard knows
  draguard driver show gpu.nvidia.com       attributes, capacities, parameters, and their source
  draguard driver from-cluster cluster.yaml > drivers.yaml
  draguard driver check drivers.yaml        check a profile of your own
  draguard validate --driver-profile drivers.yaml manifests/

A profile is YAML; docs/drivers.md explains its keys. Findings from profiles are warnings.
"""

_SHOW = """\
examples:
  draguard driver show                      the drivers that draguard knows
  draguard driver show gpu.nvidia.com       attributes, capacities, parameters, and their source
"""

_FROM_CLUSTER = """\
examples:
  draguard driver from-cluster cluster.yaml > drivers.yaml
  draguard snapshot --run | draguard driver from-cluster -
"""

_CHECK = """\
examples:
  draguard driver check drivers.yaml        exit code 1 if a profile has mistakes
"""


def driver(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard driver`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    summary = "print the profile of a driver, or the drivers that have one"
    show = subcommand(actions, "show", summary, epilog=_SHOW)
    show.add_argument("name", nargs="?", metavar="DRIVER", help="a driver, such as gpu.nvidia.com (default: list all)")
    summary = "write profiles of the drivers whose ResourceSlices a snapshot has"
    made = subcommand(actions, "from-cluster", summary, epilog=_FROM_CLUSTER)
    made.add_argument(
        "paths", nargs="+", metavar="PATH", help="files, directories, globs or - with what `draguard snapshot` collects"
    )
    check = subcommand(actions, "check", "check profiles of your own", epilog=_CHECK)
    check.add_argument("paths", nargs="+", metavar="PATH", help="files with profiles, as --driver-profile takes them")
