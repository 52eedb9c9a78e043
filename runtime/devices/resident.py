# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code that stays with the process: what gives results back, which outlive the programs that made them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import Lock

from ..foreign_types import CodeModule

_resident: dict[str, CodeModule] = {}
_lock = Lock()


class ResidentCode:
    """The code of the first program for a kind of device, which `load` loads once more; it is never unloaded."""

    def __init__(self, kind: str, load: Callable[[], CodeModule]) -> None:
        with _lock:
            if kind not in _resident:
                module = load()
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))  # after the interpreter's end too
                _resident[kind] = module
            self._module = _resident[kind]

    def address(self, name: str) -> int:
        """What a packed function says: where something of the code is."""
        return int(self._module.get_function(name)())
