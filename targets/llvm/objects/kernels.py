# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of a program: which of its functions can be compiled apart, and what each of them needs."""

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

# With fewer operations in all, LLVM is done before the pieces are made.
_LEAST_OPERATIONS = 4000
_LEAST_KERNELS = 2
# Operations of a function that is worth a call wherever it is called from.
_LEAST_KEPT = 50
# The attributes that hold the names of functions and globals, by operation.
_CALL = "llvm.call"
REFERENCES = {_CALL: "callee", "llvm.mlir.addressof": "global_name"}
#: Those that a kernel may be named by: what is entangled may call what is not.
CALLERS = {**REFERENCES, "llvm.invoke": "callee", "llvm.dso_local_equivalent": "function_name"}
# Operations and attributes that refer to a function in other ways: such a function stays where it is.
_ENTANGLED = frozenset({"llvm.invoke", "llvm.blocktag", "llvm.blockaddress", "llvm.dso_local_equivalent"})
ENTANGLING = ("personality", "comdat", "garbageCollector")


@dataclass(eq=False)
class ProgramFunction:
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


def surveyed(operation: Operation) -> ProgramFunction:
    """What a function of the LLVM dialect refers to. Raises RelaxError where something else is in it."""
    inside = operations_in(operation)
    is_entangled = any(name in operation.attributes for name in ENTANGLING)
    function = ProgramFunction(operation, 1 + len(inside), is_entangled=is_entangled)
    for op in inside:
        name = op.name
        if name in CALLERS:
            function.callers.append(op)
        if not name.startswith("llvm."):
            # The translation to LLVM IR crashes on what it does not know.
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
    """The program's own functions that call no other of them, each with those whose addresses it hands out (the ranges
    of its loops) and what these need; none where splitting is not worth it. They have no other references, and are not
    in `kept`.
    """
    kernels = groups_of(functions, kept)
    is_worth = is_large(sum(function.count for function in functions)) and len(kernels) >= _LEAST_KERNELS
    return kernels if is_worth or any(map(is_separate, functions)) else []


def is_large(operations: float) -> bool:
    """Check whether a program with this many operations of the LLVM dialect is compiled in pieces."""
    return operations >= _LEAST_OPERATIONS


def groups_of(functions: Sequence[ProgramFunction], kept: Container[str]) -> list[list[ProgramFunction]]:
    """Return the kernels as `kernels_of` does, of programs of any size."""
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
    """Of a program that stays whole: what does much and is called more than once is not copied to its callers.

    Those of a graph with many equal layers would take LLVM longer than the kernels themselves.
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
    """A kernel with what it needs of the program, or nothing where it cannot leave it."""
    if not own.keys().isdisjoint(head.called):
        return []
    group = [head]
    for function in group:
        group += [own[name] for name in function.references if name in own and own[name] not in group]
    names = {each.name for each in group}
    is_closed = all(known_to[each.name] <= names and each.name not in kept for each in group[1:])
    return group if is_closed and all(map(_can_leave, group)) else []


def referred_by_globals(operations: Iterable[Operation]) -> set[str]:
    """What operations of a module that are no functions refer to."""
    globals_ = [op for op in operations if op.name != "llvm.func" and len(op.regions)]
    inside = [each for op in globals_ for each in (op, *operations_in(op))]
    named = [op for op in inside if REFERENCES.get(op.name, "") in op.attributes]
    return {str(op.attributes[REFERENCES[op.name]].value) for op in named}


def rename(callers: Iterable[Operation], names: Mapping[str, str]) -> None:
    """Makes operations name functions and globals by their new names."""
    for op in callers:
        held = CALLERS[op.name]
        new = names.get(str(op.attributes[held].value)) if held in op.attributes else None
        if new is not None:
            op.attributes[held] = ir.FlatSymbolRefAttr.get(new, op.context)


def _can_leave(function: ProgramFunction) -> bool:
    return is_internal(function.operation) and not function.is_entangled


def is_internal(op: Operation) -> bool:
    """Whether its module alone sees a function or global."""
    return any(kind in str(op.attributes["linkage"]) for kind in ("internal", "private"))
