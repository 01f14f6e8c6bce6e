"""The table of options: each command with its arguments, and what else sets them.

The parser, the help, the manual page, completion and the DRAGUARD_* variables follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.release import DEFAULT
from webhook.report import FORMATS


class Default(str):
    """The default of an option, which differs from an equal text on the command line by its identity."""

    __slots__ = ()


class Output(NamedTuple):
    """A report that ``--output`` requests.

    Args:
        format: The name of its format.
        file: Its file; empty for standard output.
    """

    format: str
    file: str = ""


class Live(NamedTuple):
    """A running cluster in the place of the files of ``--cluster``, as kubectl reaches it.

    Args:
        context: The context of kubectl's configuration; empty for the current one.
    """

    context: str = ""

    def __str__(self) -> str:
        """Name the cluster."""
        return f"context {self.context}" if self.context else "the current context"


class Option:
    """An option, or an argument without dashes.

    Args:
        names: Its names, and that of its value, such as ``-n --namespace NAMESPACE``; a switch, and one of some words,
            have none for a value.
        about: Its effect, for the help.
        many: Whether it can be repeated, which its help says.
        then: The end of its help, such as the default.
        default: Its value if nothing sets it; that of one that can be repeated is a list.
        const: The value that a switch adds to the list of ``dest``, instead of being true.
        words: The values that it may have.
        type: The function that reads its value, or the name of one of :mod:`webhook.cli.parser`.
        number: How many values an argument takes, as for argparse: ``*``, ``+`` or ``?``.
        dest: Its name among the arguments, if that is not its longest name.
        is_shared: Whether its name means the same in all commands, so that a variable can set it.
    """

    def __init__(
        self,
        names: str,
        about: str = "",
        *,
        many: bool = False,
        then: str = "",
        default: Any = None,
        const: Any = None,
        words: Sequence[str] = (),
        type: Any = None,  # noqa: A002 - as argparse calls it
        number: str = "",
        dest: str = "",
        is_shared: bool = True,
    ) -> None:
        self.names, self.many, self.words, self.type = names.split(), many, words, type
        self.takes = self.names.pop() if self.names[1:] and not self.names[-1].startswith("-") else ""
        self.about = f"{about}; can be repeated{then}" if many else about + then
        self.number, self.const = number, const
        self.is_argument = not names.startswith("-")
        """Whether it has no dashes."""
        self.is_switch = not (self.takes or words)
        """Whether it takes no value."""
        longest = max(self.names, key=len, default="").lstrip("-").replace("-", "_")
        self.dest = dest or longest
        self.variable = PREFIX + longest.upper() if is_shared and not self.is_argument and longest != "filename" else ""
        """The environment variable that sets it; empty if none does."""
        if default is None and (many or (number == "*" and self.is_argument)):
            default = []
        elif default is None and self.is_switch:
            default = False
        self.default = Default(default) if isinstance(default, str) else default


class OptionGroup:
    """Arguments that the help shows under a title.

    Args:
        about: Their description in the help.
    """

    def __init__(self, title: str, *of: Option | Either, about: str | None = None) -> None:
        self.title, self.of, self.about = title, of, about


class Either:
    """Options of which one may be given."""

    def __init__(self, *of: Option) -> None:
        self.of = of


class Command:
    """A command.

    Args:
        about: Its help in a line.
        actions: The commands below it, by name.
    """

    def __init__(
        self, about: str, *of: Option | OptionGroup | Either, actions: Mapping[str, Command] | None = None
    ) -> None:
        self.about, self.of, self.actions = about, of, actions or {}
        self.description = f"{about[0].upper()}{about[1:]}."
        """Its help as a sentence."""
        self.options = [*_options(of)]
        """Its arguments."""
        self.reads_variables = CONFIGURED in of or FROM_VARIABLES in of
        """Whether variables set its options."""

    def alternatives(self) -> list[Either]:
        """Return the options of which one may be given."""
        groups = (each.of if isinstance(each, OptionGroup) else (each,) for each in self.of)
        return [each for group in groups for each in group if isinstance(each, Either)]


def _options(entries: Sequence[Option | OptionGroup | Either]) -> Iterator[Option]:
    for each in entries:
        yield from (each,) if isinstance(each, Option) else _options(each.of)


PREFIX: Final = "DRAGUARD_"
"""How the variables of options begin."""
STDIN: Final = "standard input, which is read without a path if it is a pipe or a file"
TARGETS: Final = ("v1", "v1beta2", "v1beta1", "v1alpha3")
"""The versions that `draguard convert` writes."""


def _paths(about: str = f"files, directories, globs, or - for {STDIN}", takes: str = "PATH") -> tuple[Option, ...]:
    """Return the option for paths, and kubectl's for them."""
    return (
        Option(f"paths {takes}", about, number="*"),
        Option("-f --filename PATH", "a path, as kubectl takes it", many=True, dest="filenames"),
        Option("-R --recursive", "accepted for compatibility with kubectl: directories are always read recursively"),
    )


def _empty(what: str = "a manifest") -> Option:
    about = f"accept standard input, files, directories and charts without {what}, which are errors otherwise"
    return Option("--allow-empty", about)


def _release(about: str, **options: Any) -> Option:
    return Option("--kubernetes-version VERSION", about, **options)


def _namespace(about: str, default: str | None = None, takes: str = "NAMESPACE") -> Option:
    return Option(f"-n --namespace {takes}", about, type="namespace", default=default)


def _gates(default: str) -> Option:
    return Option(
        "--feature-gates GATE=BOOL,…",
        "feature gates that differ from the defaults of the release, as kube-apiserver takes them, AllAlpha and "
        "AllBeta included; DynamicResourceAllocation counts as on",
        many=True,
        then=f" (default: {default})",
    )


_CLUSTERS: Final[list[str | Live]] = []
"""The default of the options for a cluster."""


def _files(what: str) -> Option:
    return Option(
        "--cluster PATH",
        f"objects of the cluster, for {what}: a file, directory, glob or - with what `kubectl get -o yaml` "
        "prints (`draguard snapshot` shows the command) or must-gather collects",
        many=True,
        default=_CLUSTERS,
    )


OF_CLUSTERS: Final = ("why", "simulate", "match", "devices", "scan", "ui")
"""The commands that are about a cluster."""
LIVE: Final = (
    Option(
        "--live",
        "read these objects from the running cluster, by kubectl and its current context, or in a pod with the "
        "token of its service account; its release and feature gates are asked for, too",
        dest="cluster",
        const=Live(),
        default=_CLUSTERS,
    ),
    Option(
        "--context NAME",
        "as --live, from the cluster of this context of kubectl's configuration",
        dest="cluster",
        many=True,
        default=_CLUSTERS,
        type=Live,
    ),
)


def _cluster(what: str) -> tuple[Option, ...]:
    """Return the options for the objects of a cluster."""
    return (_files(what), *LIVE)


def _terminal(what: str) -> tuple[Option, ...]:
    return (
        Option("-q --quiet", f"show {what} and notes only: no summary, no progress"),
        Option(
            "--color",
            "colors in text: auto means on a terminal, unless NO_COLOR is set (default: %(default)s)",
            words=("auto", "always", "never"),
            default="auto",
        ),
    )


def _choice(names: str, about: str, words: Sequence[str], default: str | None = None, **options: Any) -> Option:
    return Option(names, about, words=words, default=words[0] if default is None else default, **options)


_KUBELETS: Final = f"(default: the newest kubelet version on the nodes, else 1.{DEFAULT})"
RELEASE: Final = f"judge policies as this release does, such as 1.34 (default: 1.{DEFAULT})"
RELEASES: Final = _release(
    f"judge as this release does, such as 1.30 (default: 1.{DEFAULT}, or the newest release that serves the object's "
    "version; a pod is judged by the release of the claims in its file, or else in its directory)",
    many=True,
    then=": a table shows which release reports what",
)
GATES: Final = _gates("the defaults of the release")
RUNTIME_CONFIG: Final = Option(
    "--runtime-config API=BOOL,…",
    "API versions that the cluster serves or not, beside the defaults of the release, as kube-apiserver takes "
    "them: resource.k8s.io/v1beta1=true, api/beta=true",
    many=True,
)
_RELEASE_OF_CLUSTER: Final = (_release(f"the cluster's release, such as 1.36 {_KUBELETS}"), GATES)
NAMESPACE_LABELS: Final = Option("--namespace-labels NAMESPACE=KEY=VALUE,…", "all labels of a namespace", many=True)
POLICY_FILES: Final = Option(
    "--policies PATH",
    "policies and bindings, and objects that they read, such as parameters and Namespaces: "
    "a file, directory, glob or -",
    many=True,
)
POD_TEMPLATES: Final = Option(
    "--pod-template GROUP/KIND=PATH",
    "the place of pod templates or pod specs in another project's workloads, such as "
    "example.com/Trainer=spec.workers[].template; * is for each value of a map or list",
    many=True,
)
DRIVER_PROFILES: Final = Option(
    "--driver-profile FILE",
    "a profile of a driver's attributes, capacities and parameters (`draguard driver show`)",
    many=True,
)
EXCLUDED: Final = Option(
    "--exclude GLOB", "skip matching paths; patterns as in .gitignore: '*.json', examples/**, charts", many=True
)
LEVEL: Final = Option(
    "--level RULE=LEVEL",
    "report a rule as off, note, warn or error; a LEVEL without RULE= is the highest of all other rules",
    many=True,
)
BASELINE: Final = Option("--baseline FILE", "suppress the findings in this file, and list those that are fixed")
ALL_PODS: Final = Option("--all-pods", "judge pods and workloads without resource claims, too")
STRICT: Final = Option("--strict", "exit with 1 for warnings, too")
EXIT_ZERO: Final = Option("--exit-zero", "exit with 0 where the exit code would be 1, whatever is found")
NO_CONFIG: Final = "no_config"
_VARIABLES: Final = (
    "Environment variables set options, too: DRAGUARD_KUBERNETES_VERSION sets --kubernetes-version. "
    "An option that can be repeated takes one value a line. The command line takes precedence over variables"
)
FROM_VARIABLES: Final = OptionGroup("configuration", about=f"{_VARIABLES}.")
"""Its commands take variables."""
CONFIGURED: Final = OptionGroup(
    "configuration",
    Either(
        Option(
            "--config FILE",
            "the configuration file (default: .draguard.yaml beside the first PATH or above it, up to the root of its "
            "repository)",
        ),
        Option("--no-config", "use no configuration file"),
    ),
    about=f"{_VARIABLES}, and variables over the configuration file.",
)
"""Its commands take the configuration file and variables."""
CHARTS: Final[tuple[Option | OptionGroup, ...]] = (
    RUNTIME_CONFIG,
    OptionGroup(
        "Helm charts",
        Option("--helm-values FILE", "values for the charts, as for helm --values", many=True),
        Option("--helm-set KEY=VALUE", "a value for the charts, as for helm --set", many=True),
    ),
)
REPORT: Final[tuple[Option | OptionGroup, ...]] = (
    Option(
        "-o --output FORMAT[=FILE]",
        "the format of the report, and its file (default: standard output); can be repeated; "
        f"FORMAT is one of {', '.join(FORMATS)}",
        type="output",
        default=[Output("text")],
    ),
    *_terminal("findings"),
)
SUPPRESSION: Final = OptionGroup(
    "suppression",
    Option("--select RULE[,RULE…]", "report only these rules, and files that cannot be read", many=True),
    Option("--ignore RULE[,RULE…]", "do not report these rules", many=True),
    LEVEL,
    BASELINE,
    Option("--write-baseline FILE", "write all findings to this file, for --baseline, and exit with 0"),
    about="RULE is a rule, a pattern such as 'cel-*', or policy/NAME; `draguard explain` lists the rules.",
)
_AUTHORIZER: Final = Option(
    "--authorizer FILE",
    "what the authorizer of policies allows: {rules: [{groups, apiGroups, resources, verbs, …}]} (default: nothing)",
)
POLICIES: Final = (POLICY_FILES, _AUTHORIZER)
OF_POLICIES: Final = (
    _AUTHORIZER,
    Option("--as USER", "the user who sends the objects (default: kubernetes-admin)", dest="as_user"),
    Option("--as-group GROUP", "a group of that user, in addition to system:authenticated", many=True),
    Option(
        "--as-user-extra KEY=VALUE",
        "an extra attribute of that user, such as authentication.kubernetes.io/node-name=node-1",
        many=True,
    ),
)
"""The options that only policies read."""
REQUESTER: Final = OptionGroup(
    "policies",
    POLICY_FILES,
    *OF_POLICIES,
    _namespace("the namespace of objects without one (default: %(default)s)", "default"),
)
PRESCHEDULED: Final = OptionGroup(
    "pods that name their node",
    _choice(
        "--select-node-by",
        "select the node by the label kubernetes.io/hostname (default), or by required node affinity to its name",
        ("hostname", "name"),
    ),
    _choice(
        "--pods", "rewrite pods with resource claims (default), or every pod that names its node", ("claims", "all")
    ),
)


def _scheduler(*formats: str) -> tuple[Option | OptionGroup, ...]:
    return (
        _release(f"the scheduler's release, such as 1.35 {_KUBELETS}"),
        GATES,
        *CHARTS,
        _choice("-o --output", "the format of the results (default: %(default)s)", formats, is_shared=False),
        *_terminal("results"),
        FROM_VARIABLES,
    )


ANSWERS: Final[tuple[Option | OptionGroup, ...]] = (
    _release("the cluster's release, such as 1.30 (default: the newest that knows the object's fields)"),
    _gates("every gate may be on"),
    _choice(
        "--failure-policy",
        "refuse (default) or admit a request if answering it fails unexpectedly",
        ("fail", "ignore"),
        type=str.lower,
    ),
    OptionGroup(
        "enforcement",
        Option(
            "--enforce [WHAT=]MODE",
            "deny (default): the request is refused; warn: it is admitted, and its user warned; audit: it is "
            "admitted, and the finding noted in the audit log. WHAT is a rule, policy/NAME, or workloads (pod "
            "templates; default: warn); without WHAT, the mode applies to everything else. Pre-scheduled pods are "
            "rewritten in every mode, and the validating webhook admits them",
            many=True,
        ),
        Option("--exempt-namespace PATTERN", "admit objects in these namespaces without a review", many=True),
        Option(
            "--exempt-user PATTERN",
            "admit requests of these users without a review, such as 'system:serviceaccount:kube-system:*'",
            many=True,
        ),
        Option(
            "--exempt-group PATTERN", "admit requests of these groups without a review, such as system:nodes", many=True
        ),
    ),
    PRESCHEDULED,
    OptionGroup("policies", *POLICIES),
    _files("references of new objects (warnings, unless --enforce RULE=deny refuses them)"),
)


def _monitoring(when: str, host: str) -> tuple[Option, Option]:
    """Return the options for the port of metrics and probes.

    Args:
        when: What they need, before a comma; empty if nothing.
        host: The default of the host.
    """
    about = f"{when}serve /metrics, /healthz and /readyz on this port, without TLS; 0 takes a free one (default: none)"
    return (
        Option("--monitoring-port PORT", about, type=int),
        Option("--monitoring-host HOST", f"the name or address for --monitoring-port (default: {host})"),
    )


LOG: Final = (
    _choice(
        "--log-format",
        "lines of JSON, or text for people (default: text on a terminal, else JSON)",
        ("auto", "json", "text"),
    ),
    _choice(
        "--log-level",
        "log nothing below this level; decisions are info, failures error (default: %(default)s)",
        ("debug", "info", "warning", "error"),
        "info",
    ),
)


def _managed(prefix: str) -> Iterator[Option]:
    """Yield the options for the cluster's objects that hold or trust the certificate."""

    def option(name: str, takes: str, about: str, **options: Any) -> Option:
        return Option(f"--{prefix}{name} {takes}", about, dest=f"manage_{name}", **options)

    certificates = "draguard-certificates"
    yield option("namespace", "NAME", "the namespace of Secret and Lease (default: the pod's)")
    about = "the Secret that replicas share; it must exist, and may be empty (default: %(default)s)"
    yield option("secret", "NAME", about, default=certificates)
    about = "the Lease by which one replica leads; it must exist (default: %(default)s)"
    yield option("lease", "NAME", about, default=certificates)
    about = "a ValidatingWebhookConfiguration and MutatingWebhookConfiguration of this name"
    yield option("webhooks", "NAME", about, many=True)
    yield option("name", "NAME", "a DNS name of the Service, such as draguard.draguard-system.svc", many=True)
    about = "the service account's token and ca.crt (default: %(default)s)"
    yield option("account", "DIR", about, default="/var/run/secrets/kubernetes.io/serviceaccount")


SCHEMAS: Final = {
    "report": ("webhook.report", "json.schema.json", "what --output json prints"),
    "why": ("webhook.why", "answer.schema.json", "what draguard why --output json prints"),
    "match": ("webhook.deviceselectors", "match.schema.json", "what draguard match --output json prints"),
    "simulate": ("webhook.simulation", "answers.schema.json", "what draguard simulate --output json prints"),
    "profile": ("webhook.drivers", "profile.schema.json", "profiles of drivers"),
    "suite": ("webhook.engine", "suite.schema.json", "suites of draguard policy test"),
}
"""The package, file and subject of the JSON schemas that draguard prints, by name."""
SHELLS: Final = ("bash", "zsh", "fish")

VALIDATE: Final[tuple[Option | OptionGroup, ...]] = (
    *_paths(
        "files, directories, globs, the directory of a Helm chart or kustomization, or - for standard input (default: "
        "standard input if that is a pipe or a file, else the current directory)"
    ),
    Option("--stdin-filename FILE", "the name of standard input in findings, for editors"),
    _empty(),
    EXCLUDED,
    RELEASES,
    GATES,
    NAMESPACE_LABELS,
    Option(
        "--old PATH",
        "an earlier state of the same objects, to judge updates: a file, directory, glob, chart, kustomization or -",
        many=True,
    ),
    Option(
        "--against REV",
        "compare objects with this git revision, such as origin/main, as --old does; follows moved files",
    ),
    Option("--new-only", "report only findings that the revision does not have; needs --against"),
    _choice("--subresource", "judge updates of the status; needs --old", ("status",), ""),
    *_cluster("references of the manifests"),
    ALL_PODS,
    POD_TEMPLATES,
    DRIVER_PROFILES,
    STRICT,
    EXIT_ZERO,
    Option("--markdown", "read the YAML blocks of Markdown files (.md) in directories, too"),
    Option("--show-files", "list the files that were read, and those that were not, with reasons"),
    Option("--statistics", "show how many findings each rule has, instead of the findings"),
    OptionGroup(
        "fixes",
        Option(
            "--fix", "apply safe fixes in place, and report the other findings; for standard input, print the result"
        ),
        Option("--unsafe-fixes", "also apply fixes that may not be what you intended; needs --fix or --diff"),
        Option("--diff", "print the changes of --fix as a unified diff, and write nothing"),
    ),
    *REPORT,
    *CHARTS,
    SUPPRESSION,
    REQUESTER,
    CONFIGURED,
)
"""The arguments of ``draguard validate``, and of ``config show``."""
_REPORTED: Final[tuple[Option | OptionGroup, ...]] = (*_paths(), _empty(), STRICT, *REPORT, SUPPRESSION, CONFIGURED)

_SIMULATED: Final[tuple[Option | OptionGroup, ...]] = (
    _empty(),
    *_cluster("the simulation"),
    Option("--pending", "schedule the pending pods of the cluster, too"),
    Option("--fit", "show how many of these pods fit beside those of the cluster, on which nodes, and what runs out"),
    Option("--without NODE", "simulate the cluster without this node", many=True),
    Option(
        "--release [NAMESPACE/]CLAIM", "simulate the cluster without this claim and the pods that use it", many=True
    ),
    Option(
        "--timeout SECONDS",
        "end after this time, reading included, and list the pods that are left out (default: 300)",
        type="seconds",
        default=300.0,
    ),
    _namespace(
        "the namespace of manifests, charts, and claims of --release without one (default: default); if given, "
        "pods are named in it, and of the pending pods of the cluster only its own are reported"
    ),
    *_scheduler("text", "json", "yaml", "html"),
)
"""The arguments of ``draguard simulate``, and of ``draguard why`` for manifests."""
COMMANDS: Final = {
    "validate": Command("find what the API server would refuse in manifests, and where", *VALIDATE),
    "why": Command(
        "explain why a pod, workload, claim or node of a cluster is as it is, and what to change",
        *_paths(
            "[NAMESPACE/]NAME of a pod of the cluster, or deployment/NAME, statefulset/NAME, daemonset/NAME, "
            "replicaset/NAME, job/NAME, cronjob/NAME, claim/NAME or node/NAME; manifests, and no name, are those of "
            "`draguard simulate`",
            "POD|KIND/NAME",
        ),
        *_SIMULATED,
    ),
    "simulate": Command(
        "show on which nodes pods get their devices, or why they stay pending",
        *_paths(
            "manifests of pods and workloads: files, directories, globs, or - for standard input; or "
            "[NAMESPACE/]NAME of a pod of the cluster (default: all its pending pods)"
        ),
        *_SIMULATED,
    ),
    "match": Command(
        "show which devices selectors match, and why the others do not",
        *_paths("manifests of claims, templates and classes: files, directories, globs, or - for standard input"),
        _empty(),
        *_cluster("their devices"),
        Option("-e --expression CEL", "a selector; -e may be left out if it contains `device.`", many=True),
        *_scheduler("text", "json", "yaml"),
    ),
    "scan": Command(
        "find what is wrong in what a cluster stores: claims, slices, classes, drivers, quotas, pods",
        *_cluster("the scan"),
        *_RELEASE_OF_CLUSTER,
        DRIVER_PROFILES,
        STRICT,
        EXIT_ZERO,
        *REPORT,
        SUPPRESSION,
        CONFIGURED,
        OptionGroup(
            "in the cluster (docs/scan.md)",
            Option(
                "--write-reports",
                "write openreports.io Reports to the cluster, and delete outdated ones; in a pod, with its "
                "service account's token",
            ),
            Option(
                "--every DURATION",
                "scan repeatedly at this interval, such as 5m, until SIGTERM; at least 10s",
                type="seconds",
            ),
            *_monitoring("with --every, ", "0.0.0.0"),  # noqa: S104 - in its pod
            Option("--lease NAMESPACE/NAME", "with --every, the existing Lease that elects the replica that scans"),
            *LOG,
        ),
    ),
    "devices": Command(
        "list the devices of a cluster: what they are, which classes select them, who holds them",
        *_cluster("the devices"),
        Option("--free", "only those that claims can get"),
        Option("--class NAME", "only those that this device class selects", dest="device_class"),
        Option("--node NAME", "only those that this node can use"),
        Option("--driver NAME", "only those of this driver"),
        _choice("--by", "count them by one of these, in place of a list", ("node", "class", "driver", "namespace"), ""),
        Option(
            "--watch",
            "read the objects again every few seconds, and draw the table again, until Ctrl-C",
            is_shared=False,
        ),
        *_RELEASE_OF_CLUSTER,
        _choice(
            "-o --output",
            "the format of the list (default: %(default)s)",
            ("text", "wide", "json", "html"),
            is_shared=False,
        ),
        *_terminal("the list"),
        FROM_VARIABLES,
    ),
    "ui": Command(
        "serve a local page that shows a cluster's devices and tries out selectors, pods and changes",
        *_cluster("the page"),
        Option(
            "--port PORT",
            "the port on loopback; 0 takes a free one (default: %(default)s)",
            type=int,
            default=0,
            is_shared=False,
        ),
        Option("--timeout SECONDS", "the time of an answer (default: 30)", type="seconds", default=30.0),
        *_RELEASE_OF_CLUSTER,
        RUNTIME_CONFIG,
        Option("-q --quiet", "show the address only: no progress"),
        FROM_VARIABLES,
    ),
    "snapshot": Command(
        "print the command that collects the objects of a cluster, or the objects",
        Option("--run", "read the objects, and print them as a list in JSON, which is YAML, too"),
        Option("--cluster PATH", "print the objects of these files instead, for --redact", many=True),
        Option(
            "--redact",
            "replace names, namespaces, labels, images, and attributes that identify devices, each value always "
            "by the same word, and leave out opaque parameters, environments, commands, addresses and annotations",
        ),
        Option("--context NAME", "the context of kubectl's configuration"),
        _namespace("one namespace only (default: all); devices in use elsewhere look free", takes="NAME"),
        Option("--without RESOURCE", "leave a resource out", many=True),
    ),
    "convert": Command(
        "convert manifests to another version of resource.k8s.io, and keep comments",
        *_paths(),
        _empty(),
        EXCLUDED,
        Option(
            "--to", "the version (default: the newest that the stated releases serve)", words=TARGETS, type="target"
        ),
        _release(f"a release that the objects are for, such as 1.34 (default: 1.{DEFAULT})", many=True),
        POD_TEMPLATES,
        Option("-w --write", "change the files in place"),
        Option("--diff", "print the changes as a unified diff, and write nothing; exit code 0 without --check"),
        Option("--check", "list objects of older versions, and convert none; exit code 1 if there are any"),
        Option("-q --quiet", "show findings only: no summary"),
        CONFIGURED,
    ),
    "mutate": Command(
        "rewrite pods that bypass the scheduler, in manifests",
        *_paths(),
        _empty(),
        Either(
            Option("-w --write", "change the files in place, and print no manifests", is_shared=False),
            Option("--diff", "print the changes as a unified diff, and write nothing", is_shared=False),
            Option("--patch", "print JSON Patches instead of manifests", is_shared=False),
        ),
        _release(RELEASE),
        *CHARTS,
        PRESCHEDULED,
        REQUESTER,
        FROM_VARIABLES,
    ),
    "explain": Command(
        "describe a kind, a field, a rule or a feature gate",
        Option(
            "name KIND[.FIELD]|RULE|GATE",
            "a kind, a field as findings spell it after its kind, a rule, a feature gate, an API version, a driver, "
            "or, in quotes, what kubectl has printed of a refusal or an event; - reads it from standard input "
            "(default: list kinds and rules)",
            number="?",
            default="",
        ),
        Option("--recursive", "print the fields of fields, too, with their types"),
        _release("describe only this release (default: all)"),
        Option(
            "--api-version [GROUP/]VERSION",
            "the API version to look into, such as v1beta1 or resource.k8s.io/v1beta1 (default: the newest that has "
            "the kind)",
        ),
    ),
    "driver": Command(
        "show attributes, capacities and parameters of drivers, or write a profile",
        actions={
            "show": Command(
                "print the profile of a driver, or the drivers that have one",
                Option("name DRIVER", "a driver, such as gpu.nvidia.com (default: list all)", number="?"),
            ),
            "from-cluster": Command(
                "write profiles of the drivers whose ResourceSlices a cluster has",
                Option(
                    "paths PATH", "files, directories, globs or - with what `draguard snapshot` collects", number="*"
                ),
                *_cluster("the profiles"),
            ),
            "check": Command(
                "check profiles of your own",
                Option("paths PATH", "files with profiles, as --driver-profile takes them", number="+"),
            ),
        },
    ),
    "schema": Command(
        "print a JSON schema, of what a command prints or of a file that you write",
        Option("name NAME", "; ".join(f"{name}: {about}" for name, (_, _, about) in SCHEMAS.items()), words=[*SCHEMAS]),
    ),
    "config": Command(
        "show the settings in effect, or the schema of the configuration file",
        actions={
            "schema": Command("print the JSON schema of the configuration file"),
            "show": Command("print the settings in effect, and where each comes from", *VALIDATE),
        },
    ),
    "policy": Command(
        "check and test policies",
        actions={
            "check": Command(
                "find errors in policies, without objects",
                *_REPORTED,
                _release(RELEASE),
                Option("--costs", "show what each expression may cost"),
                *CHARTS,
                _namespace("the namespace for which charts are rendered (default: %(default)s)", "default"),
            ),
            "test": Command(
                "run the suites beside policies",
                *_REPORTED,
                _release(f"run all suites for this release (default: the suite's own, or 1.{DEFAULT})"),
                Option(
                    "--filter TEXT",
                    "run only cases with this text in their names, in any case",
                    many=True,
                    then="; coverage is not reported then",
                ),
                Option("-v --verbose", "show the result of each case, in text"),
                Option("--watch", "run the suites again whenever a file changes, until Ctrl-C"),
            ),
            "new": Command(
                "write a policy to start from, with its suite",
                Option("name NAME", "the policy's name, such as few-devices.example.com"),
                Option(
                    "--dir --directory DIRECTORY", "where policy.yaml and tests.yaml are written (default: as NAME)"
                ),
                Option("--mutating", "a MutatingAdmissionPolicy (default: a validating one)"),
            ),
            "generate": Command(
                "write rules as policies, for clusters without a webhook",
                Option("--from-rules RULE", "the rules to write (default: all that CEL can state)", number="*"),
                Option(
                    "--limit NAME=NUMBER",
                    "a limit of your own",
                    many=True,
                    then="; NAME is claims (of a pod), devices or requests (of a claim)",
                ),
                _choice(
                    "--enforce",
                    "what the bindings do: refuse the request, warn the user, or note it in the audit log "
                    "(default: deny)",
                    ("deny", "warn", "audit"),
                ),
                _release(f"the cluster's release (default: 1.{DEFAULT})"),
                Option("--list", "list the rules that CEL can state, and the others"),
            ),
        },
    ),
    "review": Command(
        "answer recorded AdmissionReviews as the webhook would",
        *_paths(f"files, or - for {STDIN}", "FILE"),
        _empty("an AdmissionReview"),
        _choice("--endpoint", "answer as the validating (default) or the mutating webhook", ("validate", "mutate")),
        Option("--exit-code", "exit with 1 if a request is refused"),
        *ANSWERS,
        *LIVE,
    ),
    "serve": Command(
        "run the admission webhook",
        Option(
            "--host HOST",
            "the name or address to listen on; :: takes IPv4, too (default: 0.0.0.0, with --dev localhost)",
        ),
        Option("--port PORT", "the port; 0 takes a free one (default: %(default)s)", type=int, default=8443),
        Option("--dev", "make a certificate on the fly, and print its caBundle"),
        Option("--tls-cert FILE", "serving certificate, PEM (default: certs/tls.crt)"),
        Option("--tls-key FILE", "its private key, PEM (default: certs/tls.key)"),
        Option("--body-limit BYTES", "the longest request that is read (default: 6 MiB)", type=int),
        Option(
            "--kubernetes-version-file FILE",
            "read the cluster's release from this file, if it exists, and reload it; --kubernetes-version takes "
            "precedence",
        ),
        OptionGroup(
            "the process",
            Option(
                "--connections-per-address N",
                "the most connections that one address may keep open; beyond it, or beyond 1000 in total, those that "
                "are idle for longest are closed (default: %(default)s)",
                type=int,
                default=500,
            ),
            Option(
                "--shutdown-delay SECONDS",
                "how long to serve after SIGTERM, while reporting not ready (default: 5, with --dev 0)",
                type=float,
            ),
            _choice(
                "--on-broken-policies",
                "if changed policies cannot be used: keep the previous ones (default), or keep them and report not "
                "ready",
                ("keep", "unready"),
            ),
        ),
        OptionGroup(
            "a certificate of its own, in a cluster (docs/certificates.md)",
            Option(
                "--manage-certificate",
                "make the certificate, renew it, and write caBundle into the webhook configurations",
            ),
            *_managed("manage-"),
            Option(
                "--manage-directory DIR",
                "the directory for tls.pem, certificate and key, preferably in memory (default: %(default)s)",
                default="/etc/draguard/tls",
            ),
        ),
        OptionGroup(
            "clients that may send requests",
            Option(
                "--client-ca FILE",
                "accept only clients whose certificate an authority in this file has signed, PEM (default: any)",
            ),
            Option(
                "--client-name NAME",
                "accept only clients whose certificate has this common name, DNS name, URI or email address",
                many=True,
                then=" (default: any)",
            ),
        ),
        OptionGroup(
            "logs and metrics",
            *_monitoring("", "as --host"),
            Option(
                "--log-allowed SHARE",
                "log this share of the reviews that are simply allowed, from 0 to 1 or as 1/100; refusals, warnings "
                "and changes are always logged (default: 0.01, with --dev 1)",
            ),
            *LOG,
        ),
        *ANSWERS,
    ),
    "manage-certificate": Command("manage the webhook's certificate in its cluster", *_managed(""), *LOG),
    "certs": Command(
        "make a certificate authority and a serving certificate",
        Option(
            "names NAME",
            "DNS names and IP addresses of the webhook (default: those of Service draguard in draguard-system, and of "
            "localhost)",
            number="*",
        ),
        Option("--dir --directory DIRECTORY", "the directory (default: %(default)s)", default="certs"),
        Option("--days DAYS", "how long the serving certificate is valid (default: 365)", type=int),
        Option("--ca-days DAYS", "how long a new authority is valid (default: 3650)", type=int),
        Option("--force", "replace existing files, also the authority's"),
        Option("--ca-bundle", "only print the certificate of the existing authority, in base64"),
    ),
    "completion": Command(
        "print a completion script for a shell",
        Option("shell SHELL", f"one of {', '.join(SHELLS)}", words=SHELLS),
        Option("line LINE", "print what completes this line instead, as the script asks", number="?"),
    ),
    "help": Command(
        "show the help of a command, or the manual page",
        Option("names COMMAND", "the command (default: list all commands)", number="*"),
        Option("--man", "print a manual page of all commands, for man"),
    ),
    "version": Command("print the version"),
}
"""The commands, in the order of the help."""


def variables() -> set[str]:
    """Return the variables that set an option of any command."""
    commands = (each for command in COMMANDS.values() for each in (command, *command.actions.values()))
    return {option.variable for each in commands if each.reads_variables for option in each.options} - {""}


PROGRAM: Final = Command(
    "checks Dynamic Resource Allocation (DRA) objects as the Kubernetes API server and scheduler do",
    Option("-V --version", "print the version and exit"),
    actions=COMMANDS,
)


def switches(stated: Mapping[str, bool]) -> list[str]:
    """Write feature gates or API versions, on or off, as their options take them."""
    return [f"{name}={str(on).lower()}" for name, on in stated.items()]


def labels(stated: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Write the labels of namespaces as their option takes them."""
    return [f"{space}={','.join(f'{key}={value}' for key, value in of.items())}" for space, of in stated.items()]


class OptionSources(NamedTuple):
    """The sources of the options' values.

    Args:
        configuration: The configuration file that :mod:`webhook.configuration.reading` has read; None if there is none.
        sources: The source of an option's value, by its name in the arguments; options with defaults are absent.
    """

    configuration: Any
    sources: dict[str, str]
