# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code that lives as long as the process. It releases results, which outlive the programs that computed them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import Lock

from ..code_functions import find_function
from ..foreign_types import CodeModule

_resident: dict[str, CodeModule] = {}
_lock = Lock()


class ResidentCode:
    """Code of the first program for a kind of device, which `load` loads once more. It is never unloaded."""

    def __init__(self, kind: str, load: Callable[[], CodeModule]) -> None:
        with _lock:
            if kind not in _resident:
                module = load()
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))  # also after the interpreter's end
                _resident[kind] = module
            self._module = _resident[kind]

    def address(self, name: str) -> int:
        """Return the address that a packed function returns: of an object in the code. Raise ArtifactError."""
        return int(find_function(self._module, name)())
