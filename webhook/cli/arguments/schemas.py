"""Arguments of ``draguard schema``."""

from __future__ import annotations

from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


class Schema(NamedTuple):
    """A JSON schema that draguard prints.

    Args:
        package: The package that holds it.
        file: Its file in the package.
        about: The subject of the schema.
    """

    package: str
    file: str
    about: str


SCHEMAS = {
    "report": Schema("webhook.report", "json.schema.json", "what --output json prints"),
    "match": Schema("webhook.deviceselectors", "match.schema.json", "what draguard match --output json prints"),
    "simulate": Schema("webhook.simulation", "answers.schema.json", "what draguard simulate --output json prints"),
    "profile": Schema("webhook.drivers", "profile.schema.json", "profiles of drivers"),
    "suite": Schema("webhook.engine", "suite.schema.json", "suites of draguard policy test"),
}
"""The schemas, by name."""

SCHEMA = """\
examples:
  draguard schema report > report.schema.json
  draguard schema simulate > simulate.schema.json
  draguard validate --output json=report.json . ; check-jsonschema --schemafile report.schema.json report.json
"""


def schema(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard schema`."""
    known = "; ".join(f"{name}: {each.about}" for name, each in SCHEMAS.items())
    parser.add_argument("name", choices=SCHEMAS, metavar="NAME", help=known)
