# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the LLVM dialect that time calls of kernels while somebody asks for it.

The code holds a table of i64: nanoseconds of all calls so far, then calls and nanoseconds for each place in turn. A
call's time is without that of calls which it makes in turn: the clock that is read stands still for what is already
in the table. Only the thread that has switched profiling on is timed, so that others neither disturb nor race.
While nobody asks, a call of a kernel costs two loads and branches that are not taken.
"""

from __future__ import annotations

from typing import Any

from . import abi
from .llvm_text import PTR, FunctionText, merge
from .packed_fail import fail, fail_type
from .support import DECLARATIONS

#: `i64 ()`: a time to hand to END after the kernel; 0 where nobody asks.
BEGIN = "__relax_profile_begin"
#: `(i64 place, i64 time)`: adds the time since BEGIN to a place in the table.
END = "__relax_profile_end"
#: For the runtime: switches profiling on (1) and off (0) for the thread that calls; gives the table's address.
SWITCH = "__relax_profile"
_THREAD, _TABLE, _CLOCK, _ADD = "__relax_profiled_thread", "__relax_profile_table", "__relax_clock", "__relax_add_time"

#: In a function with more places, the branches take longer to compile than all else; a call costs a nanosecond more.
_MOST_INLINED = 200
_FAST = 'attributes {passthrough = ["@INLINING"]}'
_COLD = 'attributes {passthrough = ["cold", "noinline"]}'
_MONOTONIC = 1  # CLOCK_MONOTONIC on Linux


def add_profiler(module: Any, places: int) -> None:
    """Adds BEGIN, END, SWITCH, and a table for so many places."""
    functions = _FUNCTIONS.replace("@INLINING", "alwaysinline" if places <= _MOST_INLINED else "noinline")
    merge(module, DECLARATIONS + _globals(places) + functions + _switch())


def _globals(places: int) -> str:
    table = f"!llvm.array<{1 + 2 * places} x i64>"
    return f"""
llvm.func @clock_gettime(i32, {PTR}) -> i32
llvm.func @pthread_self() -> i64
llvm.mlir.global internal @{_THREAD}(0 : i64) {{addr_space = 0 : i32, alignment = 8 : i64}} : i64
llvm.mlir.global internal @{_TABLE}() {{addr_space = 0 : i32, alignment = 8 : i64}} : {table} {{
  %zero = llvm.mlir.zero : {table}
  llvm.return %zero : {table}
}}
"""


# The loads of _THREAD are atomic since any thread may write it, and so that none is taken for another.
_FUNCTIONS = f"""
llvm.func internal @{BEGIN}() -> i64 {_FAST} {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %at = llvm.mlir.addressof @{_THREAD} : {PTR}
  %thread = llvm.load %at atomic monotonic {{alignment = 8 : i64}} : {PTR} -> i64
  %off = llvm.icmp "eq" %thread, %c0 : i64
  llvm.cond_br %off weights([2000, 1]), ^end(%c0 : i64), ^on
^on:
  %time = llvm.call @{_CLOCK}(%thread) : (i64) -> i64
  llvm.br ^end(%time : i64)
^end(%result: i64):
  llvm.return %result : i64
}}
llvm.func internal @{END}(%place: i64, %start: i64) {_FAST} {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %at = llvm.mlir.addressof @{_THREAD} : {PTR}
  %thread = llvm.load %at atomic monotonic {{alignment = 8 : i64}} : {PTR} -> i64
  %off = llvm.icmp "eq" %thread, %c0 : i64
  llvm.cond_br %off weights([2000, 1]), ^end, ^on
^on:
  llvm.call @{_ADD}(%place, %start, %thread) : (i64, i64, i64) -> ()
  llvm.br ^end
^end:
  llvm.return
}}
llvm.func internal @{_CLOCK}(%thread: i64) -> i64 {_COLD} {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %giga = llvm.mlir.constant(1000000000 : i64) : i64
  %monotonic = llvm.mlir.constant({_MONOTONIC} : i32) : i32
  %time = llvm.alloca %c1 x !llvm.struct<(i64, i64)> {{alignment = 8 : i64}} : (i64) -> {PTR}
  %own = llvm.call @pthread_self() : () -> i64
  %mine = llvm.icmp "eq" %own, %thread : i64
  llvm.cond_br %mine, ^read, ^other
^other:
  llvm.return %c0 : i64
^read:
  %status = llvm.call @clock_gettime(%monotonic, %time) : (i32, {PTR}) -> i32
  %seconds = llvm.load %time : {PTR} -> i64
  %behind = llvm.getelementptr %time[8] : ({PTR}) -> {PTR}, i8
  %nanoseconds = llvm.load %behind : {PTR} -> i64
  %whole = llvm.mul %seconds, %giga : i64
  %now = llvm.add %whole, %nanoseconds : i64
  %table = llvm.mlir.addressof @{_TABLE} : {PTR}
  %counted = llvm.load %table : {PTR} -> i64
  %shown = llvm.sub %now, %counted : i64
  llvm.return %shown : i64
}}
llvm.func internal @{_ADD}(%place: i64, %start: i64, %thread: i64) {_COLD} {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %now = llvm.call @{_CLOCK}(%thread) : (i64) -> i64
  %begun = llvm.icmp "ne" %start, %c0 : i64
  %mine = llvm.icmp "ne" %now, %c0 : i64
  %both = llvm.and %begun, %mine : i1
  llvm.cond_br %both, ^add, ^end
^add:
  %spent = llvm.sub %now, %start : i64
  %table = llvm.mlir.addressof @{_TABLE} : {PTR}
  %all = llvm.load %table : {PTR} -> i64
  %more = llvm.add %all, %spent : i64
  llvm.store %more, %table : i64, {PTR}
  %twice = llvm.add %place, %place : i64
  %index = llvm.add %twice, %c1 : i64
  %row = llvm.getelementptr %table[%index] : ({PTR}, i64) -> {PTR}, i64
  %calls = llvm.load %row : {PTR} -> i64
  %next = llvm.add %calls, %c1 : i64
  llvm.store %next, %row : i64, {PTR}
  %at = llvm.getelementptr %row[8] : ({PTR}) -> {PTR}, i8
  %before = llvm.load %at : {PTR} -> i64
  %after = llvm.add %before, %spent : i64
  llvm.store %after, %at : i64, {PTR}
  llvm.br ^end
^end:
  llvm.return
}}
"""


def _switch() -> str:
    parameters = [("%handle", PTR), ("%args", PTR), ("%count", "i32"), ("%result", PTR)]
    code = FunctionText(abi.EXPORT_PREFIX + SWITCH, parameters, "i32")
    one = code.compare("eq", "%count", code.constant(1, "i32"), "i32")
    code.require(one, fail(code, "type", f"{SWITCH}: expected 1 to switch on or 0 to switch off"))
    index = code.load("%args", 0, "i32")
    is_int = code.compare("eq", index, code.constant(abi.INT, "i32"), "i32")
    code.require(is_int, fail_type(code, f"{SWITCH}: expected an int, got %.*s", index))
    wanted = code.load("%args", abi.ANY_PAYLOAD, "i64")
    off = code.compare("eq", wanted, code.constant(0))
    thread = code.call("pthread_self", [], "i64")
    value = code.value(f"llvm.select {off}, {code.constant(0)}, {thread} : i1, i64")
    slot = code.address_of(_THREAD)
    code.line(f"llvm.store {value}, {slot} atomic monotonic {{alignment = 8 : i64}} : i64, {PTR}")
    address = code.value(f"llvm.ptrtoint {code.address_of(_TABLE)} : {PTR} to i64")
    code.store(code.constant(abi.INT), "i64", "%result")
    code.store(address, "i64", "%result", abi.ANY_PAYLOAD)
    code.line(f"llvm.return {code.constant(0, 'i32')} : i32")
    return code.render()
