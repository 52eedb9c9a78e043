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
    "device_tensor_maps.mlir",
)  # fmt: skip
_PREFIX = "__relax_"
_FOLDER = Path(__file__).parent / "library"
#: Texts of the units of other packages.
_registered: dict[str, None] = {}


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
    return tuple(_file("prelude.mlir") + unit for unit in (*map(_file, _FILES), *_registered))


def register_library(*units: str) -> None:
    """Add units for a kind of device to the library, in the module that registers the target of the kind's name.

    A unit is MLIR text that follows prelude.mlir, and may call functions of earlier units. A packed function
    `__relax_KIND_functions` returns the address of replacements of CUDA's driver functions (device.mlir).
    `__relax_KIND_graph_begin`, `_end` and `_leave` launch recorded graphs (cuda_graphs.mlir). All are optional.
    """
    _registered.update(dict.fromkeys(units))
    unit_texts.cache_clear()
    _place_of.cache_clear()


def _file(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


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
    return "\n".join((_file("prelude.mlir") + _file("pool.mlir"), *functions))


@lru_cache(maxsize=1)
def copied_text() -> str:
    """Return the functions that every program contains itself, with declarations of the functions they call."""
    return _file("copied.mlir")


def find_function(name: str) -> LibraryFunction | None:
    """Return the library function of a symbol, or None.

    Only units that mention the name are parsed, until one defines it.
    """
    if name in _copied():
        return _copied()[name]
    place = _place_of(name)
    return None if place is None else _unit(unit_texts()[place]).functions[name]


def needed_texts(module: Operation) -> list[str]:
    """Return the units that define the functions a module declares, and the units that these depend on."""
    needed = {place for operation in declared_in(module) if (place := _place_of(symbol_name(operation))) is not None}
    if not needed:
        return []
    for place in reversed(range(len(unit_texts()))):
        if place in needed:
            needed |= {other for name in _unit(unit_texts()[place]).declared if (other := _place_of(name)) is not None}
    return [text for place, text in enumerate(unit_texts()) if place in {0, *needed}]


def declared_in(module: Operation) -> list[Operation]:
    """Return the library functions that a module declares."""
    functions = [op for op in operations_of(body_of(module)) if op.name == "llvm.func" and not has_body(op)]
    return [function for function in functions if _place_of(symbol_name(function)) is not None]


@lru_cache(maxsize=1024)
def _place_of(name: str) -> int | None:
    if not name.startswith(_PREFIX):
        return None
    # Parsing a unit takes longer than a search for the name in its text.
    texts = enumerate(unit_texts())
    return next((place for place, text in texts if name in text and name in _unit(text).functions), None)


@lru_cache(maxsize=1)
def _copied() -> dict[str, LibraryFunction]:
    return {name: function._replace(is_copied=True) for name, function in _unit(copied_text()).functions.items()}


@lru_cache(maxsize=64)
def _unit(text: str) -> _Unit:
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
