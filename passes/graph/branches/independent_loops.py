# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Independent loops of a graph for concurrency: none uses another one's results, and each is worth a thread.

Iterations of a loop are sequential, and a recurrent network has short ones. Running the network's directions in
parallel gains more. Kernels in a loop that are parallel themselves stay parallel.
"""

from __future__ import annotations

from typing import NamedTuple

from ....bindings.ir import Block, Operation, SymbolTable, Value
from ....bindings.navigation import (
    constant_of,
    made_by,
    operations_in,
    operations_named,
    operations_of,
    used_by,
    users_of,
)
from ....dialects.core.aliases import written_by
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import ScalarInfo, TensorInfo
from ....dialects.core.ir_attributes import PLAN
from ....dialects.core.substitute import symbols_in, symbols_of
from ....dialects.graph_functions import input_symbols, is_sized
from ....dialects.relax.known_constants import CONSTANTS
from ....emit.parallel import LEAST_WORK
from ....emit.structured import analyze, structured_ops
from ...kernels.schedule.parallel_grain import computing
from ...kernels.schedule.plan import Plan, plan_of

#: Assumed trip count of a dynamic loop.
_ORDINARY_TURNS = 64
#: Dialects allowed in a loop beside calls of PrimFuncs: constants to read, and scalars.
_DIALECTS = frozenset("arith index math scf tensor".split())
#: PrimFuncs with these operations may call code bound to the calling thread.
_CALLING_OUT = frozenset("tir.call_packed tir.call_extern tir.packed".split())


class Branch(NamedTuple):
    """A loop as a function of its own: inputs, operations cloned into it, and results."""

    loop: Operation
    given: list[Value]
    made_again: list[Operation]
    #: Results of the loop, with the casts that state their sizes for the users.
    results: list[tuple[Value, list[Operation]]]

    @property
    def returned(self) -> list[Value]:
        """The results as their users see them."""
        return [casts[0].result if casts else value for value, casts in self.results]


def branches_of(block: Block, symbols: SymbolTable) -> list[list[Branch]]:
    """Return groups of two or more loops that may run concurrently. Operations between them can be moved."""
    operations = operations_of(block)[:-1]
    branches: list[list[Branch]] = []
    taken: list[Operation] = []
    for position, first in enumerate(operations):
        branch = None if first in taken else _branch(first, symbols)
        if branch is None:
            continue
        group, waiting = [branch], set(first.results)
        for op in operations[position + 1 :]:
            if any(value in waiting for value in used_by(op)):
                waiting.update(op.results)
            elif op not in taken and (other := _branch(op, symbols)) is not None:
                group.append(other)
                waiting.update(op.results)
            if not is_movable(op):
                break
        if len(group) > 1:
            branches.append(group)
            taken += [each.loop for each in group]
    return branches


def is_movable(op: Operation) -> bool:
    """Check whether an operation has no side effects, so that it may be moved."""
    return all(map(_is_quiet, (op, *(operations_in(op) if len(op.regions) else ()))))


def _is_quiet(op: Operation) -> bool:
    if (row := row_of(op)) is None:
        return op.name.partition(".")[0] in _DIALECTS
    # A check of sizes may fail earlier or later.
    return (row.pure or op.name == "relax.match_cast") and not written_by(op)


def _branch(op: Operation, symbols: SymbolTable) -> Branch | None:
    if op.name != "scf.for" or not is_movable(op) or _work(op, symbols) < LEAST_WORK:
        return None
    if (results := _results(op)) is None:
        return None
    branch = Branch(op, *_inputs(op), results)
    infos = [decode(value.type) for value in branch.given]
    known = input_symbols(infos)
    is_known = all(isinstance(info, (TensorInfo, ScalarInfo)) for info in infos) and _find_outer_symbols(op) <= known
    returned = [decode(value.type) for value in branch.returned]
    are_results_known = all(isinstance(info, TensorInfo) and is_sized(info, known) for info in returned)
    return branch if is_known and are_results_known else None


def _inputs(loop: Operation) -> tuple[list[Value], list[Operation]]:
    """Return a loop's inputs, and the operations to clone: scalar constants, shapes, and constants used only here."""
    given, again = [], []
    for value in dict.fromkeys(used_by(loop)):
        maker = made_by(value, *CONSTANTS, "relax.shape_expr")
        if maker is not None and _is_made_again(value, loop):
            again.append(maker)
        else:
            given.append(value)
    return given, again


def _is_made_again(value: Value, loop: Operation) -> bool:
    if not isinstance(decode(value.type), TensorInfo):
        return True
    inside = [loop, *operations_in(loop)]
    return all(user in inside for user in users_of(value))


def _results(loop: Operation) -> list[tuple[Value, list[Operation]]] | None:
    """Return the used results with their casts, or None if one is no tensor."""
    values: list[tuple[Value, list[Operation]]] = []
    for result in loop.results:
        if not (users := users_of(result)):
            continue
        if not isinstance(decode(result.type), TensorInfo):
            return None
        casts = [user for user in users if user.name == "relax.match_cast" and user.block == loop.block]
        is_cast = len(casts) == len(users) and len({str(cast.results[0].type) for cast in casts}) == 1
        values.append((result, casts if is_cast else []))
    return values


def _find_outer_symbols(loop: Operation) -> set[str]:
    """Return the symbols of sizes that a loop does not define itself."""
    casts = operations_named(loop, "relax.match_cast")
    own = {name for cast in casts for name in symbols_of(cast.results[0].type) - symbols_of(cast.operands[0].type)}
    return symbols_in(loop) - own


def _work(loop: Operation, symbols: SymbolTable) -> float:
    """Estimate a loop's nanoseconds on one thread. Return 0 if it cannot run on another thread."""
    total = 0.0
    for op in operations_in(loop):
        row = row_of(op)
        if op.name == "relax.call_tir":
            if (work := _work_of_kernel(symbols[op.opview.func].operation)) is None:
                return 0.0
            total += work
        elif op.name.startswith("relax.call_") or row is not None and row.destinations:
            return 0.0
    return total * (_turns(loop) or _ORDINARY_TURNS)


def _work_of_kernel(function: Operation) -> float | None:
    """Return None for a kernel that calls external code, or is parallel itself."""
    if operations_named(function, *_CALLING_OUT):
        return None
    plans = [(op, plan_of(op)) for op in structured_ops(function) if PLAN in op.attributes]
    loops = [(op, plan) for op, plan in plans if isinstance(plan, Plan)]
    if any(plan.parallel is not None and plan.parallel.grain is not None for _, plan in loops):
        return None
    return sum(computing(analyze(op), plan.lanes) for op, plan in loops)


def _turns(loop: Operation) -> int | None:
    lower, upper, step = (constant_of(bound) for bound in list(loop.operands)[:3])
    if lower is None or upper is None or step is None or step < 1:
        return None
    return max(-((lower - upper) // step), 0)
