# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Units of the library (library/) and their functions, for the programs that declare and call them.

Every program needs support.mlir. The other files are optional units, compiled only for the programs that need them. All
programs of a process share the thread pool (pool.mlir), hence the pool is an object of its own. The file prelude.mlir
holds the types and C functions that several files use; each unit begins with it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ...bindings.context import new_context
from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, has_body, operations_of, symbol_name
from ...dialects.core.ir_attributes import ENTRY
from .flush_modes import keep_text

#: Every program needs the first file. Each file depends only on files before it.
_FILES = (
    "support.mlir", "kept.mlir", "calls.mlir", "native_calls.mlir", "device.mlir", "device_tensors.mlir",
    "device_calls.mlir", "device_profile.mlir", "cuda_recording.mlir", "cuda_graphs.mlir",
    "device_tensor_maps.mlir", "device_memory.mlir", "vulkan_commands.mlir", "vulkan.mlir",
    "vulkan_graphs.mlir", "opencl.mlir",
)  # fmt: skip
_PREFIX = "__relax_"
_FOLDER = Path(__file__).parent / "library"


class LibraryFunction(NamedTuple):
    """Library function that programs may call."""

    inputs: tuple[str, ...]
    result: str
    #: True if programs contain a copy of the function; then no unit defines it.
    is_copied: bool = False

    @property
    def type(self) -> str:
        return f"!llvm.func<{self.result} ({', '.join(self.inputs)})>"


class _Unit(NamedTuple):
    functions: dict[str, LibraryFunction]
    #: Names of the functions that other units define.
    declared: frozenset[str]


@lru_cache(maxsize=1)
def unit_texts() -> tuple[str, ...]:
    """Return the texts of the units.

    Their functions are visible only to the other units of a program. The first unit is the one that every program
    needs.
    """
    return tuple(map(_text, _FILES))


def _text(name: str) -> str:
    text = "".join((_FOLDER / each).read_text(encoding="utf-8") for each in ("prelude.mlir", name))
    return text + driver_table_text(_DRIVERS[name]) if name in _DRIVERS else text


class DeviceFunctions(NamedTuple):
    """Replacement of a driver's functions: the kind of device and the functions that copy to and from the device."""

    kind: str
    write: str
    read: str
    #: Functions that allocate and free memory, and the function that drops the memory of recorded commands, if any.
    take: str = "device_take_piece"
    give: str = "device_give_piece"
    forget: str | None = None


#: Drivers by the file that contains them.
_DRIVERS = {
    "vulkan.mlir": DeviceFunctions(
        "vulkan", "vulkan_write", "vulkan_read", "vulkan_take", "vulkan_give", "vulkan_forget"
    ),
    "opencl.mlir": DeviceFunctions("opencl", "opencl_write", "opencl_write"),
}
#: Functions of device_memory.mlir, with their operand types. All drivers share them.
_SHARED = {
    "nothing": "!ptr", "take_piece": "!ptr, i64, !ptr", "give_piece": "!ptr, !ptr", "make_mark": "!ptr, i32",
    "between_marks": "!ptr, !ptr, !ptr", "end_mark": "!ptr",
}  # fmt: skip


def driver_table_text(driver: DeviceFunctions) -> str:
    """Return the text of a driver's function table and of the packed function that returns the table's address.

    The table fills slots 6 to 22 of the table in device.mlir. The functions that grow and drop chunks follow, then the
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


#: Spin-wait hint (pause) of a processor, by LLVM's architecture name.
_PAUSES = {
    "x86_64": 'llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()',
    "aarch64": "%yield = llvm.mlir.constant(1 : i32) : i32\n"
    '  llvm.call_intrinsic "llvm.aarch64.hint"(%yield) : (i32) -> ()',
}


def pool_text(architecture: str) -> str:
    """Return the thread pool for processors of an architecture."""
    own = {"pause": _PAUSES.get(architecture, ""), "keep_denormals": keep_text(architecture)}
    functions = (
        f"func.func private @{name}() attributes {{llvm.always_inline}} {{\n  {text}\n  return\n}}\n"
        for name, text in own.items()
    )
    return "\n".join((_text("pool.mlir"), *functions))


@lru_cache(maxsize=1)
def copied_text() -> str:
    """Return the functions that every program contains itself, with declarations of the functions they call."""
    return (_FOLDER / "copied.mlir").read_text(encoding="utf-8")


def find_function(name: str) -> LibraryFunction | None:
    """Return the library function of a symbol, or None.

    Only units that mention the name are parsed, until one defines it.
    """
    if name in _copied():
        return _copied()[name]
    place = _place_of(name)
    return None if place is None else _unit(place).functions[name]


def needed_texts(module: Operation) -> list[str]:
    """Return the units that define the functions a module declares, and the units that these depend on."""
    needed = {place for each in declared_in(module) if (place := _place_of(symbol_name(each))) is not None}
    if not needed:
        return []
    for place in reversed(range(len(_FILES))):
        if place in needed:
            needed |= {other for name in _unit(place).declared if (other := _place_of(name)) is not None}
    return [text for place, text in enumerate(unit_texts()) if place in {0, *needed}]


def declared_in(module: Operation) -> list[Operation]:
    """Return the library functions that a module declares."""
    functions = [op for op in operations_of(body_of(module)) if op.name == "llvm.func" and not has_body(op)]
    return [each for each in functions if _place_of(symbol_name(each)) is not None]


@lru_cache(maxsize=1024)
def _place_of(name: str) -> int | None:
    if not name.startswith(_PREFIX):
        return None
    # Parsing a unit takes longer than a search for the name in its text.
    texts = enumerate(unit_texts())
    return next((place for place, text in texts if name in text and name in _unit(place).functions), None)


@lru_cache(maxsize=1)
def _copied() -> dict[str, LibraryFunction]:
    return {name: each._replace(is_copied=True) for name, each in _read(copied_text()).functions.items()}


@lru_cache(maxsize=len(_FILES))
def _unit(place: int) -> _Unit:
    return _read(unit_texts()[place])


def _read(text: str) -> _Unit:
    with new_context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True  # this project's dialects need not be loaded
        module = ir.Module.parse(text)
        functions = [op for op in operations_of(module.body) if op.name in ("func.func", "llvm.func")]
        return _Unit(
            {symbol_name(op): _function(op) for op in functions if has_body(op)},
            frozenset(symbol_name(op) for op in functions if not has_body(op)),
        )


def _function(op: Operation) -> LibraryFunction:
    """Return a function as programs see it. A function that can fail returns its status (host-lower-errors)."""
    type_ = ir.TypeAttr(op.attributes["function_type"]).value
    if op.name == "llvm.func":
        result = str(type_.return_type).replace("!llvm.void", "void")
    else:
        results = ["i32"] if ENTRY in op.attributes else list(map(str, type_.results))
        result = f"!llvm.struct<({', '.join(results)})>" if len(results) > 1 else "".join(results) or "void"
    return LibraryFunction(tuple(map(str, type_.inputs)), result)
