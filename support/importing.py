# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports in several threads: detection of incomplete modules, and modules hidden from a thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_PACKAGE = __name__.partition(".")[0] + "."


def is_being_imported(name: str) -> bool:
    """Check whether a thread is importing a module. Other threads can see an incomplete module."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def imported_module() -> str | None:
    """Return the module of this project whose import runs the calling code, or None."""
    frame = sys._getframe(1)
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    name = str(frame.f_globals.get("__name__", ""))
    return name if name.startswith(_PACKAGE) and is_being_imported(name) else None


class _Hidden(threading.local):
    names: frozenset[str] = frozenset()


class _Finder:
    """Import finder that finds no module, and refuses the modules that are hidden from the thread."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name in _hidden.names:
            raise ModuleNotFoundError(f"{name} is hidden from this thread", name=name)
        return None


_hidden, _finder = _Hidden(), _Finder()


@contextmanager
def hidden_module(name: str) -> Iterator[None]:
    """Hide a module that is not imported yet from this thread, inside the `with` statement."""
    # Never remove the finder: an import in another thread would skip the next finder.
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    before = _hidden.names
    _hidden.names = before | {name}
    try:
        yield
    finally:
        _hidden.names = before
