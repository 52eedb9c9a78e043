# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports beside other threads: modules that are not complete yet, and modules that one thread is not to find."""

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
    """Check whether some thread is importing a module, which other threads see before the module is complete."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def imported_module() -> str | None:
    """Return the name of this project's module that the calling code is imported with; None if there is none."""
    frame = sys._getframe(1)
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    name = str(frame.f_globals.get("__name__", ""))
    return name if name.startswith(_PACKAGE) and is_being_imported(name) else None


class _Hidden(threading.local):
    names: frozenset[str] = frozenset()


class _Finder:
    """A finder that finds nothing, and refuses the modules that are hidden from the thread."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name in _hidden.names:
            raise ModuleNotFoundError(f"{name} is hidden from this thread", name=name)
        return None


_hidden, _finder = _Hidden(), _Finder()


@contextmanager
def hidden_module(name: str) -> Iterator[None]:
    """Inside, this thread does not find a module that nobody has imported yet."""
    # The finder stays: where one is removed, an import in another thread skips the next finder.
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    before = _hidden.names
    _hidden.names = before | {name}
    try:
        yield
    finally:
        _hidden.names = before
