"""Arguments of ``draguard config``."""

from __future__ import annotations

from webhook.cli.arguments.manifests import validate
from webhook.cli.arguments.parsing import subcommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

CONFIG = """\
examples:
  draguard config show                      the settings in effect here, and their sources
  draguard config show --strict manifests/  those of validate --strict manifests/
  draguard config schema > draguard.schema.json

The configuration file is .draguard.yaml:

  kubernetesVersions: ["1.33", "1.34"]
  exclude: [testdata]
  levels:
    deprecated: error
  ignores:
  - paths: [examples/**]
    rules: [class-not-found]
    reason: the examples need no cluster

`draguard config show` takes the arguments of `draguard validate`, and prints the settings in the form of
the configuration file. docs/configuration.md has all keys.
"""

_SCHEMA = """\
examples:
  draguard config schema > draguard.schema.json
"""

_SHOW = """\
examples:
  draguard config show                      the settings in effect here, and their sources
  draguard config show --strict manifests/  those of validate --strict manifests/
"""


def config(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard config`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    subcommand(actions, "schema", "print the JSON schema of the configuration file", epilog=_SCHEMA)
    show = subcommand(actions, "show", "print the settings in effect, and where each comes from", epilog=_SHOW)
    validate(show)
