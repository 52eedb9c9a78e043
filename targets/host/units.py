# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Units of the library (library/) and their functions, for the programs that declare and call them.

Every program needs support.py. The other files are optional units, compiled only for the programs that need them. All
programs of a process share the thread pool (pool.py), hence the pool is an object of its own. Units are modules of
host functions (native/) or MLIR texts. Each text begins with prelude.mlir, the types and C functions of several texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

from ...bindings.context import new_context
from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, has_body, operations_of, symbol_name
from ...dialects.core.ir_attributes import ENTRY
from .native.unit import PythonUnit

#: Every program needs the first file. Each file depends only on files before it.
_FILES = (
    "support.py", "kept.py", "calls.py", "native_calls.py", "device.py", "device_tensors.py", "device_calls.py",
    "device_profile.py", "cuda_recording.py", "cuda_graphs.py", "device_tensor_maps.py",
)  # fmt: skip
_PREFIX = "__relax_"
_FOLDER = Path(__file__).parent / "library"
_MODULES = f"{__package__}.library."


class LibraryFunction(NamedTuple):
    """Library function that programs may call."""

    inputs: tuple[str, ...]
    result: str
    #: True if programs contain a copy of the function; then no unit defines it.
    is_copied: bool = False

    @property
    def type(self) -> str:
        return f"!llvm.func<{self.result} ({', '.join(self.inputs)})>"


class LibraryUnit(Protocol):
    """Unit of the library. Its text is emitted only to compile it."""

    @property
    def text(self) -> str:
        """Text of the unit in MLIR."""

    @property
    def identity(self) -> bytes:
        """Bytes that determine the text, for the cache."""

    @property
    def signatures(self) -> Mapping[str, tuple[tuple[str, ...], str]]:
        """Operand types and results of the functions for programs, by symbol."""

    @property
    def declared(self) -> frozenset[str]:
        """Names of the functions that other units define."""

    def mentions(self, symbol: str) -> bool:
        """Check whether the unit may define a function."""


class _TextUnit:
    """Unit of MLIR text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.identity = text.encode()

    @cached_property
    def _functions(self) -> dict[str, tuple[tuple[str, ...], str] | None]:
        """Return the functions of the text. Parsing it takes longer than a search for a name in it."""
        with new_context() as context, ir.Location.unknown():
            context.allow_unregistered_dialects = True  # this project's dialects need not be loaded
            module = ir.Module.parse(self.text)
            functions = [op for op in operations_of(module.body) if op.name in ("func.func", "llvm.func")]
            return {symbol_name(op): _signature(op) if has_body(op) else None for op in functions}

    @property
    def signatures(self) -> dict[str, tuple[tuple[str, ...], str]]:
        return {name: signature for name, signature in self._functions.items() if signature is not None}

    @property
    def declared(self) -> frozenset[str]:
        return frozenset(name for name, signature in self._functions.items() if signature is None)

    def mentions(self, symbol: str) -> bool:
        return symbol in self.text


#: Units of other packages, by their texts.
_registered: dict[str, LibraryUnit] = {}


@lru_cache(maxsize=1)
def library_units() -> tuple[LibraryUnit, ...]:
    """Return the units in the order of their dependencies.

    Their functions are visible only to the other units of a program. The first unit is the one that every program
    needs.
    """
    return (*map(_unit, _FILES), *_registered.values())


def register_library(*units: str) -> None:
    """Add units for a kind of device to the library, in the module that registers the target of the kind's name.

    A unit is the name of a module of host functions, or MLIR text that follows prelude.mlir, and may call functions of
    earlier units. A packed function `__relax_KIND_functions` returns the address of replacements of CUDA's driver
    functions (device.py). `__relax_KIND_graph_begin`, `_end` and `_leave` launch recorded graphs (cuda_graphs.py).
    All are optional.
    """
    for unit in units:
        is_module = all(part.isidentifier() for part in unit.split("."))
        _registered.setdefault(unit, PythonUnit(unit) if is_module else _TextUnit(_file("prelude.mlir") + unit))
    library_units.cache_clear()
    _place_of.cache_clear()


def _unit(file: str) -> LibraryUnit:
    name, _, kind = file.partition(".")
    return PythonUnit(_MODULES + name) if kind == "py" else _TextUnit(_file("prelude.mlir") + _file(file))


def _file(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


@lru_cache(maxsize=4)
def pool_unit(architecture: str) -> LibraryUnit:
    """Return the thread pool for processors of an architecture."""
    return PythonUnit(f"{_MODULES}pool", architecture)


@lru_cache(maxsize=1)
def copied_unit() -> LibraryUnit:
    """Return the functions that every program contains itself, with declarations of the functions they call."""
    return PythonUnit(f"{_MODULES}copied")


def find_function(name: str) -> LibraryFunction | None:
    """Return the library function of a symbol, or None.

    Only units that mention the name are read, until one defines it.
    """
    if not name.startswith(_PREFIX):
        return None
    if copied_unit().mentions(name) and (copied := copied_unit().signatures.get(name)) is not None:
        return LibraryFunction(*copied, is_copied=True)
    place = _place_of(name)
    return None if place is None else LibraryFunction(*library_units()[place].signatures[name])


def needed_units(module: Operation) -> list[LibraryUnit]:
    """Return the units that define the functions a module declares, and the units that these depend on."""
    needed = {place for operation in declared_in(module) if (place := _place_of(symbol_name(operation))) is not None}
    if not needed:
        return []
    for place in reversed(range(len(library_units()))):
        if place in needed:
            declared = library_units()[place].declared
            needed |= {other for name in declared if (other := _place_of(name)) is not None}
    return [unit for place, unit in enumerate(library_units()) if place in {0, *needed}]


def declared_in(module: Operation) -> list[Operation]:
    """Return the library functions that a module declares."""
    functions = [op for op in operations_of(body_of(module)) if op.name == "llvm.func" and not has_body(op)]
    return [function for function in functions if _place_of(symbol_name(function)) is not None]


@lru_cache(maxsize=1024)
def _place_of(name: str) -> int | None:
    if not name.startswith(_PREFIX):
        return None
    units = enumerate(library_units())
    return next((place for place, unit in units if unit.mentions(name) and name in unit.signatures), None)


def _signature(op: Operation) -> tuple[tuple[str, ...], str]:
    """Return a function's types as programs see it. A function that can fail returns its status (host-lower-errors)."""
    type_ = ir.TypeAttr(op.attributes["function_type"]).value
    if op.name == "llvm.func":
        result = str(type_.return_type).replace("!llvm.void", "void")
    else:
        results = ["i32"] if ENTRY in op.attributes else list(map(str, type_.results))
        result = f"!llvm.struct<({', '.join(results)})>" if len(results) > 1 else "".join(results) or "void"
    return tuple(map(str, type_.inputs)), result
