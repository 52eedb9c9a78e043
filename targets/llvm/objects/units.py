# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation units of a program: the graph's functions with their dependencies, and one unit per kernel.

Kernels are compiled separately and in parallel. The cache finds a kernel by its content: in its unit,
the names of the kernel and of its constants depend only on the content.

Functions and tables of the graph's unit that kernels need are hidden: visible only to the units of the program.
Examples are the functions that raise errors and the table of constants.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ....bindings.diagnostics import origins
from ....bindings.ir import Location, Module, Operation
from ....bindings.mlir import ir
from ....bindings.navigation import has_body, operations_of, symbol_name
from ....bindings.objects import KERNEL
from ....bindings.pass_manager import run_upstream
from ....dialects.core.ir_attributes import (
    CALLS,
    CONTRACT,
    DEVICE,
    ENTRIES,
    EXTERNAL_MODS,
    KERNELS,
    NUMERICS,
    PLACED_CONSTANTS,
)
from ....dialects.core.kernel_contract import contract_of
from ....dialects.verification import verify_ir
from ....support.callbacks import enters
from ...host.passes.host_name_functions import name_in_program
from .kernels import (
    ENTANGLING,
    ProgramFunction,
    is_internal,
    is_separate,
    kernels_of,
    mark_shared_noinline,
    referred_by_globals,
    rename,
    surveyed,
)
from .object_file import foreign

#: Attributes that the stages leave on a module for the last step. They are not part of the LLVM dialect.
NOTES = (ENTRIES, PLACED_CONSTANTS, CALLS, DEVICE, KERNELS, NUMERICS, EXTERNAL_MODS)
#: Prefix of kernels with units of their own.
KERNEL_PREFIX = "__relax_kernel."
_CONSTANT_PREFIX = "__relax_unit_constant."
#: Modules with other operations (flags, aliases, groups of functions) stay whole.
DIVISIBLE = frozenset({"llvm.func", "llvm.mlir.global", "llvm.mlir.global_ctors", "llvm.mlir.global_dtors"})
# Attributes that declarations lack.
_OF_DEFINITIONS = ("value", "dso_local", "alignment", "section", "unnamed_addr")
# The last version without the order of uses, which differs from run to run.
_BYTECODE_VERSION = 2
_EXTERNAL = "#llvm.linkage<external>"
_DEBUG_SCOPE = "#llvm.di_"
_SHOWN_ORIGINS = 4


@dataclass(frozen=True)
class Unit:
    """Piece of a program that becomes an object file."""

    #: Name of the kernel in the program; empty for the graph's functions.
    name: str
    #: Name of the kernel in its object file.
    symbol: str
    #: MLIR bytecode without locations; empty for a kernel that left the program before loop generation.
    code: bytes
    #: Origin of the kernel: nodes of a model or places in a file.
    place: str = ""
    #: Functions and globals of the program, or of its library, that the kernel refers to.
    needs: tuple[str, ...] = ()
    #: Number of operations.
    count: int = 0

    @property
    def what(self) -> str:
        """Return the description for messages."""
        return f"kernel '{self.name}'" if self.name else "the graph's functions"


@enters
def units_of(module: Module, *, split: bool = True) -> list[Unit]:
    """Split a module of the LLVM dialect into units, and consume it.

    The decision to split depends only on the module.

    Raise RelaxError for an operation of another dialect.
    """
    operations, functions = _survey_module(module)
    is_divisible = split and all(operation.name in DIVISIBLE for operation in operations)
    kernels = kernels_of(functions, referred_by_globals(operations)) if is_divisible else []
    places = [_place(kernel[0].operation.location) for kernel in kernels]
    if not any(map(_has_scope, functions)):
        run_upstream(module.operation, ["strip-debuginfo"], verify=False)
    if not kernels:
        mark_shared_noinline(functions)
        return [Unit("", "", bytecode(module))]
    splitter = _Splitter(module, operations, functions)
    units: dict[str, Unit] = {}
    for kernel, place in zip(kernels, places, strict=True):
        unit = splitter.take_separate(kernel[0], place) if is_separate(kernel[0]) else splitter.take(kernel, place)
        units.setdefault(unit.symbol, unit)
    return [splitter.rest(), *units.values()]


@enters
def kernel_units(module: Module) -> list[Unit]:
    """Return the units of a module that contains only kernels in the LLVM dialect, and consume the module.

    Functions that cannot be compiled separately have no unit. Raise RelaxError like `units_of`.
    """
    operations, functions = _survey_module(module)
    if any(operation.name not in DIVISIBLE for operation in operations) or any(map(_has_scope, functions)):
        return []
    kernels = kernels_of(functions, referred_by_globals(operations))
    places = [_place(kernel[0].operation.location) for kernel in kernels]
    run_upstream(module.operation, ["strip-debuginfo"], verify=False)
    splitter = _Splitter(module, operations, functions)
    return [splitter.take(kernel, place) for kernel, place in zip(kernels, places, strict=True)]


def _survey_module(module: Module) -> tuple[list[Operation], list[ProgramFunction]]:
    operations = operations_of(module.body)
    functions = [
        surveyed(operation) for operation in operations if operation.name == "llvm.func" and has_body(operation)
    ]
    _check(module, operations)
    return operations, functions


def readable_name(kernel: str) -> str:
    """Return a kernel's name without the number that tells kernels of one name apart."""
    return re.sub(r"_\d+$", "", kernel)


def _check(module: Module, operations: Iterable[Operation]) -> None:
    """Raise RelaxError for top-level operations of other dialects, on which the translation to LLVM IR crashes.

    `surveyed` checks the operations inside of functions.
    """
    for op in operations:
        if not op.name.startswith("llvm."):
            raise foreign(op)
    verify_ir(module.operation, "the module is invalid: no native code can be made of it")


def _has_scope(function: ProgramFunction) -> bool:
    """Check whether a function has debug information about its source."""
    return _DEBUG_SCOPE in str(function.operation.location)


class _Making:
    """Move of a kernel's functions into a module of their own."""

    def __init__(self, kernel: Sequence[ProgramFunction], module: Operation, symbols: Mapping[str, Operation]) -> None:
        self._kernel, self._module, self._symbols = kernel, module, symbols
        #: Constants that the unit copies, and other symbols that it needs to see.
        self.copied: set[str] = set()
        self.shown: set[str] = set()
        self._made: Module | None = None

    def unit(self, place: str) -> Unit:
        head = self._kernel[0].operation
        name = name_in_program(head)
        inside = {each.name: f"{KERNEL}.{index}" if index else KERNEL for index, each in enumerate(self._kernel)}
        outside = dict.fromkeys(name for each in self._kernel for name in each.references if name not in inside)
        with head.context, ir.Location.unknown():
            unit = _empty_like(self._module)
            self._made = unit  # keeps the functions alive
            renamed = {**self._add_references(unit, outside), **inside}
            for each in self._kernel:
                own = inside[each.name]
                rename(each.callers, renamed)
                each.operation.detach_from_parent()
                unit.body.append(each.operation)
                each.operation.attributes["sym_name"] = ir.StringAttr.get(own)
            _show(head)
            code = bytecode(unit)
        # The hash covers the readable part: equal kernels of two names are two units with distinct symbols.
        readable = readable_name(name)
        symbol = f"{KERNEL_PREFIX}{readable}.{hashlib.blake2b(code, digest_size=12).hexdigest()}"
        needs = tuple(each for each in outside if each not in renamed)
        return Unit(name, symbol, code, place, needs, sum(each.count for each in self._kernel))

    def _add_references(self, unit: Module, names: Iterable[str]) -> dict[str, str]:
        """Add copies of constants and declarations of other symbols to a unit. Return the constants' new names."""
        renamed: dict[str, str] = {}
        with ir.InsertionPoint(unit.body):
            for name in names:
                op = self._symbols[name]
                if _is_copyable(op):
                    renamed[name] = f"{_CONSTANT_PREFIX}{len(renamed)}"
                    op.clone().attributes["sym_name"] = ir.StringAttr.get(renamed[name])
                    self.copied.add(name)
                    continue
                declared = _declaration(op)
                if is_internal(op):
                    _show(declared)
                    self.shown.add(name)
        return renamed


def _empty_like(module: Operation) -> Module:
    """Return an empty module with the attributes of another module, except the notes."""
    unit_module = ir.Module.create()
    for name in module.attributes:
        if name not in NOTES:
            unit_module.operation.attributes[name] = module.attributes[name]
    return unit_module


class _Splitter:
    """Move of kernels out of a module. The rest is the graph's unit."""

    def __init__(self, module: Module, operations: Sequence[Operation], functions: Sequence[ProgramFunction]) -> None:
        self._module = module
        self._functions = functions
        self._symbols = {symbol_name(operation): operation for operation in operations if symbol_name(operation)}
        self._copied: set[str] = set()
        self._kernels: dict[str, str] = {}
        self._taken: set[ProgramFunction] = set()

    def take(self, kernel: Sequence[ProgramFunction], place: str) -> Unit:
        """Return the unit of a kernel, which consists of the given functions. All of them leave the module."""
        old = [function.name for function in kernel]
        making = _Making(kernel, self._module.operation, self._symbols)
        unit = making.unit(place)
        for name in old:
            del self._symbols[name]
        with self._module.context, ir.Location.unknown():
            for name in making.shown:
                _show(self._symbols[name])
            self._declare(kernel[0].operation, unit.symbol)
        self._copied |= making.copied
        self._kernels[old[0]] = unit.symbol
        self._taken.update(kernel)
        return unit

    def take_separate(self, function: ProgramFunction, place: str) -> Unit:
        """Return the unit of a kernel that left the program earlier, and remove its stub."""
        contract = contract_of(function.operation)
        assert contract is not None
        name = name_in_program(function.operation)
        with self._module.context, ir.Location.unknown():
            for needed in contract.needs:
                if needed in self._symbols and is_internal(self._symbols[needed]):
                    _show(self._symbols[needed])
            del function.operation.attributes[CONTRACT]
            _show(function.operation)
            self._declare(function.operation, contract.symbol)
        del self._symbols[function.name]
        self._kernels[function.name] = contract.symbol
        self._taken.add(function)
        function.operation.erase()
        return Unit(name, contract.symbol, b"", place)

    def rest(self) -> Unit:
        """Return the unit of the remaining functions, without the constants that only kernels read."""
        # Upstream's replacement would walk the whole graph once per kernel.
        rest = [each for each in self._functions if each not in self._taken]
        for function in rest:
            rename(function.callers, self._kernels)
        used = {name for function in rest for name in function.references}
        used |= referred_by_globals(operations_of(self._module.body))
        for name in sorted(self._copied - used):
            self._symbols.pop(name).erase()
        return Unit("", "", bytecode(self._module))

    def _declare(self, function: Operation, symbol: str) -> None:
        if symbol in self._symbols:
            return
        with ir.InsertionPoint.at_block_begin(self._module.body):
            declared = _declaration(function)
            declared.attributes["sym_name"] = ir.StringAttr.get(symbol)
        self._symbols[symbol] = declared


def _declaration(op: Operation) -> Operation:
    """Create a declaration of a function or global at the insertion point."""
    attributes = {name: op.attributes[name] for name in op.attributes if name not in _OF_DEFINITIONS}
    attributes["linkage"] = ir.Attribute.parse(_EXTERNAL, op.context)
    return ir.Operation.create(op.name, attributes=attributes, regions=1)


def _show(op: Operation) -> None:
    """Make a function or global visible only to the other units of the program (hidden)."""
    op.attributes["linkage"] = ir.Attribute.parse(_EXTERNAL, op.context)
    # 1: hidden. Code then reaches the symbol without an indirection.
    op.attributes["visibility_"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, op.context), 1)


def _is_copyable(op: Operation) -> bool:
    """Check whether a global can be copied: it is constant and has no references."""
    return (
        op.name == "llvm.mlir.global"
        and "constant" in op.attributes
        and "value" in op.attributes
        and is_internal(op)
        and not any(name in op.attributes for name in (*ENTANGLING, "section", "thread_local_"))
    )


def _place(location: Location) -> str:
    names = [f'"{origin.name}"' if origin.operator else origin.name for origin in origins(location)]
    more = f" and {len(names) - _SHOWN_ORIGINS} more" if len(names) > _SHOWN_ORIGINS else ""
    return ", ".join(names[:_SHOWN_ORIGINS]) + more


def bytecode(module: Module) -> bytes:
    stream = io.BytesIO()
    module.operation.write_bytecode(stream, _BYTECODE_VERSION)
    return stream.getvalue()
