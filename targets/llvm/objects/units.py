# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pieces in which a program is compiled: the graph's functions with all that they need, and each kernel alone.

Kernels of large programs are compiled each by itself, in parallel, and found again by what is in them: in its unit a
kernel is called as nothing but its content says, and so are the constants that it reads. What it needs of the graph's
unit (functions that raise errors, the table of constants) is visible to all units of the program, and to nobody else.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ....bindings.diagnostics import origins
from ....bindings.ir import Location, Module, Operation
from ....bindings.mlir import ir
from ....bindings.navigation import has_body, operations_in, operations_of, symbol_name
from ....bindings.pass_manager import run_upstream
from ....dialects.verification import verify_ir
from ....support.callbacks import enters
from ...host.passes.host_name_functions import PREFIX, name_in_program
from .object_file import KERNEL, foreign

#: The symbols of kernels that have units of their own.
KERNEL_PREFIX = "__relax_kernel."
_CONSTANT_PREFIX = "__relax_unit_constant."
# With fewer operations in all, LLVM is done before the pieces are made.
_LEAST_OPERATIONS = 4000
_LEAST_KERNELS = 2
# The attributes that hold the names of functions and globals, by operation.
_REFERENCES = {"llvm.call": "callee", "llvm.mlir.addressof": "global_name"}
# Those that a kernel may be named by: what is entangled may call what is not.
_CALLERS = {**_REFERENCES, "llvm.invoke": "callee", "llvm.dso_local_equivalent": "function_name"}
# Modules with anything else (flags, aliases, groups of functions) stay whole.
_DIVISIBLE = frozenset({"llvm.func", "llvm.mlir.global", "llvm.mlir.global_ctors", "llvm.mlir.global_dtors"})
# Operations and attributes that refer to a function in other ways: such a function stays where it is.
_ENTANGLED = frozenset({"llvm.invoke", "llvm.blocktag", "llvm.blockaddress", "llvm.dso_local_equivalent"})
_ENTANGLING = ("personality", "comdat", "garbageCollector")
# What declarations do not have.
_OF_DEFINITIONS = ("value", "dso_local", "alignment", "section", "unnamed_addr")
# The last version without the order of uses, which differs from run to run.
_BYTECODE_VERSION = 2
_EXTERNAL = "#llvm.linkage<external>"
_DEBUG_SCOPE = "#llvm.di_"
_SHOWN_ORIGINS = 4


@dataclass(frozen=True)
class Unit:
    """A piece of a program that becomes an object file."""

    #: As the program calls the kernel; empty for the graph's functions.
    name: str
    #: The name that the kernel gets in its object file.
    symbol: str
    #: MLIR's bytecode, without locations.
    code: bytes
    #: Where the kernel comes from: nodes of a model, places in a file.
    place: str = ""

    @property
    def what(self) -> str:
        """For messages."""
        return f"kernel '{self.name}'" if self.name else "the graph's functions"


@dataclass(eq=False)
class _Function:
    """A function with a body, and what it refers to in the order of first use."""

    operation: Operation
    count: int
    references: dict[str, None] = field(default_factory=dict)
    #: Those that it calls itself, and does not only take the address of.
    called: set[str] = field(default_factory=set)
    #: The operations in it that name functions.
    callers: list[Operation] = field(default_factory=list)
    is_entangled: bool = False

    @property
    def name(self) -> str:
        return symbol_name(self.operation)


@enters
def units_of(module: Module, *, split: bool = True) -> list[Unit]:
    """Takes a module of the LLVM dialect apart. Whether it is split follows from the module alone.

    Raises RelaxError where something else than the LLVM dialect is in it.
    """
    operations = operations_of(module.body)
    functions = [_surveyed(each) for each in operations if each.name == "llvm.func" and has_body(each)]
    _check(module, operations)
    names = {function.name: name_in_program(function.operation) for function in functions}
    places = {function.name: _place(function.operation.location) for function in functions}
    if not any(_DEBUG_SCOPE in str(function.operation.location) for function in functions):
        run_upstream(module.operation, ["strip-debuginfo"], verify=False)
    kept = {name for each in operations if each.name != "llvm.func" for name in _referred(each)}
    kernels = _kernels(functions, kept) if split and all(each.name in _DIVISIBLE for each in operations) else []
    if not kernels:
        return [Unit("", "", bytecode(module))]
    splitter = _Splitter(module, operations, functions)
    units: dict[str, Unit] = {}
    for kernel in kernels:
        unit = splitter.take(kernel, names[kernel[0].name], places[kernel[0].name])
        units.setdefault(unit.symbol, unit)
    return [splitter.rest(), *units.values()]


def _check(module: Module, operations: Iterable[Operation]) -> None:
    """The translation to LLVM IR crashes on what it does not know; inside of functions _surveyed looks."""
    for op in operations:
        if not op.name.startswith("llvm."):
            raise foreign(op)
    verify_ir(module.operation, "the module is invalid: no native code can be made of it")


def _surveyed(operation: Operation) -> _Function:
    inside = operations_in(operation)
    is_entangled = any(name in operation.attributes for name in _ENTANGLING)
    function = _Function(operation, 1 + len(inside), is_entangled=is_entangled)
    for op in inside:
        name = op.name
        if name in _CALLERS:
            function.callers.append(op)
        if name in _REFERENCES:
            if _REFERENCES[name] in op.attributes:
                referred = str(op.attributes[_REFERENCES[name]].value)
                function.references[referred] = None
                if name == "llvm.call":
                    function.called.add(referred)
        elif name in _ENTANGLED:
            function.is_entangled = True
        elif not name.startswith("llvm."):
            raise foreign(op)
    return function


def _kernels(functions: Sequence[_Function], kept: Container[str]) -> list[list[_Function]]:
    """The program's own functions that call no other of them, each with those whose addresses it hands out (the ranges
    of its loops) and what these need; none where splitting is not worth it. Nobody else may know these, nor `kept`.
    """
    own = {function.name: function for function in functions if function.name.startswith(PREFIX)}
    known_to: dict[str, set[str]] = {name: set() for name in own}
    for function in functions:
        for name in function.references.keys() & own.keys():
            known_to[name].add(function.name)
    groups = [group for function in own.values() if (group := _group(function, own, known_to, kept))]
    inside = {each.name for group in groups for each in group[1:]}
    kernels = [group for group in groups if group[0].name not in inside]
    is_large = sum(function.count for function in functions) >= _LEAST_OPERATIONS
    return kernels if is_large and len(kernels) >= _LEAST_KERNELS else []


def _group(
    head: _Function, own: Mapping[str, _Function], known_to: Mapping[str, set[str]], kept: Container[str]
) -> list[_Function]:
    """A kernel with what it needs of the program, or nothing where it cannot leave it."""
    if not own.keys().isdisjoint(head.called):
        return []
    group = [head]
    for function in group:
        group += [own[name] for name in function.references if name in own and own[name] not in group]
    names = {each.name for each in group}
    is_closed = all(known_to[each.name] <= names and each.name not in kept for each in group[1:])
    return group if is_closed and all(map(_can_leave, group)) else []


def _can_leave(function: _Function) -> bool:
    return _is_internal(function.operation) and not function.is_entangled


class _Splitter:
    """Moves kernels out of a module; what remains is the graph's unit."""

    def __init__(self, module: Module, operations: Sequence[Operation], functions: Sequence[_Function]) -> None:
        self._module = module
        self._functions = functions
        self._symbols = {symbol_name(each): each for each in operations if symbol_name(each)}
        self._copied: set[str] = set()
        self._kernels: dict[str, str] = {}
        self._taken: set[_Function] = set()

    def take(self, kernel: Sequence[_Function], name: str, place: str) -> Unit:
        """The unit of a kernel, given with the functions that it needs, which all leave the module."""
        head, old = kernel[0].operation, kernel[0].name
        inside = {each.name: f"{KERNEL}.{index}" if index else KERNEL for index, each in enumerate(kernel)}
        outside = dict.fromkeys(name for each in kernel for name in each.references if name not in inside)
        with self._module.context, ir.Location.unknown():
            unit = ir.Module.create()
            for held in self._module.operation.attributes:
                unit.operation.attributes[held] = self._module.operation.attributes[held]
            renamed = {**self._add_references(unit, outside), **inside}
            for each in kernel:
                _rename(each.callers, renamed)
                each.operation.detach_from_parent()
                unit.body.append(each.operation)
                each.operation.attributes["sym_name"] = ir.StringAttr.get(inside[each.name])
            _show(head)
            code = bytecode(unit)
            # The readable part is in the hash: equal kernels of two names are two units, and each symbol one.
            readable = re.sub(r"_\d+$", "", name)
            symbol = f"{KERNEL_PREFIX}{readable}.{hashlib.blake2b(code, digest_size=12).hexdigest()}"
            self._declare(head, symbol)
        self._kernels[old] = symbol
        self._taken.update(kernel)
        return Unit(name, symbol, code, place)

    def rest(self) -> Unit:
        """The unit of what no kernel has taken, without the constants that only kernels read."""
        # Each replacement by upstream's function would look at the whole graph, for each kernel.
        rest = [each for each in self._functions if each not in self._taken]
        for function in rest:
            _rename(function.callers, self._kernels)
        globals_ = [op for op in operations_of(self._module.body) if op.name != "llvm.func"]
        used = {name for function in rest for name in function.references}
        used.update(name for each in globals_ for name in _referred(each))
        for name in sorted(self._copied - used):
            self._symbols[name].erase()
        return Unit("", "", bytecode(self._module))

    def _add_references(self, unit: Module, names: Iterable[str]) -> dict[str, str]:
        """Puts copies of constants and declarations of all else into a unit; the constants' new names."""
        renamed: dict[str, str] = {}
        with ir.InsertionPoint(unit.body):
            for name in names:
                op = self._symbols[name]
                if _is_copyable(op):
                    renamed[name] = f"{_CONSTANT_PREFIX}{len(renamed)}"
                    op.clone().attributes["sym_name"] = ir.StringAttr.get(renamed[name])
                    self._copied.add(name)
                    continue
                if _is_internal(op):
                    _show(op)
                _declaration(op)
        return renamed

    def _declare(self, function: Operation, symbol: str) -> None:
        if symbol in self._symbols:
            return
        with ir.InsertionPoint.at_block_begin(self._module.body):
            declared = _declaration(function)
            declared.attributes["sym_name"] = ir.StringAttr.get(symbol)
        self._symbols[symbol] = declared


def _referred(operation: Operation) -> list[str]:
    """What an operation of the module refers to."""
    if operation.name == "llvm.mlir.global" and not has_body(operation):
        return []
    referring = [op for op in (operation, *operations_in(operation)) if _REFERENCES.get(op.name, "") in op.attributes]
    return [str(op.attributes[_REFERENCES[op.name]].value) for op in referring]


def _rename(callers: Iterable[Operation], names: Mapping[str, str]) -> None:
    """Makes operations name functions and globals by their new names."""
    for op in callers:
        held = _CALLERS[op.name]
        new = names.get(str(op.attributes[held].value)) if held in op.attributes else None
        if new is not None:
            op.attributes[held] = ir.FlatSymbolRefAttr.get(new, op.context)


def _declaration(op: Operation) -> Operation:
    """A declaration of a function or a global, where the insertion point is."""
    attributes = {name: op.attributes[name] for name in op.attributes if name not in _OF_DEFINITIONS}
    attributes["linkage"] = ir.Attribute.parse(_EXTERNAL, op.context)
    return ir.Operation.create(op.name, attributes=attributes, regions=1)


def _show(op: Operation) -> None:
    """Makes a function or global visible to the other units of the program, and to nobody else."""
    op.attributes["linkage"] = ir.Attribute.parse(_EXTERNAL, op.context)
    # 1: hidden. Code then needs no detour to reach it.
    op.attributes["visibility_"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, op.context), 1)


def _is_copyable(op: Operation) -> bool:
    """Whether nobody can tell a copy of a global from it: it never changes, and refers to nothing."""
    return (
        op.name == "llvm.mlir.global"
        and "constant" in op.attributes
        and "value" in op.attributes
        and _is_internal(op)
        and not any(name in op.attributes for name in (*_ENTANGLING, "section", "thread_local_"))
    )


def _is_internal(op: Operation) -> bool:
    linkage = str(op.attributes["linkage"]) if "linkage" in op.attributes else ""
    return "internal" in linkage or "private" in linkage


def _place(location: Location) -> str:
    names = [f'"{origin.name}"' if origin.operator else origin.name for origin in origins(location)]
    more = f" and {len(names) - _SHOWN_ORIGINS} more" if len(names) > _SHOWN_ORIGINS else ""
    return ", ".join(names[:_SHOWN_ORIGINS]) + more


def bytecode(module: Module) -> bytes:
    stream = io.BytesIO()
    module.operation.write_bytecode(stream, _BYTECODE_VERSION)
    return stream.getvalue()
