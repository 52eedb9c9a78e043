# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device on which a fault ends one program, but not the process.

After a fault all calls of the driver fail with its message until the next program is loaded, which would be another
process on a real device.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from .driver import EmulatedCuda
from .driver_core import ILLEGAL_ADDRESS, SUCCESS, put


class Lasting(EmulatedCuda):
    """Emulated driver that continues after a fault with the next program."""

    _words: ctypes.Array[ctypes.c_char]

    def _answer(self, name: str, body: Callable[..., int | None], arguments: tuple[Any, ...]) -> int:
        if name == "cuModuleLoadDataEx":
            self.sticky = SUCCESS
            self.faults.clear()
        if name == "cuGetErrorString" and arguments[0] == ILLEGAL_ADDRESS and self.faults:
            self._words = ctypes.create_string_buffer(str(self.faults[0]).encode())
            put(arguments[1], ctypes.addressof(self._words))
            return SUCCESS
        return super()._answer(name, body, arguments)
