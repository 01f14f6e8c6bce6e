"""Manifests for the same cluster: those of a directory, and of the directories above it.

A repository holds examples for several clusters side by side, and installs some objects by other means, such as a Helm
chart. An object is found wherever it is; a missing one is reported only where others of its kind are.
"""

from __future__ import annotations

from collections import defaultdict

from webhook.inventory import Inventory
from webhook.objects import JSONObject

SLICE = "ResourceSlice"
CLASS = "DeviceClass"


class Neighbours:
    """The directories that hold manifests, by kind."""

    def __init__(self) -> None:
        self._directories: defaultdict[str, set[str]] = defaultdict(set)
        self._files: defaultdict[str, set[str]] = defaultdict(set)
        self._objects: list[tuple[str, JSONObject]] = []
        self._names: list[tuple[str, str, str, str]] = []
        self._inventories: dict[frozenset[str], Inventory] = {}

    def note(self, file: str, obj: JSONObject) -> None:
        """Add a manifest."""
        directory, kind = file.rpartition("/")[0], str(obj.get("kind"))
        self._directories[kind].add(directory)
        self._files[kind].add(file)
        self._objects.append((directory, obj))

    def note_name(self, file: str, kind: str, name: str, namespace: str) -> None:
        """Add the name of an object that may be malformed, in a file."""
        directory = file.rpartition("/")[0]
        if kind == SLICE:
            self._directories[kind].add(directory)
        self._names.append((directory, kind, name, namespace))

    def beside(self, file: str, kind: str) -> bool:
        """Tell whether a file's manifests come with all objects of a kind that they need.

        A class is cluster-scoped, and usually installed with its driver: only a file with classes of its own is assumed
        to have all of them. For other kinds this holds for a directory, with those above it.
        """
        if kind == CLASS:
            return file in self._files.get(CLASS, ())
        return bool(self._above(file, kind))

    def inventory(self, file: str, whole: Inventory) -> Inventory:
        """Return the objects to which a file's manifests may refer: all but the devices of other clusters."""
        slices = self._above(file, SLICE)
        if slices == self._directories.get(SLICE, set()):
            return whole
        if slices not in self._inventories:
            found = self._inventories[slices] = Inventory()
            for directory, obj in self._objects:
                if obj.get("kind") != SLICE or directory in slices:
                    found.hold(obj)
            for directory, kind, *name in self._names:
                if kind != SLICE or directory in slices:
                    found.note(kind, *name)
        return self._inventories[slices]

    def _above(self, file: str, kind: str) -> frozenset[str]:
        known, directory = self._directories.get(kind, set()), file.rpartition("/")[0]
        found = {directory} & known
        while directory:
            directory = directory.rpartition("/")[0]
            found |= {directory} & known
        return frozenset(found)
