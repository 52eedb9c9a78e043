# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Implementations of the table's functions, and errors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from relax_mlir.support.errors import OptionError, RelaxError

from ..jax_exit import begin, end
from .api import ARGUMENTS, NAMES
from .c_handles import Held, KeptMemory, for_ever, held_by_handle, hold, memory, stubs

#: Function that takes the argument structure and the object of the call.
Entry = Callable[[ctypes.Structure, Any], None]
_INVALID, _UNIMPLEMENTED, _INTERNAL = 3, 12, 13
entries: dict[str, Entry] = {}


class NotHere(Exception):
    """Feature that this platform does not support."""


class Error(Held):
    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self._memory = KeptMemory()
        self.text = self._memory.text(str(raised) or repr(raised))
        kinds = {OptionError: _INVALID, ValueError: _INVALID, TypeError: _INVALID}
        kinds |= {RelaxError: _UNIMPLEMENTED, NotHere: _UNIMPLEMENTED}
        self.code = next((code for kind, code in kinds.items() if isinstance(raised, kind)), _INTERNAL)


def entry(*names: str) -> Callable[[Entry], Entry]:
    """Register a function in the table under these names."""

    def declare(function: Entry) -> Entry:
        entries.update(dict.fromkeys(names, function))
        return function

    return declare


def gives(name: str, **fields: object) -> None:
    """Register a function that writes fields. A value is constant, or a function of the object of the call."""
    made = {field: each if callable(each) else (lambda held, each=each: each) for field, each in fields.items()}

    def write(arguments: ctypes.Structure, held: Any) -> None:
        for field, give in made.items():
            setattr(arguments, field, give(held))

    entries[name] = write


def gives_text(name: str, value: str | Callable[[Any], str]) -> None:
    def write(arguments: ctypes.Structure, held: Any) -> None:
        arguments.text, arguments.size = memory.text(value(held) if callable(value) else value)

    entries[name] = write


def gives_list(name: str, value: Callable[[Any], tuple[int, int]]) -> None:
    def write(arguments: ctypes.Structure, held: Any) -> None:
        arguments.items, arguments.count = value(held)

    entries[name] = write


_WITHOUT_RESULT = frozenset({"Error_Destroy", "Error_Message"})


def functions() -> dict[str, int]:
    """Return the addresses for the table, by name."""
    code = stubs()
    found = {name: code.let_go for name in NAMES if name.endswith("_Destroy")}
    # These live as long as the process. An executable is released as a loaded executable.
    for name in ("Client", "Executable", "TopologyDescription"):
        found[f"{name}_Destroy"] = code.nothing
    found |= {"Plugin_Initialize": code.nothing, "Event_IsReady": code.first_word, "Event_Destroy": code.let_go_event}
    for name, function, set_python in (
        ("Event_Await", code.wait, code.set_wait),
        ("Event_Error", code.error_of, code.set_error_of),
        ("Event_OnReady", code.on_ready, code.set_on_ready),
    ):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(set_python)(_address(name, entries[name]))
        found[name] = function
    found["Buffer_IncreaseExternalReferenceCount"] = code.one_more
    found["Buffer_DecreaseExternalReferenceCount"] = code.one_less
    found |= {"Buffer_Device": code.first_word, "Buffer_Memory": code.second_word, "Memory_Kind": code.both_words}
    found |= {"Executable_NumOutputs": code.first_word}
    found |= dict.fromkeys(["Executable_NumReplicas", "Executable_NumPartitions"], code.second_word)
    return {name: found.get(name) or _address(name, entries.get(name)) for name in NAMES}


def _address(name: str, function: Entry | None) -> int:
    has_result = name not in _WITHOUT_RESULT
    made = ctypes.CFUNCTYPE(ctypes.c_void_p if has_result else None, ctypes.c_void_p)(_wrap(name, function))
    for_ever(made)
    return ctypes.cast(made, ctypes.c_void_p).value or 0


def _wrap(name: str, function: Entry | None) -> Callable[[int], int | None]:
    if function is None:

        def refuse(address: int) -> int | None:
            return hold(Error(NotHere(f"the platform relax has no PJRT_{name}")))

        return refuse
    structure = ARGUMENTS[name]
    is_asked = "of" in {field[0] for field in structure._fields_}
    read: Any = structure.from_address

    def call(address: int) -> int | None:
        begin()
        try:
            arguments = read(address)
            function(arguments, held_by_handle.get(arguments.of) if is_asked else None)
        except BaseException as raised:  # no exception may pass through C code
            return hold(Error(raised))
        finally:
            end()
        return None

    return call


# ---- errors and events ----


@entry("Error_Message")
def _message(arguments: ctypes.Structure, error: Error) -> None:
    arguments.text, arguments.size = error.text


gives("Error_GetCode", code=lambda error: error.code)
