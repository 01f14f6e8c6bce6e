"""Arguments about the input: paths, standard input, charts."""

from __future__ import annotations

from webhook.cli.arguments.parsing import repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

STDIN = "standard input, which is read without a path if it is a pipe or a file"


def paths(
    parser: argparse.ArgumentParser, help_: str = f"files, directories, globs, or - for {STDIN}", metavar: str = "PATH"
) -> None:
    """Declare paths, and kubectl's options for them.

    Args:
        parser: The command's parser.
        help_: The help of the paths.
        metavar: The name of a path in the help.
    """
    parser.add_argument("paths", nargs="*", default=[], metavar=metavar, help=help_)
    repeated(parser, "-f", "--filename", dest="filenames", metavar=metavar, help="a path, as kubectl takes it")
    parser.add_argument(
        "-R",
        "--recursive",
        action="store_true",
        help="accepted for compatibility with kubectl: directories are always read recursively",
    )


def charts(parser: argparse.ArgumentParser) -> None:
    """Declare the options for rendering Helm charts, and for the API versions that decide what they render."""
    repeated(
        parser,
        "--runtime-config",
        metavar="API=BOOL,…",
        help="API versions that the cluster serves or not, beside the defaults of the release, as kube-apiserver takes "
        "them: resource.k8s.io/v1beta1=true, api/beta=true",
    )
    group = parser.add_argument_group("Helm charts")
    repeated(group, "--helm-values", metavar="FILE", help="values for the charts, as for helm --values")
    repeated(group, "--helm-set", metavar="KEY=VALUE", help="a value for the charts, as for helm --set")


def stdin(parser: argparse.ArgumentParser) -> None:
    """Declare the options for standard input."""
    parser.add_argument(
        "--stdin-filename",
        metavar="FILE",
        help="the name of standard input in findings, for editors",
    )


def empty(parser: argparse.ArgumentParser, what: str = "a manifest") -> None:
    """Declare the option for input that holds nothing.

    Args:
        parser: The command's parser.
        what: What the command reads.
    """
    parser.add_argument(
        "--allow-empty",
        action="store_true",
        help=f"accept standard input, files, directories and charts without {what}, which are errors otherwise",
    )
