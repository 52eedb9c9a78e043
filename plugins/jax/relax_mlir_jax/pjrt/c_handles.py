# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handles of Python objects for C code.

C code can release a handle at any time. Examples are an unwinding Python exception, which a Python function would
lose, and the time after Python has ended. Therefore machine code releases handles, by adding them to a list. The next
call that creates an object clears the list. Frequent queries of each program call are machine code, too: a Python
function takes 1 to 2 us.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.execution import functions_of
from relax_mlir.bindings.mlir import ir

# A handle is the address of four words: the next list element, the number of additional memory holders, and two words
# that queries return. The functions take PJRT's arguments, with the handle as the third word, and return no error.
_CODE = """
llvm.mlir.global internal @list(0 : i64) : i64
llvm.func @let_go(%arguments: !llvm.ptr) -> !llvm.ptr {
  %none = llvm.mlir.zero : !llvm.ptr
  %zero = llvm.mlir.constant(0 : i64) : i64
  %list = llvm.mlir.addressof @list : !llvm.ptr
  %place = llvm.getelementptr %arguments[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %handle = llvm.load %place : !llvm.ptr -> i64
  %is_none = llvm.icmp "eq" %handle, %zero : i64
  llvm.cond_br %is_none, ^end, ^start
^start:
  %first = llvm.load %list : !llvm.ptr -> i64
  %node = llvm.inttoptr %handle : i64 to !llvm.ptr
  llvm.br ^again(%first : i64)
^again(%next: i64):
  llvm.store %next, %node : i64, !llvm.ptr
  %pair = llvm.cmpxchg %list, %next, %handle acq_rel monotonic : !llvm.ptr, i64
  %found = llvm.extractvalue %pair[0] : !llvm.struct<(i64, i1)>
  %is_done = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %is_done, ^end, ^again(%found : i64)
^end:
  llvm.return %none : !llvm.ptr
}
llvm.func @all() -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %list = llvm.mlir.addressof @list : !llvm.ptr
  %all = llvm.atomicrmw xchg %list, %zero acq_rel : !llvm.ptr, i64
  llvm.return %all : i64
}
llvm.func internal @count(%arguments: !llvm.ptr, %step: i64) -> !llvm.ptr {
  %place = llvm.getelementptr %arguments[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %node = llvm.load %place : !llvm.ptr -> !llvm.ptr
  %holders = llvm.getelementptr %node[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %before = llvm.atomicrmw add %holders, %step acq_rel : !llvm.ptr, i64
  %none = llvm.mlir.zero : !llvm.ptr
  llvm.return %none : !llvm.ptr
}
llvm.func @one_more(%arguments: !llvm.ptr) -> !llvm.ptr {
  %one = llvm.mlir.constant(1 : i64) : i64
  %none = llvm.call @count(%arguments, %one) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.return %none : !llvm.ptr
}
llvm.func @one_less(%arguments: !llvm.ptr) -> !llvm.ptr {
  %less = llvm.mlir.constant(-1 : i64) : i64
  %none = llvm.call @count(%arguments, %less) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.return %none : !llvm.ptr
}
llvm.func internal @told(%arguments: !llvm.ptr, %from: i64, %to: i64) {
  %place = llvm.getelementptr %arguments[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %node = llvm.load %place : !llvm.ptr -> !llvm.ptr
  %source = llvm.getelementptr %node[%from] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %word = llvm.load %source : !llvm.ptr -> i64
  %target = llvm.getelementptr %arguments[%to] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.store %word, %target : i64, !llvm.ptr
  llvm.return
}
llvm.func @first_word(%arguments: !llvm.ptr) -> !llvm.ptr {
  %from = llvm.mlir.constant(16 : i64) : i64
  %to = llvm.mlir.constant(24 : i64) : i64
  llvm.call @told(%arguments, %from, %to) : (!llvm.ptr, i64, i64) -> ()
  %none = llvm.mlir.zero : !llvm.ptr
  llvm.return %none : !llvm.ptr
}
llvm.func @second_word(%arguments: !llvm.ptr) -> !llvm.ptr {
  %from = llvm.mlir.constant(24 : i64) : i64
  llvm.call @told(%arguments, %from, %from) : (!llvm.ptr, i64, i64) -> ()
  %none = llvm.mlir.zero : !llvm.ptr
  llvm.return %none : !llvm.ptr
}
llvm.func @both_words(%arguments: !llvm.ptr) -> !llvm.ptr {
  %second = llvm.mlir.constant(24 : i64) : i64
  %to = llvm.mlir.constant(32 : i64) : i64
  llvm.call @told(%arguments, %second, %to) : (!llvm.ptr, i64, i64) -> ()
  %none = llvm.call @first_word(%arguments) : (!llvm.ptr) -> !llvm.ptr
  llvm.return %none : !llvm.ptr
}
llvm.func @call_back(%arguments: !llvm.ptr) -> !llvm.ptr {
  %place = llvm.getelementptr %arguments[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %function = llvm.load %place : !llvm.ptr -> !llvm.ptr
  %argument_place = llvm.getelementptr %arguments[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %argument = llvm.load %argument_place : !llvm.ptr -> !llvm.ptr
  %none = llvm.mlir.zero : !llvm.ptr
  llvm.call %function(%none, %argument) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %none : !llvm.ptr
}
llvm.func @nothing(%arguments: !llvm.ptr) -> !llvm.ptr {
  %none = llvm.mlir.zero : !llvm.ptr
  llvm.return %none : !llvm.ptr
}
llvm.func @let_go_event(%arguments: !llvm.ptr) -> !llvm.ptr {
  %place = llvm.getelementptr %arguments[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %node = llvm.load %place : !llvm.ptr -> !llvm.ptr
  %kept_place = llvm.getelementptr %node[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %kept = llvm.load %kept_place : !llvm.ptr -> i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %is_kept = llvm.icmp "ne" %kept, %zero : i64
  %none = llvm.mlir.zero : !llvm.ptr
  llvm.cond_br %is_kept, ^end(%none : !llvm.ptr), ^start
^start:
  %done = llvm.call @let_go(%arguments) : (!llvm.ptr) -> !llvm.ptr
  llvm.br ^end(%done : !llvm.ptr)
^end(%result: !llvm.ptr):
  llvm.return %result : !llvm.ptr
}
"""

# The first word of an event is 1 once it has happened without an error: no call of Python is needed then.
_EVENT_CODE = """
llvm.mlir.global internal @python_%(name)s() : !llvm.ptr {
  %%none = llvm.mlir.zero : !llvm.ptr
  llvm.return %%none : !llvm.ptr
}
llvm.func @%(name)s(%%arguments: !llvm.ptr) -> !llvm.ptr {
  %%place = llvm.getelementptr %%arguments[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %%node = llvm.load %%place : !llvm.ptr -> !llvm.ptr
  %%state_place = llvm.getelementptr %%node[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %%state = llvm.load %%state_place atomic acquire {alignment = 8} : !llvm.ptr -> i64
  %%one = llvm.mlir.constant(1 : i64) : i64
  %%has_happened = llvm.icmp "eq" %%state, %%one : i64
  llvm.cond_br %%has_happened, ^happened, ^open
^happened:
  %%none = llvm.call @%(then)s(%%arguments) : (!llvm.ptr) -> !llvm.ptr
  llvm.return %%none : !llvm.ptr
^open:
  %%python_place = llvm.mlir.addressof @python_%(name)s : !llvm.ptr
  %%python = llvm.load %%python_place : !llvm.ptr -> !llvm.ptr
  %%error = llvm.call %%python(%%arguments) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
  llvm.return %%error : !llvm.ptr
}
llvm.func @set_%(name)s(%%python: !llvm.ptr) {
  %%place = llvm.mlir.addressof @python_%(name)s : !llvm.ptr
  llvm.store %%python, %%place : !llvm.ptr, !llvm.ptr
  llvm.return
}
"""
_CODE += "".join(
    _EVENT_CODE % {"name": name, "then": then}
    for name, then in (("wait", "nothing"), ("error_of", "nothing"), ("on_ready", "call_back"))
)


class Stubs(NamedTuple):
    """Addresses of the machine code functions."""

    let_go: int
    all: int
    one_more: int
    one_less: int
    first_word: int
    second_word: int
    both_words: int
    call_back: int
    nothing: int
    let_go_event: int
    #: Functions of events, and setters of the Python functions for events that have not happened or have an error.
    wait: int
    error_of: int
    on_ready: int
    set_wait: int
    set_error_of: int
    set_on_ready: int


def _teller(names: Sequence[str]) -> str:
    """Return the code of a function that writes the addresses of others into an array."""
    lines = []
    for place, name in enumerate(names):
        lines.append(f"%at{place} = llvm.getelementptr %into[{8 * place}] : (!llvm.ptr) -> !llvm.ptr, i8")
        lines.append(f"%of{place} = llvm.mlir.addressof @{name} : !llvm.ptr")
        lines.append(f"llvm.store %of{place}, %at{place} : !llvm.ptr, !llvm.ptr")
    return "\n".join(["llvm.func @tell(%into: !llvm.ptr) {", *lines, "llvm.return", "}"])


_making = threading.Lock()


def stubs() -> Stubs:
    """Return the machine code, compiled once: two copies would have separate lists."""
    with _making:
        return _make()


@functools.lru_cache(maxsize=1)
def _make() -> Stubs:
    with new_context(("llvm",)):
        engine, found = functions_of(ir.Module.parse(_CODE + _teller(Stubs._fields)), "tell", len(Stubs._fields))
    for_ever(engine)
    return Stubs(*found)


def for_ever(held: object) -> None:
    """Keep an object alive for ever, even after Python has ended."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))


class Held:
    """Object with a handle for C code, valid from `hold` until C code releases it."""

    def __init__(self, first_word: int = 0, second_word: int = 0) -> None:
        self.node = (ctypes.c_size_t * 4)(0, 0, first_word, second_word)
        self.handle = ctypes.addressof(self.node)


#: Objects that C code holds, by handle.
held_by_handle: dict[int, Any] = {}
#: Released objects with memory that others still use.
_waiting: list[Held] = []
_clearing = threading.Lock()
_word = ctypes.c_size_t.from_address


def hold(thing: Held) -> int:
    held_by_handle[thing.handle] = thing
    return thing.handle


@functools.lru_cache(maxsize=1)
def _all() -> Callable[[], int]:
    return ctypes.PYFUNCTYPE(ctypes.c_size_t)(stubs().all)


def clear() -> None:
    """Release the objects that C code has released. If another thread is doing so, the next call releases the rest."""
    if not _clearing.acquire(blocking=False):
        return
    try:
        _clear()
    finally:
        _clearing.release()


def _clear() -> None:
    handle = _all()()
    if _waiting:
        _waiting[:] = [each for each in _waiting if each.node[1]]
    while handle:
        following = _word(handle).value
        if (thing := held_by_handle.pop(handle, None)) is not None and thing.node[1]:
            _waiting.append(thing)
        handle = following


class KeptMemory:
    """C arrays and strings that live as long as this object."""

    def __init__(self) -> None:
        self._kept: list[object] = []
        self._texts: dict[bytes, int] = {}

    def text(self, value: str | bytes) -> tuple[int, int]:
        """Return the address and length of a string."""
        data = value.encode() if isinstance(value, str) else value
        if data not in self._texts:
            buffer = ctypes.create_string_buffer(data, len(data) + 1)
            self._kept.append(buffer)
            self._texts[data] = ctypes.addressof(buffer)
        return self._texts[data], len(data)

    def array(self, kind: type[ctypes._SimpleCData[Any]], values: Sequence[object]) -> tuple[int, int]:
        made = (kind * max(1, len(values)))(*values)
        self._kept.append(made)
        return ctypes.addressof(made), len(values)


memory = KeptMemory()
for_ever(memory)
