"""Raw manifests under policies, as a kube-apiserver 1.36.3 answered.

Each case is judged as users would: ``draguard validate``, ``mutate`` and ``policy check`` with the case's policies and
the objects that were there before; deletions and subresources as the AdmissionReview that the API server sends.
"""

import gzip
import json
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.command import draguard

RECORDING: Final = Path(__file__).parent / "manifests-1.36.jsonl.gz"
RELEASE: Final = ("--kubernetes-version", "1.36")
UNRULED: Final = frozenset({"ConfigMap", "Secret", "Service", "Namespace"})
"""Kinds whose own validation draguard does not do."""
ADMIN: Final[dict[str, Any]] = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
IN_REVIEW: Final = "resourceclaims.resource.k8s.io"
_PARTS: Final = ("denied request: ", "json: ", "strict decoding error: ")
_VALUES: Final = {"TIME": '"2026-01-01T00:00:00Z"', "UID": '"0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9"'}
_PLACEHOLDER: Final = re.compile(r'"(TIME|UID)"')

Case = dict[str, Any]


@cache
def cases() -> tuple[Case, ...]:
    """Return the recorded cases."""
    with gzip.open(RECORDING, "rt", encoding="utf-8") as file:
        return tuple(json.loads(_PLACEHOLDER.sub(lambda found: _VALUES[found[1]], line)) for line in file)


def differences(case: Case) -> dict[str, list[str]]:
    """Return what differs from the record: of the ``verdict``, ``message``, ``mutation`` and ``types``."""
    with tempfile.TemporaryDirectory() as directory:
        asked = _Asked(case, Path(directory))
        found = {"types": list(asked.types())}
        if "verdict" in case and not asked.is_left_out:
            found |= asked.verdict()
            if case.get("changes") and not case.get("subresource"):
                found["mutation"] = list(asked.mutation())
    return found


class _Asked:
    """Files of one case, and what draguard says about them."""

    def __init__(self, case: Case, directory: Path) -> None:
        self._case, self._directory = case, directory
        self._policies = self._file("policies.yaml", case["policies"])
        self._setup = self._file("setup.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": case["setup"]}))
        self._manifest = self._file("manifest.yaml", case["manifest"])
        self._old = self._file("old.yaml", case["old"]) if case.get("old") else None
        self._options: list[str | Path] = ["--policies", self._policies, "--policies", self._setup]
        if "authorizer" in case:
            self._options += ["--authorizer", self._file("authorizer.json", json.dumps(case["authorizer"]))]

    def _file(self, name: str, text: str) -> Path:
        path = self._directory / name
        path.write_text(text, encoding="utf-8")
        return path

    @property
    def _is_review(self) -> bool:
        case = self._case
        return case["operation"] == "DELETE" or bool(case.get("subresource") and case.get("resource") != IN_REVIEW)

    @property
    def is_left_out(self) -> bool:
        """Whether draguard has no rules for what the server refused, or the server cannot decode a subresource."""
        verdict, manifest = self._case["verdict"], self._case["manifest"]
        if verdict["message"].startswith("PANIC") if "message" in verdict else False:
            return False
        if self._is_review and "seen" not in self._case and self._case["operation"] != "DELETE":
            return True
        if self._is_review and "MutatingAdmissionPolicy" in self._case["policies"]:
            return True
        causes = verdict.get("causes") or ()
        by_server = bool(causes) and all(reason for reason, _, _ in causes) and verdict["code"] == 422
        kind = next((line[6:].strip() for line in manifest.splitlines() if line.startswith("kind: ")), "")
        return by_server and kind in UNRULED

    @property
    def _sender(self) -> list[str]:
        user = self._case.get("user") or ADMIN
        groups = [each for each in user.get("groups", ()) if each != "system:authenticated"]
        return ["--as", user["username"], *(word for each in groups for word in ("--as-group", each))]

    @property
    def _namespace(self) -> list[str]:
        name = self._case["namespace"]
        return ["-n", name] if name not in {"", "default"} else []

    def verdict(self) -> dict[str, list[str]]:
        return self._reviewed() if self._is_review else self._validated()

    def _validated(self) -> dict[str, list[str]]:
        recorded = self._case["verdict"]
        more: list[str | Path] = ["--old", self._old] if self._old else []
        if self._case.get("subresource"):
            more += ["--subresource", self._case["subresource"]]
        if any(reason for reason, _, _ in recorded.get("causes") or ()):
            more.append("--all-pods")
        options = ("--no-config", *RELEASE, *self._sender, *self._namespace, *self._options, *more)
        done = draguard("validate", *options, "--output", "json", self._manifest)
        findings = json.loads(done.out)["findings"]
        errors = [each["message"] for each in findings if each["level"] == "error"]
        others = [each["message"] for each in findings if each["level"] != "error"]
        return self._compared(not errors, errors, others)

    def _reviewed(self) -> dict[str, list[str]]:
        review = self._file("review.json", json.dumps(self._admission_review()))
        done = draguard("review", *RELEASE, *self._options, review)
        response = json.loads(done.out)["response"]
        message = response.get("status", {}).get("message", "")
        causes = [each["message"] for each in response.get("status", {}).get("details", {}).get("causes", ())]
        return self._compared(response["allowed"], [message, *causes], response.get("warnings", []))

    def _compared(self, allowed: bool, errors: list[str], others: list[str]) -> dict[str, list[str]]:
        recorded = self._case["verdict"]
        found: dict[str, list[str]] = {"verdict": [], "message": []}
        if allowed != recorded["allowed"]:
            found["verdict"].append(f"allowed is {allowed}, for {recorded.get('message', '')!r}: {errors or others}")
            return found
        for text in [] if allowed else _words(recorded):
            if not any(text in each for each in errors):
                found["message"].append(f"not said: {text!r}: {errors}")
        said = [each.partition("': ")[2] for each in recorded.get("warnings", ()) if "ValidatingAdmission" in each]
        said += [each["message"] for each in _audited(self._case)]
        for text in said:
            if not any(text in each for each in (*errors, *others)):
                found["message"].append(f"not warned: {text!r}: {others}")
        return found

    def _admission_review(self) -> dict[str, Any]:
        case = self._case
        obj = case.get("seen")
        old = case.get("oldSeen") or case.get("oldStored") if case["operation"] in {"DELETE", "UPDATE"} else None
        home = case.get("oldStored") or obj or {}
        group, version, plural = self._resource(home)
        subject = obj or old or {}
        subject_group, _, subject_version = subject.get("apiVersion", "").rpartition("/")
        kind = {"group": subject_group, "version": subject_version, "kind": subject.get("kind", "")}
        resource = {"group": group, "version": version, "resource": plural}
        request: dict[str, Any] = {"uid": "0", "name": home.get("metadata", {}).get("name", ""), "dryRun": True}
        request |= {"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource}
        request |= {name: case[name] for name in ("namespace", "operation")} | {"object": obj, "oldObject": old}
        request["userInfo"] = case.get("user") or ADMIN
        if case.get("subresource"):
            request |= {"subResource": case["subresource"], "requestSubResource": case["subresource"]}
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}

    def _resource(self, home: dict[str, Any]) -> tuple[str, str, str]:
        group, _, version = home.get("apiVersion", "").rpartition("/")
        if self._case.get("resource"):
            plural, _, group = self._case["resource"].partition(".")
            return group, version, plural
        return group, version, home["kind"].lower() + "s"

    def mutation(self) -> Iterator[str]:
        """Compare what mutating policies changed, but for the server's defaults."""
        stored = self._case["verdict"]["stored"]
        options = (*RELEASE, *self._sender, *self._namespace, *self._options)
        done = draguard("mutate", *options, self._manifest)
        changed = yaml.safe_load(done.out)
        sent = yaml.safe_load(self._case["manifest"])
        paths = [_path(each["path"]) for each in self._case["changes"]]
        for path in paths:
            if path[0] != "status" and not _agrees(_at(changed, path), _at(stored, path)):
                yield f"{path}: {_at(changed, path)!r} is not {_at(stored, path)!r}"
        for path in _changes(sent, changed, ()):
            if not any(path[: len(each)] == each[: len(path)] for each in paths):
                yield f"{path} is changed to {_at(changed, path)!r}"

    def types(self) -> Iterator[str]:
        """Compare the results of the type checker, and what the server refused of policies."""
        done = draguard("policy", "check", "--no-config", *RELEASE, "--output", "json", self._policies, self._setup)
        findings = json.loads(done.out)["findings"]
        found = [(each["name"], each["field"], each["message"]) for each in findings]
        recorded = self._case.get("typeChecking") or {}
        for name, results in recorded.items():
            for each in results:
                text = _first_line(each["warning"])
                if not any((name, each["fieldRef"]) == one[:2] and text in one[2] for one in found):
                    yield f"not found: {name} {each['fieldRef']}: {text!r}"
        for each in findings:
            is_recorded = any(each["field"] == one["fieldRef"] for one in recorded.get(each["name"], ()))
            is_checked = "matchConditions" not in each["field"] and "'*'" not in self._case["policies"]
            if each["rule"] == "type-check" and is_checked and not is_recorded:
                yield f"not recorded: {each['name']} {each['field']}: {each['message']!r}"
        for each in self._case.get("refused", ()):
            for _, field, message in each["verdict"]["causes"]:
                if not any(field == one[1] and message.split("\n")[0] in one[2] for one in found):
                    yield f"not refused: {field}: {message!r}"


def _words(recorded: dict[str, Any]) -> list[str]:
    """Return the texts of a refusal that draguard has to say, too."""
    if recorded.get("causes"):
        return [message.rpartition("denied request: ")[2] for _, _, message in recorded["causes"]]
    message = recorded["message"]
    message = message.partition(" cannot be handled as a ")[2].partition(": ")[2] or message
    return [next((message.partition(part)[2] for part in _PARTS if part in message), message)]


def _audited(case: Case) -> Iterator[dict[str, Any]]:
    for value in (case.get("audit") or {}).values():
        if isinstance(value, list):
            yield from (each for each in value if isinstance(each, dict) and "message" in each)


def _first_line(warning: str) -> str:
    """Return the first line of a warning, without the kind and the place in the expression."""
    line = warning.split("\n", maxsplit=1)[0].partition("ERROR: <input>:")[2] or warning.split("\n", maxsplit=1)[0]
    return line.partition(": ")[2]


def _path(pointer: str) -> tuple[str, ...]:
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        if isinstance(value, list):
            index = -1 if part == "-" else int(part)
            value = value[index] if -len(value) <= index < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _agrees(ours: Any, stored: Any) -> bool:
    """Tell whether a value is as stored, but for what the server adds."""
    if isinstance(ours, dict) and isinstance(stored, dict):
        return all(name in stored and _agrees(each, stored[name]) for name, each in ours.items())
    if isinstance(ours, list) and isinstance(stored, list):
        return len(ours) == len(stored) and all(map(_agrees, ours, stored))
    return bool(ours == stored)


def _changes(old: Any, new: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            yield from _changes(old.get(name), new.get(name), (*path, name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new, strict=True)):
            yield from _changes(*pair, (*path, str(index)))
    elif old != new:
        yield path
