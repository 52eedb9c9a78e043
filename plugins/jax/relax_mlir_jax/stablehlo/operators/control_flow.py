# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches and loops. Calls of functions are inlined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from relax_mlir.bindings.ir import Operation
from relax_mlir.dialects.core.symbols import SymExpr
from relax_mlir.frontends.core.complex_numbers import in_pairs, of_pairs
from relax_mlir.frontends.core.control.scf_branches import build_branches
from relax_mlir.frontends.core.control.scf_loops import LoopSpec, Turn, build_loop, of_length
from relax_mlir.frontends.core.control.scf_regions import known_truth, scalar_of
from relax_mlir.frontends.core.tensors import with_first_at
from relax_mlir.frontends.core.values import ComplexValue, Held, SequenceValue

from ..prelude import HloNode, Outputs, Tensor, Value, cast, const, register_stablehlo, relax, sizes


def _flat(held: Sequence[Any]) -> list[Value]:
    """Return the operands or results of a region as tensors: complex numbers as pairs."""
    return [Value(ssa=in_pairs(each)) if isinstance(each, ComplexValue) else each for each in held]


def _as_before(values: Sequence[Value], are_complex: Sequence[bool]) -> list[Held]:
    pairs = zip(values, are_complex, strict=True)
    return [of_pairs(each.ssa) if is_complex else each for each, is_complex in pairs]


@register_stablehlo("stablehlo.while")
def while_(node: HloNode) -> Outputs:
    """Convert a loop that tests its condition before each iteration.

    Operands that the body returns unchanged are not carried but read from outside. jax's scan passes everything that it
    reads through the loop.
    """
    inputs: list[Held] = [node.held(index) for index in range(len(node.inputs))]
    changing = _changing(node)
    are_complex = [isinstance(inputs[index], ComplexValue) for index in changing]

    def whole(held: Sequence[Held]) -> list[Held]:
        found = dict(zip(changing, held, strict=True))
        return [found.get(index, input_) for index, input_ in enumerate(inputs)]

    def goes_on(held: Sequence[Held], operation: Operation | None) -> Value:
        return node.run_body(held, 0, operation)[0]

    def step(operation: Operation, index: Value, values: list[Value]) -> Turn:
        made = node.run_body(whole(_as_before(values, are_complex)), 1, operation)
        after = [made[index] for index in changing]
        return Turn(_flat(after), [], goes_on(whole(after), operation))

    starts = scalar_of(node, goes_on(inputs, None))
    carried = _flat([inputs[index] for index in changing])
    after, _ = build_loop(LoopSpec(node, step, None, starts, is_open=True), carried)
    return whole(_as_before(after, are_complex))


def _changing(node: HloNode) -> list[int]:
    """Return the operands that a loop's body changes, or all operands if it changes none."""
    body = node.body(1)
    *_, end = body.operations
    pairs = zip(body.arguments, end.operation.operands, strict=True)
    indices = [index for index, (given, returned) in enumerate(pairs) if given != returned]
    return indices or list(range(len(node.inputs)))


@register_stablehlo("stablehlo.if")
def if_(node: HloNode) -> Outputs:
    return _choose(node, node.value(0), [0, 1])


@register_stablehlo("stablehlo.case")
def case(node: HloNode) -> Outputs:
    """Convert a case. Numbers without a branch select the last branch."""
    number, last = node.value(0), len(node.operation.regions) - 1
    if (known := number.array) is not None:
        place = int(known)
        return node.run_body([], place if 0 <= place < last else last)
    return _case(node, number, list(range(last + 1)))


def _case(node: HloNode, number: Value, branches: Sequence[int]) -> list[Held]:
    first, *rest = branches
    if not rest:
        return node.run_body([], first)
    condition = Value(ssa=relax.equal(number.ssa, const(first, number.dtype)))
    return _either(node, condition, [partial(_case_inside, node, number, each) for each in ([first], rest)])


def _case_inside(node: HloNode, number: Value, branches: Sequence[int], operation: Operation | None) -> list[Held]:
    return node.run_body([], branches[0], operation) if len(branches) == 1 else _case(node, number, branches)


def _choose(node: HloNode, condition: Value, branches: Sequence[int]) -> list[Held]:
    if (holds := known_truth(condition)) is not None:
        return node.run_body([], branches[0 if holds else 1])
    return _either(node, condition, [partial(_branch, node, branch) for branch in branches])


def _branch(node: HloNode, index: int, operation: Operation | None) -> list[Held]:
    return node.run_body([], index, operation)


def _either(node: HloNode, condition: Value, makers: Sequence[Callable[[Operation], list[Held]]]) -> list[Held]:
    seen: list[bool] = []

    def make(maker: Callable[[Operation], list[Held]], operation: Operation) -> list[Value]:
        made = maker(operation)
        seen[:] = [isinstance(each, ComplexValue) for each in made]
        return _flat(made)

    branches = build_branches(node, condition, [partial(make, function) for function in makers])
    return _as_before(branches, seen)


@register_stablehlo("chlo.scan")
def scan(node: HloNode) -> Outputs:
    """Convert a loop over a dimension: the body receives one slice of each input, and carries all other operands."""
    count, *_ = node.attr("operandSegmentSizes")
    axis, is_reverse = node.attr("dimension"), node.attr("is_reverse", False)
    inputs, carried = (
        [node.held(index) for index in places] for places in (range(count), range(count, len(node.inputs)))
    )
    length = node.sizes_of_operand(0)[axis] if count else 0
    turns = sizes.as_scalar(length, "i64")
    given_complex, carried_complex = ([isinstance(each, ComplexValue) for each in held] for held in (inputs, carried))
    sources = _flat(inputs)
    rows_complex: list[bool] = []

    def step(operation: Operation, index: Value, values: list[Value]) -> Turn:
        place = cast(index.ssa, "i64")
        if is_reverse:
            place = relax.subtract(relax.subtract(turns, const(1, "i64")), place)
        slices = [Value(ssa=relax.take(source.ssa, place, axis=axis)) for source in sources]
        made = node.run_body([*_as_before(slices, given_complex), *_as_before(values, carried_complex)], 0, operation)
        outputs, after = made[: len(made) - len(carried)], made[len(made) - len(carried) :]
        rows_complex[:] = [isinstance(output, ComplexValue) for output in outputs]
        return Turn(_flat(after), _flat(outputs))

    after, gathered = build_loop(LoopSpec(node, step, scalar_of(node, Value(ssa=turns))), _flat(carried))
    rows = of_length(gathered, length if isinstance(length, (int, SymExpr)) else None)
    ordered = [Value(ssa=_stack_in_place(row.ssa, axis, is_reverse)) for row in rows]
    return [*_as_before(ordered, rows_complex), *_as_before(after, carried_complex)]


def _stack_in_place(rows: Tensor, axis: int, is_reverse: bool) -> Tensor:
    """Return the results of a loop's iterations, stacked along the loop's dimension."""
    ordered = relax.flip(rows, axis=0) if is_reverse else rows
    return with_first_at(ordered, axis) if axis else ordered


# ---- operations that only group values ----


@register_stablehlo("stablehlo.tuple")
def tuple_(node: HloNode) -> Outputs:
    held: list[Any] = [node.held(index) for index in range(len(node.inputs))]
    return SequenceValue(held)


@register_stablehlo("stablehlo.get_tuple_element")
def get_tuple_element(node: HloNode) -> Outputs:
    return node.sequence(0).items[node.attr("index")]


@register_stablehlo("stablehlo.map")
def map_(node: HloNode) -> Outputs:
    """Build the scalar body on tensors, since it works on each element."""
    shape = node.sizes_of_operand(0)
    made = node.on_tensors([node.held(index) for index in range(len(node.inputs))])
    return [
        each if not isinstance(each, Value) or each.rank == len(shape) else Value(ssa=sizes.broadcast(each.ssa, shape))
        for each in made
    ]
