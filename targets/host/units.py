# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Units of the library (library/) and their functions, for the programs that declare and call them.

Every program needs support.py. The other files are optional units, compiled only for the programs that need them. All
programs of a process share the thread pool (pool.py), hence the pool is an object of its own. Units are modules of
host functions (native/).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ...bindings.ir import Operation
from ...bindings.navigation import body_of, has_body, operations_of, symbol_name
from .native.symbols import PREFIX
from .native.unit import LibraryUnit

#: Every program needs the first unit. Each unit depends only on units before it.
_UNITS = (
    "support", "kept", "calls", "native_calls", "device", "device_tensors", "device_calls", "device_profile",
    "cuda_recording", "cuda_graphs", "device_tensor_maps",
)  # fmt: skip
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


#: Units of other packages, by their modules.
_registered: dict[str, LibraryUnit] = {}


@lru_cache(maxsize=1)
def library_units() -> tuple[LibraryUnit, ...]:
    """Return the units in the order of their dependencies.

    Their functions are visible only to the other units of a program. The first unit is the one that every program
    needs.
    """
    return (*(LibraryUnit(_MODULES + name) for name in _UNITS), *_registered.values())


def register_library(*modules: str) -> None:
    """Add units for a kind of device to the library, in the module that registers the target of the kind's name.

    A unit is a module of host functions, which may call functions of earlier units. `KIND_functions` is a table of
    replacements of CUDA's driver functions (device_functions.py). `KIND_graph_begin`, `_end` and `_leave` launch
    recorded graphs (cuda_graphs.py). All are optional.
    """
    for module in modules:
        _registered.setdefault(module, LibraryUnit(module))
    library_units.cache_clear()
    _place_of.cache_clear()


@lru_cache(maxsize=4)
def pool_unit(architecture: str) -> LibraryUnit:
    """Return the thread pool for processors of an architecture."""
    return LibraryUnit(f"{_MODULES}pool", architecture)


@lru_cache(maxsize=1)
def copied_unit() -> LibraryUnit:
    """Return the functions that every program contains itself, with declarations of the functions they call."""
    return LibraryUnit(f"{_MODULES}copied")


def find_function(name: str) -> LibraryFunction | None:
    """Return the library function of a symbol, or None.

    Only units that mention the name are read, until one defines it.
    """
    if not name.startswith(PREFIX):
        return None
    if copied_unit().mentions(name) and (copied := copied_unit().signatures.get(name)) is not None:
        return LibraryFunction(*copied, is_copied=True)
    place = _place_of(name)
    return None if place is None else LibraryFunction(*library_units()[place].signatures[name])


def c_functions_beside(name: str) -> list[str]:
    """Return the declarations of the C functions that the module of a library function declares."""
    place = _place_of(name)
    return [] if place is None else library_units()[place].c_functions


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
    if not name.startswith(PREFIX):
        return None
    units = enumerate(library_units())
    return next((place for place, unit in units if unit.mentions(name) and name in unit.signatures), None)
