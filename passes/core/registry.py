# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pass by name. This project's are found by file name, and imported when they are used."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TypeVar

from ...support.errors import RelaxError
from ...support.plugins import load_plugins
from ...support.registry import Registry
from .base import Pass

_PASSES = Registry[type[Pass]](
    lambda cls: (cls.name,),
    lambda cls, taken: f"pass '{cls.name}' is registered twice: by {taken.__module__} and by {cls.__module__}",
    place=lambda cls: f"{cls.__module__}.{cls.__qualname__}",
)
#: Folders of this project that hold one pass a file, named after the pass, and the packages that they are.
_FOLDERS: list[tuple[Path, str, tuple[str, ...]]] = [
    (Path(__file__).parent.parent, __name__.rsplit(".", 2)[0], ("relax_", "tir_"))
]

PassClass = TypeVar("PassClass", bound=type[Pass])


def register_pass(cls: PassClass) -> PassClass:
    """Makes a pass known by its name; use it as a decorator. Refuses a name that is taken."""
    name = cls.name
    if not name or not all(char.isalnum() or char in "-_." for char in name):
        raise RelaxError(f"{cls.__name__}.name = '{name}' is no pass name: letters, digits, '-', '_' and '.' only")
    own_module = own_pass_files().get(name, cls.__module__)
    if own_module != cls.__module__:
        raise RelaxError(f"pass '{name}' is registered twice: by {own_module} and by {cls.__module__}")
    if not (cls.__doc__ or "").strip():
        raise RelaxError(f"pass '{name}' has no doc string: its first line is what --help prints")
    _PASSES.add([cls])
    return cls


def add_pass_folder(folder: Path, package: str, prefix: str) -> None:
    """Passes of a target stand in its own folder; their names begin with its prefix."""
    _FOLDERS.append((folder, package, (prefix,)))


def own_pass_files() -> dict[str, str]:
    """The passes of this project: name -> module. One pass a file, named after the pass."""
    return {
        path.stem.replace("_", "-"): f"{package}.{path.stem}"
        for folder, package, prefixes in _FOLDERS
        for prefix in prefixes
        for path in sorted(folder.glob(f"{prefix}*.py"))
    }


def find_pass(name: str) -> type[Pass] | None:
    """The pass of this name; plug-ins that announce it are imported. None when nobody has it."""
    if not _PASSES.tried(name):
        module = own_pass_files().get(name)
        if module:
            importlib.import_module(module)
        elif load_plugins("pass", name) and not _PASSES.tried(name):
            raise RelaxError(f"a plug-in announces the pass '{name}', but does not register it")
    return next(iter(_PASSES.tried(name)), None)


def all_passes() -> dict[str, type[Pass]]:
    """Every registered pass, this project's and plug-ins' included, sorted by name."""
    for module in own_pass_files().values():
        importlib.import_module(module)
    load_plugins("pass")
    return {cls.name: cls for cls in _PASSES.all()}
