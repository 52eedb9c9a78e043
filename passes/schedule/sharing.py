# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which loop of an operation threads share, and in which grains: none, where waking a thread takes as long as the work.

Grains depend on the operation and the machine alone, so that results are the same for any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_of
from ...dialects.core.infos import bit_width
from ...emit.linalg import indices_at, product
from ...emit.loops import Body, for_range, nest
from ...emit.memory import Extent
from ...emit.numbers import Number, Size, as_index, maximum, minimum, operation, select
from ...emit.structured import StructuredOp
from ...targets.core.backend import Machine
from .fitting import can_be_shared
from .parts import fills_border
from .plan import Parallel, Plan, points_of_step

#: Nanoseconds. With less in all, threads would mostly wait for each other; with less in a grain, for the counter.
LEAST_WORK, _LEAST_GRAIN = 20_000, 5_000
#: Grains: so many for each core that a busy one leaves most of its share to others, so many steps in the end.
_GRAINS_OF_CORE, FEWEST_GRAINS = 8, 32
#: What a core does: operations on vectors and bytes from memory in a nanosecond.
OPERATIONS, _BYTES = 6, 16
#: What is assumed of a loop whose size is not known: what is shared is looked at again at run time.
_ORDINARY_SIZE = 512


def with_threads(op: StructuredOp, plan: Plan, machine: Machine) -> Plan:
    """The plan, with the loop that threads share where that is worth it."""
    if machine.cores == 1:
        return plan
    shares = [(dim, share) for dim in plan.order if (share := _share(op, plan, dim, machine)) is not None]
    # As a rule the outermost loop: the fewest regions. An inner one where that has hardly more steps than threads, or
    # may have: sizes that are not known are often those of a batch of one.
    known, unknown = 4 * machine.cores, 2 * machine.cores
    found = [(min(grains, known if op.sizes[dim] is not None else unknown), new) for dim, (grains, new) in shares]
    return max(found, key=lambda each: each[0], default=(0, plan))[1]


def _share(op: StructuredOp, plan: Plan, dim: int, machine: Machine) -> tuple[int, Plan] | None:
    """How many grains there are, and the plan, if threads share a loop; None where that is not worth it."""
    if not can_be_shared(op, dim) or dim in dict(plan.blocks) or fills_border(op):
        return None
    around = [each for each in plan.order[: plan.order.index(dim)] if op.sizes[each] != 1]
    # Steps of a reduction would be as many regions: a loop around them is shared instead.
    is_cut = len(around) > 0 and op.reductions.issuperset(around)
    step = points_of_step(plan, dim)
    regions = 1 if is_cut else _regions(op, plan, around)
    work, steps = nanoseconds(op, _lanes(plan)) / regions, size_of(op, dim) // step
    if work < LEAST_WORK or steps < 2:
        return None
    grain = max(math.ceil(_LEAST_GRAIN * steps / work), math.ceil(steps / _most_grains(machine)))
    if grain >= steps:
        return None
    grain = _even(steps, grain, machine)
    grains, points = math.ceil(steps / grain), grain * step
    if is_cut:
        return grains, replace(plan, blocks=((dim, points), *plan.blocks), parallel=Parallel(dim, points))
    is_known = all(op.sizes[each] is not None for each in plan.order[plan.order.index(dim) :])
    return grains, replace(plan, parallel=Parallel(dim, points if is_known else None))


def _even(steps: int, grain: int, machine: Machine) -> int:
    """A grain as large or larger, of which each core has as many: then threads end at once, and an operation's rows are
    where the next one has its own."""
    of_core = math.ceil(steps / grain) // machine.cores
    return math.ceil(steps / (of_core * machine.cores)) if of_core else grain


def _regions(op: StructuredOp, plan: Plan, around: Sequence[int]) -> int:
    """How often threads share what is inside of loops, those over blocks among them."""
    steps = [(size_of(op, dim), points_of_step(plan, dim)) for dim in around]
    steps += [(size_of(op, dim), block) for dim, block in plan.blocks]
    return math.prod(max(math.ceil(size / step), 1) for size, step in steps)


def _most_grains(machine: Machine) -> int:
    return max(FEWEST_GRAINS, _GRAINS_OF_CORE * machine.cores)


def size_of(op: StructuredOp, dim: int) -> int:
    """A loop's size, or what is assumed of it."""
    size = op.sizes[dim]
    return _ORDINARY_SIZE if size is None else size


def nanoseconds(op: StructuredOp, lanes: int) -> float:
    """About how long one thread takes."""
    return max(computing(op, lanes), sum(_bytes(op, operand) for operand in range(len(op.operands))) / _BYTES)


def computing(op: StructuredOp, lanes: int) -> float:
    """The same, of what is in the cache."""
    return math.prod(size_of(op, dim) for dim in op.dims) * _nanoseconds_of_point(op, lanes)


def _lanes(plan: Plan) -> int:
    """The points of a loop nest that an operation of a vector is for."""
    rows = 1 if plan.tiles is None else plan.tiles.size
    return plan.lanes * rows * (1 if plan.dot is None else plan.dot.group)


def _nanoseconds_of_point(op: StructuredOp, lanes: int) -> float:
    return len(operations_of(op.block)) / lanes / OPERATIONS


def _bytes(op: StructuredOp, operand: int) -> float:
    sizes = [_ORDINARY_SIZE if size < 0 else size for size in op.shapes[operand]]
    return math.prod(sizes) * _element_bytes(op, operand)


def bytes_of_point(op: StructuredOp) -> float:
    """What the elements that a point of the loops has for itself take, in nanoseconds."""
    streamed = [operand for operand in range(len(op.operands)) if all(op.uses(operand, each) for each in op.dims)]
    return sum(_element_bytes(op, operand) for operand in streamed) / _BYTES


def _element_bytes(op: StructuredOp, operand: int) -> float:
    element = op.element(operand)
    return 8 if isinstance(element, ir.IndexType) else bit_width(str(element)) / 8


# ---- at run time ----

#: What a nanosecond is there, in whole numbers.
_UNIT = 1024
#: Enough for any grain: products stay in 64 bits.
_MOST_WORK = 1 << 40


def grain_by_work(op: StructuredOp, plan: Plan, sizes: Sequence[Extent]) -> Value:
    """How many points of the loop that threads share make a grain, by the loops' sizes there.

    All of them where there is less work than it takes to share it.
    """
    assert plan.parallel is not None
    dim = plan.parallel.dim
    place = plan.order.index(dim)
    step = points_of_step(plan, dim)
    # Of the loops around, there is one step.
    points = math.prod(points_of_step(plan, each) for each in plan.order[: place + 1])
    of_point = max(_nanoseconds_of_point(op, _lanes(plan)), bytes_of_point(op))
    work: Number = as_index(max(round(of_point * points * _UNIT), 1))
    for each in plan.order[place + 1 :]:
        work = minimum(maximum(work * as_index(sizes[each]), 1), _MOST_WORK)
    steps = maximum(_ceil_divided(as_index(sizes[dim]), step), 1)
    return (_grain_of(steps, work) * step).value


def _grain_of(steps: Number, work: Number) -> Number:
    """Steps that one thread takes at a time, by what each takes; all where threads are not worth it."""
    fewest = maximum(_ceil_divided(as_index(_LEAST_GRAIN * _UNIT), work), _ceil_divided(steps, FEWEST_GRAINS))
    is_little = minimum(steps, _MOST_WORK // LEAST_WORK) * work < LEAST_WORK * _UNIT
    return select(is_little, steps, fewest)


#: What a core does in a nanosecond of products of blocks that are in its cache.
FLOPS = 128


def share_steps(steps: Size, flops: Size, body: Body, *carried: Value) -> Any:
    """As `loops.for_range(0, steps, body, *carried)` where no step reads what another writes: threads share it, where
    its steps of so many operations on floats are worth it."""
    if _are_apart.get():
        return for_range(0, steps, body, *carried, grain=1)
    if isinstance(steps, int) and isinstance(flops, int):
        return for_range(0, steps, body, *carried, grain=_known_grain(steps, flops / FLOPS))
    work = maximum(minimum(as_index(flops), _MOST_WORK // _UNIT) * (_UNIT // FLOPS), 1)
    share = lambda start, count, *values: for_range(start, start + count, body, *values)  # noqa: E731
    return _share_grains(steps, _grain_of(maximum(as_index(steps), 1), work), share, *carried)


def share_ranges(steps: Size, nanoseconds: float | Size, part: Body, *carried: Value) -> Any:
    """`part(start, count, *carried)` for ranges of steps, which take so long each: threads share these."""
    if isinstance(steps, int) and isinstance(nanoseconds, (int, float)):
        return _share_grains(steps, _known_grain(steps, nanoseconds) or max(steps, 1), part, *carried)
    each = math.ceil(nanoseconds) if isinstance(nanoseconds, float) else nanoseconds
    work = maximum(minimum(as_index(each), _MOST_WORK // _UNIT) * _UNIT, 1)
    return _share_grains(steps, _grain_of(maximum(as_index(steps), 1), work), part, *carried)


def share_places(bounds: Sequence[Size], body: Body) -> None:
    """As `loops.nest(bounds, body)` where no place reads or writes what another one writes: where threads take one step
    each, they share the places."""
    if not _are_apart.get():
        nest(bounds, body)
        return
    for_range(0, product(bounds), lambda place: body(*indices_at(place, bounds)), grain=1)


def is_shared(steps: int, nanoseconds: float) -> bool:
    """Whether so many steps, which take so long each, are worth threads."""
    grain = _known_grain(steps, nanoseconds)
    return grain is not None and grain < steps


#: Whether each step is a thread's: what a grain would be worth is not asked.
_are_apart: ContextVar[bool] = ContextVar("_are_apart", default=False)


def are_steps_apart() -> bool:
    return _are_apart.get()


@contextmanager
def steps_apart(are_apart: bool) -> Iterator[None]:
    """Meanwhile ranges of shared steps have one each, if so."""
    token = _are_apart.set(are_apart)
    try:
        yield
    finally:
        _are_apart.reset(token)


def _share_grains(steps: Size, grain: Size, part: Body, *carried: Value) -> Any:
    if _are_apart.get():
        return for_range(0, steps, lambda start, *values: part(start, 1, *values), *carried, grain=1)
    is_even = isinstance(steps, int) and isinstance(grain, int) and steps % grain == 0

    def share(start: Number, *values: Value) -> Any:
        return part(start, grain if is_even else minimum(grain, as_index(steps) - start), *values)

    return for_range(0, steps, share, *carried, step=grain, grain=1)


def _known_grain(steps: int, nanoseconds: float) -> int | None:
    if steps < 2 or steps * nanoseconds < LEAST_WORK:
        return None
    return max(math.ceil(_LEAST_GRAIN / nanoseconds), math.ceil(steps / FEWEST_GRAINS))


def _ceil_divided(size: Number, step: int | Number) -> Number:
    return operation("arith.ceildivsi", [size.value, as_index(step).value], ir.IndexType.get())
