"""Files that test suites name, relative to themselves: objects, objects that policies read, and policies."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from webhook.documents import Document, Unreadable, read
from webhook.engine.cases import SuiteError, SuiteErrors
from webhook.objects import JSONObject
from webhook.policy.evaluation.policyset import Given
from webhook.problem import Path


class SuiteFiles:
    """A suite in which the names of files are replaced by their content.

    Raises:
        SuiteError: A file cannot be read, or has the wrong content.
    """

    def __init__(self, suite: Document) -> None:
        self._directory = os.path.dirname(suite.source)
        self.data: JSONObject = dict(suite.data)
        errors = SuiteErrors()
        if isinstance(objects := self.data.get("objects"), dict):
            self.data["objects"] = {**objects}
            for name in (name for name, each in objects.items() if isinstance(each, str)):
                with errors.collected():
                    self.data["objects"][name] = self._object(objects[name], Path(("objects", name)))
        with errors.collected():
            self.data |= self._context(self.data, Path())
        if isinstance(cases := self.data.get("cases"), list):
            self.data["cases"] = [*cases]
            for index, case in enumerate(cases):
                with errors.collected():
                    if isinstance(case, dict):
                        self.data["cases"][index] = {**case, **self._context(case, Path(("cases", index)))}
        errors.expect_none()

    def policies(self, beside: Sequence[Document]) -> list[Given]:
        """Return the policies that the suite tests: the manifests that it names, or those beside it."""
        named = self.data.get("policies")
        if named is None:
            return [Given(document.data, document) for document in beside]
        if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
            raise SuiteError(Path(("policies",)), "must be a list of files and directories")
        errors, found = SuiteErrors(), list[Given]()
        for index, name in enumerate(named):
            with errors.collected():
                found += (Given(each.data, each) for each in self._read(name, Path(("policies", index))))
        errors.expect_none()
        return found

    def _object(self, name: str, where: Path) -> JSONObject:
        found = list(self._read(name, where))
        if len(found) != 1 or not isinstance(found[0].data, dict):
            raise SuiteError(where, f"{name} holds {len(found)} objects: name a file with one")
        return found[0].data

    def _context(self, fields: JSONObject, where: Path) -> JSONObject:
        context = fields.get("context")
        if not isinstance(context, list):
            return {}
        found: list[Any] = []
        for index, each in enumerate(context):
            path = where / "context" / index
            found += (document.data for document in self._read(each, path)) if isinstance(each, str) else [each]
        return {"context": found}

    def _read(self, name: str, where: Path) -> Iterator[Document]:
        if os.path.isabs(name):
            raise SuiteError(where, f"{name}: give a name relative to the suite")
        file = os.path.normpath(os.path.join(self._directory, name))
        if not os.path.isfile(file) and not os.path.isdir(file):
            raise SuiteError(where, f"file {file} does not exist")
        for document in read([file]):
            if isinstance(document, Unreadable):
                place = f"{document.source}:{document.line}" if document.line else document.source
                raise SuiteError(where, f"{place}: {document.message}")
            yield document
