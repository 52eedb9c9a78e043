# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a program: the functions that can be compiled separately, and the dependencies of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import operations_in, symbol_name
from ....bindings.objects import mark_noinline
from ....dialects.core.ir_attributes import CONTRACT
from ...host.passes.host_name_functions import PREFIX
from .object_file import foreign

# Operations that make a function too large to be inlined into several callers.
_LEAST_KEPT = 50
# Attributes that refer to functions and globals, by operation.
_CALL = "llvm.call"
REFERENCES = {_CALL: "callee", "llvm.mlir.addressof": "global_name"}
#: Operations that may refer to a kernel. Code that cannot leave the program may call code that can.
CALLERS = {**REFERENCES, "llvm.invoke": "callee", "llvm.dso_local_equivalent": "function_name"}
# Operations and attributes that refer to a function in other ways. Such a function stays in the program.
_ENTANGLED = frozenset({"llvm.invoke", "llvm.blocktag", "llvm.blockaddress", "llvm.dso_local_equivalent"})
ENTANGLING = ("personality", "comdat", "garbageCollector")


@dataclass(eq=False)
class ProgramFunction:
    """Function with a body, and its references in the order of first use."""

    operation: Operation
    count: int
    references: dict[str, None] = field(default_factory=dict)
    #: References that the function calls itself, instead of only taking their address.
    called: set[str] = field(default_factory=set)
    #: Operations of the function that refer to functions.
    callers: list[Operation] = field(default_factory=list)
    is_entangled: bool = False

    @property
    def name(self) -> str:
        return symbol_name(self.operation)


def surveyed(operation: Operation) -> ProgramFunction:
    """Return the references of a function in the LLVM dialect. Raise RelaxError for an operation of another dialect."""
    inside = operations_in(operation)
    is_entangled = any(name in operation.attributes for name in ENTANGLING)
    function = ProgramFunction(operation, 1 + len(inside), is_entangled=is_entangled)
    for op in inside:
        if (name := op.name) in CALLERS:
            function.callers.append(op)
        if not name.startswith("llvm."):
            # The translation to LLVM IR crashes on unknown operations.
            raise foreign(op)
        if name in REFERENCES and REFERENCES[name] in op.attributes:
            referred = str(op.attributes[REFERENCES[name]].value)
            function.references[referred] = None
            if name == _CALL:
                function.called.add(referred)
        elif name in _ENTANGLED:
            function.is_entangled = True
    return function


def kernels_of(functions: Sequence[ProgramFunction], kept: Container[str]) -> list[list[ProgramFunction]]:
    """Return the kernels, each with its dependencies.

    A kernel is a function of the program that calls no other function of the program. Its group also contains the
    functions whose addresses it takes (the ranges of its loops) and their dependencies. Nothing else refers to these
    functions, and they are not in `kept`.
    """
    own = {function.name: function for function in functions if function.name.startswith(PREFIX)}
    known_to: dict[str, set[str]] = {name: set() for name in own}
    for function in functions:
        for name in function.references.keys() & own.keys():
            known_to[name].add(function.name)
    groups = [group for function in own.values() if (group := _group(function, own, known_to, kept))]
    inside = {each.name for group in groups for each in group[1:]}
    return [group for group in groups if group[0].name not in inside]


def is_separate(function: ProgramFunction) -> bool:
    """Check whether a function is the stub of a kernel that has left the program (separate_kernels.py)."""
    return CONTRACT in function.operation.attributes


def mark_shared_noinline(functions: Sequence[ProgramFunction]) -> None:
    """Mark large functions with several callers as noinline, in a program that is not split.

    Inlined copies in a graph with many equal layers would take LLVM longer than the kernels themselves.
    """
    calls = Counter(
        str(op.attributes["callee"].value)
        for function in functions
        for op in function.callers
        if op.name == _CALL and "callee" in op.attributes
    )
    for function in functions:
        if calls[function.name] > 1 and function.count >= _LEAST_KEPT:
            mark_noinline(function.operation)


def _group(
    head: ProgramFunction, own: Mapping[str, ProgramFunction], known_to: Mapping[str, set[str]], kept: Container[str]
) -> list[ProgramFunction]:
    """Return a kernel with its dependencies in the program, or an empty list if it cannot leave the program."""
    if not own.keys().isdisjoint(head.called):
        return []
    group = [head]
    for function in group:
        group += [own[name] for name in function.references if name in own and own[name] not in group]
    names = {program_function.name for program_function in group}
    is_closed = all(
        known_to[program_function.name] <= names and program_function.name not in kept for program_function in group[1:]
    )
    return group if is_closed and all(map(_can_leave, group)) else []


def referred_by_globals(operations: Iterable[Operation]) -> set[str]:
    """Return the symbols that a module's operations other than functions refer to."""
    globals_ = [op for op in operations if op.name != "llvm.func" and len(op.regions)]
    inside = [operation for op in globals_ for operation in (op, *operations_in(op))]
    named = [op for op in inside if REFERENCES.get(op.name, "") in op.attributes]
    return {str(op.attributes[REFERENCES[op.name]].value) for op in named}


def rename(callers: Iterable[Operation], names: Mapping[str, str]) -> None:
    """Update references of operations to renamed functions and globals."""
    for op in callers:
        held = CALLERS[op.name]
        new = names.get(str(op.attributes[held].value)) if held in op.attributes else None
        if new is not None:
            op.attributes[held] = ir.FlatSymbolRefAttr.get(new, op.context)


def _can_leave(function: ProgramFunction) -> bool:
    return is_internal(function.operation) and not function.is_entangled


def is_internal(op: Operation) -> bool:
    """Check whether a function or global is local to its module."""
    return any(kind in str(op.attributes["linkage"]) for kind in ("internal", "private"))
