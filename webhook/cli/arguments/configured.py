"""Options that variables and the configuration file can set, and where that file is."""

from __future__ import annotations

from webhook.cli.arguments.parsing import repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

NO_CONFIG = "no_config"


def configured(parser: argparse.ArgumentParser) -> None:
    """Declare ``--config``, and let the configuration file and variables set all other options.

    Args:
        parser: The command's parser.
    """
    group = parser.add_argument_group(
        "configuration",
        "Environment variables set options, too: DRAGUARD_KUBERNETES_VERSION sets --kubernetes-version. "
        "An option that can be repeated takes one value a line. The command line takes precedence over variables, "
        "and variables over the configuration file.",
    )
    one = group.add_mutually_exclusive_group()
    one.add_argument(
        "--config",
        metavar="FILE",
        help="the configuration file (default: .draguard.yaml beside the first PATH or above it, up to the root of its "
        "repository)",
    )
    one.add_argument("--no-config", dest=NO_CONFIG, action="store_true", help="use no configuration file")
    parser.set_defaults(settings=parser)


def excluded(parser: argparse.ArgumentParser) -> None:
    """Declare the options that exclude files."""
    repeated(
        parser,
        "--exclude",
        metavar="GLOB",
        help="skip matching paths; patterns as in .gitignore: '*.json', examples/**, charts",
    )
