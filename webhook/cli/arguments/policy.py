"""Arguments of ``draguard policy``."""

from __future__ import annotations

from webhook.cli.arguments import reading
from webhook.cli.arguments.configured import configured
from webhook.cli.arguments.parsing import namespace, subcommand, synonym
from webhook.cli.arguments.shared import RELEASE, STRICT, report
from webhook.cli.arguments.suppression import suppression

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any


POLICY = """\
examples:
  draguard policy check policies/           syntax, types, cost, what can never apply
  draguard policy test policies/            the suites beside the policies
  draguard policy new few-devices.example.com

Policies are ValidatingAdmissionPolicies and MutatingAdmissionPolicies with their bindings.
`draguard policy check --help` and `draguard policy test --help` show more.
"""


_POLICY_CHECK = """\
examples:
  draguard policy check policies/                   without a path, the current directory
  draguard policy check --kubernetes-version 1.30 --costs policies/quota.yaml
  draguard policy check charts/driver overlays/prod  rendered, as by `draguard validate`
  draguard policy check --output json policies/ | jq '.costs[] | select(.unbounded)'

An error is what the API server refuses; a warning is what it accepts although it cannot work:
conditions that never hold, resources that do not exist, expressions that cost too much. Give
the objects that policies read, too, such as CustomResourceDefinitions and parameters. --output is
that of `draguard validate`; JSON has the expressions' costs, too.
"""


_POLICY_TEST = """\
examples:
  draguard policy test                              the suites below the current directory
  draguard policy test --strict policies/           every validation must be true and false once
  draguard policy test --filter 'older versions' -v policies/
  draguard policy test --watch policies/            again whenever a file changes
  draguard policy test --output junit policies/ > report.xml

A suite is a YAML document with cases, in a file beside the policies. It tests the policies in its
directory, or those that it names. docs/policies.md describes suites, and `draguard schema suite`
prints their JSON schema. A validation that no case makes true, or false, is a warning; if
you name files, only validations of the policies in them are. --output is that of `draguard
validate`; JSON has the suites with their cases, and the coverage, too.
"""


_POLICY_NEW = """\
examples:
  draguard policy new few-devices.example.com
  draguard policy new team-labels.example.com --mutating --directory policies/team-labels

Nothing is overwritten. `draguard policy test --strict DIRECTORY` passes from the start; change the
expression, and then the cases.
"""


_POLICY_GENERATE = """\
examples:
  draguard policy generate --list                             which rules CEL can state, and which it cannot
  draguard policy generate --from-rules > policies.yaml       all of them
  draguard policy generate --from-rules claim-not-used prescheduled --enforce warn
  draguard policy generate --limit devices=8 --limit claims=4

The policies are ValidatingAdmissionPolicies of v1 with their bindings; for prescheduled there is a
MutatingAdmissionPolicy, too, from Kubernetes 1.34 on. Clusters evaluate them without a webhook.
"""


def policy(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard policy`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def add(name: str, summary: str, epilog: str) -> argparse.ArgumentParser:
        action = subcommand(actions, name, summary, epilog=epilog)
        reading.paths(action)
        reading.empty(action)
        action.add_argument("--strict", action="store_true", help=STRICT)
        report(action)
        suppression(action)
        configured(action)
        return action

    check = add("check", "find errors in policies, without objects", _POLICY_CHECK)
    check.add_argument("--kubernetes-version", metavar="VERSION", help=RELEASE)
    check.add_argument("--costs", action="store_true", help="show what each expression may cost")
    reading.charts(check)
    about = "the namespace for which charts are rendered (default: %(default)s)"
    check.add_argument("-n", "--namespace", type=namespace, default="default", help=about)
    test = add("test", "run the suites beside policies", _POLICY_TEST)
    release = "run all suites for this release (default: the suite's own, or the newest)"
    test.add_argument("--kubernetes-version", metavar="VERSION", help=release)
    only = "run only cases with this text in their names, in any case; can be repeated; coverage is not reported then"
    test.add_argument("--filter", action="append", default=[], metavar="TEXT", help=only)
    test.add_argument("-v", "--verbose", action="store_true", help="show the result of each case, in text")
    test.add_argument("--watch", action="store_true", help="run the suites again whenever a file changes, until Ctrl-C")
    _new(actions)
    _generate(actions)


def _new(actions: argparse._SubParsersAction[Any]) -> None:
    new = subcommand(actions, "new", "write a policy to start from, with its suite", epilog=_POLICY_NEW)
    new.add_argument("name", metavar="NAME", help="the policy's name, such as few-devices.example.com")
    synonym(new, "--dir", "directory")
    new.add_argument(
        "--directory", metavar="DIRECTORY", help="where policy.yaml and tests.yaml are written (default: as NAME)"
    )
    new.add_argument("--mutating", action="store_true", help="a MutatingAdmissionPolicy (default: a validating one)")


def _generate(actions: argparse._SubParsersAction[Any]) -> None:
    summary = "write rules as policies, for clusters without a webhook"
    generate = subcommand(actions, "generate", summary, epilog=_POLICY_GENERATE)
    rules = "the rules to write (default: all that CEL can state)"
    generate.add_argument("--from-rules", nargs="*", metavar="RULE", help=rules)
    limit = "a limit of your own; can be repeated; NAME is claims (of a pod), devices or requests (of a claim)"
    generate.add_argument("--limit", action="append", default=[], metavar="NAME=NUMBER", help=limit)
    enforce = "what the bindings do: refuse the request, warn the user, or note it in the audit log (default: deny)"
    generate.add_argument("--enforce", choices=("deny", "warn", "audit"), default="deny", help=enforce)
    generate.add_argument("--kubernetes-version", metavar="VERSION", help="the cluster's release (default: 1.37)")
    generate.add_argument("--list", action="store_true", help="list the rules that CEL can state, and the others")
