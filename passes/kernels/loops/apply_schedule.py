# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Application of a PrimFunc's schedule to its body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ....bindings.ir import Operation
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import body_of, operations_in, operations_of, symbol_name
from ....bindings.rewriting import Decline, located_error
from ....dialects.core.ir_attributes import READ_ONLY, SCHEDULE_PLACES
from ....dialects.tir.prim_func import schedule_lines
from ....emit.extern_calls import refused_buffer
from ....support.errors import RelaxError
from ...core.pipeline import Pipeline
from .bufferized import Scratch
from .constant_copies import ConstantCopy, constant_copies, take_copied
from .device_calls import needs_owner
from .gpu_kernels import KernelWriter
from .intrins import INTRIN, find_intrin
from .schedule import Schedule
from .schedule_files import at_file
from .source_writer import SourceWriter
from .tree import Tree, loops_in
from .tree_reader import Read
from .tree_writer import Writer, write_tree

if TYPE_CHECKING:
    from numpy import ndarray


#: Packing functions by the number of a constant parameter. A function computes the packed layout at compile time, which
#: the schedule would otherwise compute at each call.
Packing = Mapping[int, Callable[["ndarray"], "ndarray"]]


def apply_schedule(
    function: Operation,
    *,
    has_threads: bool = False,
    has_vectors: bool = True,
    constants: Set[int] = frozenset(),
    features: Callable[[], Set[str]] | None = None,
    told: Callable[[Tree, Tree], None] | None = None,
) -> tuple[Operation, Packing]:
    """Apply a PrimFunc's schedule, and return the replacement over memory together with its packing functions.

    `has_threads`: bound loops become kernels. `has_vectors`: vectorized loops become vectors. `constants`: numbers of
    the constant parameters, which callers can pass packed. `features`: returns the features of the target's machine, if
    it is known. `told` receives the trees with and without the schedule before the code is written.
    """
    name = symbol_name(function)
    scratch, tree = _scheduled(function).scratch_of(name)
    if told is not None:
        told(tree, scratch.read.tree)
    try:
        with _located(function):
            if features is not None:
                _check_features(tree, features)
            copies = _written(scratch, tree, writer_of(has_threads=has_threads, has_vectors=has_vectors), constants)
            _check_loaded(scratch.function)
    except Decline as decline:
        raise located_error(f"the schedule of @{name} cannot be applied: {decline.reason}", function.location) from None
    # The loop of a kernel with one block has one step; canonicalize would remove it.
    tidied = "func.func(cse)" if has_threads else "func.func(canonicalize,cse)"
    Pipeline([tidied], verify_each=False).run(scratch.module, all_or_nothing=False)
    with function.context:
        for op in operations_of(body_of(scratch.module.operation)):
            if symbol_name(op) == name or op.name == "memref.global":
                op.detach_from_parent()
                ir.InsertionPoint(function).insert(op)
    operation = next(op for op in operations_of(function.block) if op != function and symbol_name(op) == name)
    function.erase()
    return operation, {copy.parameter: copy.of for copy in copies}


@contextmanager
def _located(function: Operation) -> Iterator[None]:
    """Give errors without a location the location of the function."""
    try:
        yield
    except RelaxError as error:
        if error.location:
            raise
        raise located_error(error.message, function.location, error.notes) from None


def writer_of(*, has_threads: bool, has_vectors: bool) -> type[Writer]:
    """Return the writer for code with kernels or vectors, or with neither."""
    return KernelWriter if has_threads else Writer if has_vectors else SourceWriter


def declined(schedule: Schedule, name: str, writer: type[Writer], constants: Callable[[], Set[int]]) -> Decline | None:
    """Return the reason why a device function for copies, waits or intrinsics declines, or None.

    Consumes the schedule's copy of the function.
    """
    scratch, tree = schedule.scratch_of(name)
    if not needs_owner(tree):
        return None
    try:
        with _located(scratch.function):
            _written(scratch, tree, writer, constants())
    except Decline as decline:
        return decline
    for op in operations_in(scratch.function):
        refused = filter(None, map(refused_buffer, op.operands)) if op.name in _CALLS else ()
        for reason in refused:
            return Decline(f"C function '{string_value(op.attributes['func'])}': {reason}")
    return None


_CALLS = ("tir.call_extern", "tir.call_pure_extern")


def _written(scratch: Scratch, tree: Tree, writer: type[Writer], constants: Set[int]) -> list[ConstantCopy]:
    """Write a tree to its function, and return the copies of constants. The function's code does not contain these."""
    read = scratch.read
    copies = constant_copies(read, tree, constants) if constants else []
    if copies:
        read, tree = take_copied(scratch.function, read, tree, copies)
    write_tree(scratch.function, read, tree, writer)
    _note_read_only(scratch.function, read, tree)
    return copies


def _check_features(tree: Tree, features: Callable[[], Set[str]]) -> None:
    """Refuse instructions that the target's machine lacks: LLVM would end the process."""
    for name in [str(loop.annotations[INTRIN]) for loop in loops_in(tree.body) if INTRIN in loop.annotations]:
        needs = find_intrin(name).needs
        if needs and not any(features() >= set(need.split()) for need in needs):
            needed = " or ".join(needs)
            raise RelaxError(f"'{name}' needs {needed}, which the target's machine lacks (options cpu, features)")


def _check_loaded(function: Operation) -> None:
    """Refuse operations of dialects that are not loaded, which an intrinsic may emit: MLIR would crash later."""
    context = function.context
    for name in dict.fromkeys(op.name for op in operations_in(function)):
        if not context.is_registered_operation(name):
            dialect = name.partition(".")[0]
            raise RelaxError(
                f"an intrinsic, or a copy of a memory, emits '{name}', but its dialect is not loaded",
                notes=[f"load the dialect first: relax_mlir.bindings.context.load_dialects(context, ['{dialect}'])"],
            )


def _note_read_only(function: Operation, read: Read, tree: Tree) -> None:
    """Record which parameters are only read, if functions of the device have emitted calls."""
    if not any(op.name in _CALLS for op in operations_in(function)):
        return
    numbers = {argument: number for number, argument in enumerate(body_of(function).arguments)}
    written = {access.buffer for block in tree.blocks() for access in block.writes}
    given = {key: numbers[value] for key, value in read.memory.items() if key.is_given and value in numbers}
    kept = sorted(number for buffer, number in given.items() if buffer not in written)
    with function.context:
        function.attributes[READ_ONLY] = ir.DenseI64ArrayAttr.get(kept)


def _scheduled(function: Operation) -> Schedule:
    """Return the schedule of a function, read from its lines, which may come from a file."""
    if (places := schedule_lines(function, SCHEDULE_PLACES)) is None:
        return Schedule(function)
    del function.attributes[SCHEDULE_PLACES]
    try:
        return Schedule(function)
    except RelaxError as error:
        raise at_file(error, symbol_name(function), places) from None
