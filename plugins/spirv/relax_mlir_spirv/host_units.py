# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Units of the host library for Vulkan and OpenCL (host_library/), with tables of the functions that drivers lack."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).parent / "host_library"
_PREFIX = "__relax_"


class _Driver(NamedTuple):
    """Replacement of a driver's functions: the kind of device and the functions that copy to and from the device."""

    kind: str
    write: str
    read: str
    #: Functions that allocate and free memory, and the function that drops the memory of recorded commands, if any.
    take: str = "device_take_piece"
    give: str = "device_give_piece"
    forget: str | None = None


_VULKAN = _Driver("vulkan", "vulkan_write", "vulkan_read", "vulkan_take", "vulkan_give", "vulkan_forget")
_OPENCL = _Driver("opencl", "opencl_write", "opencl_write")
#: Functions of device_memory.mlir, with their operand types. Both drivers share them.
_SHARED = {
    "nothing": "!ptr", "take_piece": "!ptr, i64, !ptr", "give_piece": "!ptr, !ptr", "make_mark": "!ptr, i32",
    "between_marks": "!ptr, !ptr, !ptr", "end_mark": "!ptr",
}  # fmt: skip


def _table_text(driver: _Driver) -> str:
    """Return the text of a driver's function table and of the packed function that returns the table's address.

    The table fills slots 6 to 22 of DeviceTable (device.py). The functions that grow and drop chunks follow, then the
    function that forgets recorded commands. Two slots are null, because the table itself describes errors.
    """
    kind = driver.kind
    own = "launch copy finish mark grow drop".split()
    launch, copy, finish, mark, grow, drop = (f"{kind}_{name}" for name in own)
    nothing, _, _, make, between, end = (f"device_{name}" for name in _SHARED)
    memory, copies = (driver.take, driver.give), (driver.write, driver.read, copy, finish, finish)
    events = make, mark, nothing, between, end
    listed = [nothing, nothing, launch, *memory, *copies, None, None, *events, grow, drop, driver.forget]
    type_, lines = f"!llvm.array<{len(listed)} x ptr>", []
    for place, name in enumerate(listed):
        if name is None:
            lines.append(f"%p{place} = llvm.mlir.zero : !ptr")
        else:
            lines.append(f"%p{place} = llvm.mlir.addressof @{_PREFIX}{name} : !ptr")
        lines.append(f"%t{place + 1} = llvm.insertvalue %p{place}, %t{place}[{place}] : {type_}")
    shared = [f"llvm.func hidden @{_PREFIX}device_{name}({types}) -> i32\n" for name, types in _SHARED.items()]
    joined = "\n  ".join(lines)
    return f"""
{"".join(shared)}
llvm.mlir.global internal constant @{_PREFIX}{kind}_table() {{alignment = 8 : i64}} : {type_} {{
  %t0 = llvm.mlir.zero : {type_}
  {joined}
  llvm.return %t{len(listed)} : {type_}
}}
func.func @{_PREFIX}{kind}_functions(%table: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {{
  %ok = arith.constant 0 : i32  %int_kind = arith.constant 1 : i64
  %functions = llvm.mlir.addressof @{_PREFIX}{kind}_table : !ptr  %address = llvm.ptrtoint %functions : !ptr to i64
  %none = llvm.mlir.zero : !any  %with_kind = llvm.insertvalue %int_kind, %none[0] : !any
  %answer = llvm.insertvalue %address, %with_kind[1] : !any
  llvm.store %answer, %result : !any, !ptr
  return %ok : i32
}}
"""


def vulkan_units() -> list[str]:
    """Return the units of programs for Vulkan, in the order of their dependencies."""
    memory, commands, vulkan, graphs = map(_text, ("device_memory", "vulkan_commands", "vulkan", "vulkan_graphs"))
    return [memory, commands, vulkan + _table_text(_VULKAN), graphs]


def opencl_units() -> list[str]:
    """Return the units of programs for OpenCL."""
    return [_text("device_memory"), _text("opencl") + _table_text(_OPENCL)]


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.mlir").read_text(encoding="utf-8")
