# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of passes by name. This project's passes are found by file name and imported on use."""

from __future__ import annotations

import functools
import importlib
import os
from pathlib import Path
from typing import TypeVar

from ...support.argument_types import types_checked
from ...support.errors import RelaxError
from ...support.registry import NamedRegistry
from .base import Pass
from .options import take_text

_PASSES_FOLDER, _PACKAGE = Path(__file__).parent.parent, __name__.rsplit(".", 2)[0]
#: Folders with one pass per file, named after the pass: path, package, and file name prefixes.
_FOLDERS: list[tuple[Path, str, tuple[str, ...]]] = [
    (_PASSES_FOLDER / floor, f"{_PACKAGE}.{floor}", ("relax_", "tir_")) for floor in ("graph", "kernels", "memory")
]

PassClass = TypeVar("PassClass", bound=type[Pass])


def _import_own(name: str | None) -> None:
    own = own_pass_files()
    for module in own.values() if name is None else (own[name],) if name in own else ():
        importlib.import_module(module)


_PASSES = NamedRegistry[type[Pass]]("a pass", source=_import_own, plugins="pass")


def register_pass(cls: PassClass) -> PassClass:
    """Register a pass class by name, as a decorator. Raise RelaxError for an invalid or taken name."""
    if not isinstance(cls, type) or not issubclass(cls, Pass):
        raise RelaxError(f"register_pass is for subclasses of rx.Pass, got {cls!r}")
    name = cls.name
    if not name or not all(char.isalnum() or char in "-_." for char in name):
        raise RelaxError(f"{cls.__name__}.name = '{name}' is no pass name: letters, digits, '-', '_' and '.' only")
    if (own_module := own_pass_files().get(name, cls.__module__)) != cls.__module__:
        raise RelaxError(f"there is a pass '{name}' already: {own_module}")
    if not (cls.__doc__ or "").strip():
        raise RelaxError(f"pass '{name}' has no doc string: its first line is what --help prints")
    take_text(cls)
    _PASSES.register(name, cls)
    return cls


def add_pass_folder(folder: Path, package: str, prefix: str) -> None:
    """Add a folder with a target's passes, whose names begin with the prefix."""
    _FOLDERS.append((folder, package, (prefix,)))


def own_pass_files() -> dict[str, str]:
    """Return this project's passes: name -> module. Each file holds one pass and is named after it."""
    return _passes_in(tuple(_FOLDERS))


@functools.cache
def _passes_in(folders: tuple[tuple[Path, str, tuple[str, ...]], ...]) -> dict[str, str]:
    return {
        name[:-3].replace("_", "-"): f"{package}.{name[:-3]}"
        for folder, package, prefixes in folders
        for name in sorted(os.listdir(folder))  # reads each folder once; `Path.glob` takes 20 times as long
        if name.endswith(".py") and name.startswith(prefixes)
    }


@types_checked
def find_pass(name: str) -> type[Pass] | None:
    """Return the pass of a name, or None. Plug-ins that announce the name are imported."""
    found = _PASSES.find(name)
    return None if found is None else found.thing


def all_passes() -> dict[str, type[Pass]]:
    """Return all registered passes, including plug-ins', sorted by name."""
    return {each.name: each.thing for each in _PASSES.all()}
