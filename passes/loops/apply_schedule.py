# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has a PrimFunc run as its schedule says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...bindings.ir import Operation
from ...bindings.mlir import ir, string_value
from ...bindings.navigation import body_of, operations_in, operations_of, symbol_name
from ...bindings.rewriting import Decline, located_error
from ...dialects.core.ir_attributes import READ_ONLY, SCHEDULE_PLACES
from ...dialects.tir.prim_func import schedule_lines
from ...emit.extern_calls import refused_buffer
from ...support.errors import RelaxError
from ..core.pipeline import Pipeline
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


#: What does to a constant parameter, by its number, what the schedule would do at each call.
Packing = Mapping[int, Callable[["ndarray"], "ndarray"]]


def apply_schedule(
    function: Operation,
    *,
    has_threads: bool = False,
    has_vectors: bool = True,
    constants: Set[int] = frozenset(),
    features: Callable[[], Set[str]] | None = None,
) -> tuple[Operation, Packing]:
    """Has a PrimFunc run as its schedule says, over memory: the operation that takes its place. `has_threads`: bound
    loops are kernels; `has_vectors`: vectorized loops are vectors; `constants`: which parameters are constants that
    callers can give packed, as the second result says; `features`: the machine's, where it is known."""
    name = symbol_name(function)
    scratch, tree = _scheduled(function).scratch_of(name)
    try:
        with _located(function):
            if features is not None:
                _check_features(tree, features)
            copies = _written(scratch, tree, writer_of(has_threads=has_threads, has_vectors=has_vectors), constants)
            _check_loaded(scratch.function)
    except Decline as decline:
        raise located_error(f"the schedule of @{name} cannot be done: {decline.reason}", function.location) from None
    # A kernel of one block is a loop of one step, which is none for canonicalize.
    tidied = "func.func(cse)" if has_threads else "func.func(canonicalize,cse)"
    Pipeline([tidied], verify_each=False).run(scratch.module, all_or_nothing=False)
    with function.context:
        for op in operations_of(body_of(scratch.module.operation)):
            if symbol_name(op) == name or op.name == "memref.global":
                op.detach_from_parent()
                ir.InsertionPoint(function).insert(op)
    made = next(op for op in operations_of(function.block) if op != function and symbol_name(op) == name)
    function.erase()
    return made, {each.parameter: each.of for each in copies}


@contextmanager
def _located(function: Operation) -> Iterator[None]:
    """Errors without a location get the function's."""
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
    """Return why the functions that emit a schedule's copies, waits and intrinsics decline, or None. The schedule's
    copy of the function is used up."""
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
    """Write a tree to the function that it was read from, without the copies of constants, which are returned."""
    read = scratch.read
    copies = constant_copies(read, tree, constants) if constants else []
    if copies:
        read, tree = take_copied(scratch.function, read, tree, copies)
    write_tree(scratch.function, read, tree, writer)
    _note_read_only(scratch.function, read, tree)
    return copies


def _check_features(tree: Tree, features: Callable[[], Set[str]]) -> None:
    """LLVM would end the process where a machine has no such instruction."""
    for name in [str(loop.annotations[INTRIN]) for loop in loops_in(tree.body) if INTRIN in loop.annotations]:
        needs = find_intrin(name).needs
        if needs and not any(features() >= set(each.split()) for each in needs):
            needed = " or ".join(needs)
            raise RelaxError(f"'{name}' needs {needed}, which the target's machine has not (options cpu, features)")


def _check_loaded(function: Operation) -> None:
    """MLIR would crash later on what an intrinsic emits of a dialect that is not loaded."""
    context = function.context
    for name in dict.fromkeys(op.name for op in operations_in(function)):
        if not context.is_registered_operation(name):
            dialect = name.partition(".")[0]
            raise RelaxError(
                f"an intrinsic, or a copy of a memory, emits '{name}', which is of no dialect that is loaded",
                notes=[f"load it before: relax_mlir.bindings.context.load_dialects(context, ['{dialect}'])"],
            )


def _note_read_only(function: Operation, read: Read, tree: Tree) -> None:
    """State the parameters that are only read, where functions of the device's owner have emitted calls on them."""
    if not any(op.name in _CALLS for op in operations_in(function)):
        return
    numbers = {argument: number for number, argument in enumerate(body_of(function).arguments)}
    written = {access.buffer for block in tree.blocks() for access in block.writes}
    given = {each: numbers[value] for each, value in read.memory.items() if each.is_given and value in numbers}
    kept = sorted(number for buffer, number in given.items() if buffer not in written)
    with function.context:
        function.attributes[READ_ONLY] = ir.DenseI64ArrayAttr.get(kept)


def _scheduled(function: Operation) -> Schedule:
    """By its lines, which may stand in a file."""
    places = schedule_lines(function, SCHEDULE_PLACES)
    if places is None:
        return Schedule(function)
    del function.attributes[SCHEDULE_PLACES]
    try:
        return Schedule(function)
    except RelaxError as error:
        raise at_file(error, symbol_name(function), places) from None
