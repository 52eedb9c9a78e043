# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dot-product instructions: sums of products of narrow numbers, some adjacent steps of a reduction at once.

Where both factors have the sign that no instruction wants, the highest bit of those that vectors share is flipped:
they are 128 more, or less, then, and what zeros would give so is taken away from the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...bindings.navigation import made_by, use_count
from ...bindings.rewriting import Decline
from ...emit.arithmetic import result_of
from ...emit.combiner import combiners
from ...emit.numbers import Number
from ...emit.structured import StructuredOp
from ...targets.core.backend import DotInstruction, Machine
from .plan import Plan

#: What an element is called, by what widens it.
_KINDS = {"arith.extf": "", "arith.extsi": "s", "arith.extui": "u"}
_TURNED = {"s8": "u8", "u8": "s8"}


@dataclass(frozen=True)
class Dots:
    """An instruction, and how an operation's two factors meet it."""

    instruction: DotInstruction
    #: The input that is read as vectors, and the one whose elements these share, or read as vectors too.
    columns: int
    rows: int
    #: Whether the columns are the left factors.
    is_swapped: bool
    #: Whether the highest bits of the rows' elements are flipped.
    is_turned: bool

    def add(self, total: Value, columns: Value, rows: Value) -> Value:
        """The sums with the products of a vector and another added."""
        factors = [columns, rows] if self.is_swapped else [rows, columns]
        intrinsic, kinds = self.instruction.intrinsic, (self.instruction.left, self.instruction.right)
        if not self.instruction.by_halves:
            return call_intrinsic(intrinsic, [total, *factors], total.type)
        for half in zip(*map(_halves, factors, kinds), strict=True):
            total = result_of("arith.addi", [total, call_intrinsic(intrinsic, half, total.type)], total.type)
        return total

    def turned(self, rows: Value | None, type_: ir.Type) -> Value:
        """A vector of the rows' elements as the instruction wants them; of zeros without one."""
        highest = ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(type_.element_type, -128))
        bits = result_of("arith.constant", [], type_, value=highest)
        return bits if rows is None else result_of("arith.xori", [rows, bits], type_)


def _halves(factors: Value, kind: str) -> tuple[Number, Number]:
    """The even bytes of a vector, and the odd ones, as numbers of 16 bits."""
    type_ = ir.VectorType.get([factors.type.shape[0] // 2], ir.IntegerType.get_signless(16))
    pairs = Number(result_of("vector.bitcast", [factors], type_), unsigned=kind.startswith("u"))
    return (pairs << 8) >> 8, pairs >> 8


def call_intrinsic(name: str, operands: Sequence[Value], result: ir.Type) -> Value:
    return result_of("llvm.call_intrinsic", operands, result, **intrinsic_attributes(name, len(operands)))


def intrinsic_attributes(name: str, operands: int) -> dict[str, ir.Attribute]:
    return {
        "intrin": ir.StringAttr.get(name),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([operands, 0]),
    }


def factor_kinds(op: StructuredOp) -> tuple[dict[int, str], str]:
    """For the two inputs that are multiplied what their elements are, s8 for instance, and what the sums are.

    Raises Decline where the body does more, or less, than to sum products of widened elements.
    """
    (combiner, *more) = combiners(op)
    if more or combiner.product is None:
        raise Decline("it is no sum of products")
    kinds: dict[int, str] = {}
    for factor in combiner.product.operands:
        widening = made_by(factor, *_KINDS)
        argument = None if widening is None else widening.operands[0]
        if widening is None or argument not in list(op.block.arguments) or use_count(argument) != 1:
            raise Decline("its factors are no elements that are widened first")
        kinds[argument.arg_number] = _kind(widening.name, argument.type)
    if len(kinds) != 2 or max(kinds) >= op.input_count:
        raise Decline("its factors are not of two inputs")
    return kinds, str(combiner.element)


def _kind(widening: str, type_: ir.Type) -> str:
    return str(type_) if isinstance(type_, ir.FloatType) else f"{_KINDS[widening]}{type_.width}"


def instructions_for(op: StructuredOp, machine: Machine, *, rows: int = 1) -> list[DotInstruction]:
    """Those for the factors and sums of an operation, maybe with one factor's sign bit flipped, the fewest sums first;
    of tiles of `rows` rows.

    Raises Decline without one.
    """
    kinds, total = factor_kinds(op)
    first, second = kinds.values()
    wanted = [{first, second}, {_TURNED.get(first, first), second}, {first, _TURNED.get(second, second)}]
    fitting = [each for each in machine.dots if each.total == total and each.rows == rows]
    found = [each for each in fitting if {each.left, each.right} in wanted]
    if not found:
        of_tiles = f" on tiles of {rows} rows" if rows > 1 else ""
        what = f"sums of products of {first} and {second} in {total}"
        raise Decline(f"the machine has no instruction for {what}{of_tiles}")
    return sorted(found, key=lambda each: each.lanes)


def dots_of(op: StructuredOp, plan: Plan, machine: Machine) -> Dots | None:
    """What a plan says of dot products, on this machine; None where it says nothing. Raises Decline where that does
    not fit the operation."""
    if plan.dot is None and plan.tiles is not None:
        raise Decline("tiles are of dot products, and the plan has none")
    if plan.dot is None:
        return None
    kinds, _ = factor_kinds(op)
    rows, columns = _rows_and_columns(op, plan, sorted(kinds))
    _check_loops(op, plan, rows, columns)
    if plan.tiles is not None:
        return _of_tiles(op, plan, rows, columns, machine)
    fitting = [each for each in instructions_for(op, machine) if each.lanes == plan.lanes]
    turned = "" if plan.vector == plan.dot.dim else _TURNED.get(kinds[rows], "")
    for kind in (kinds[rows], turned):
        for each in fitting:
            if each.group == plan.dot.group and sorted((each.left, each.right)) == sorted((kind, kinds[columns])):
                return Dots(each, columns, rows, each.left != kind, kind != kinds[rows])
    listed = " and ".join(kinds.values())
    raise Decline(f"the machine has no instruction for {plan.lanes} sums of {plan.dot.group} products of {listed}")


def _of_tiles(op: StructuredOp, plan: Plan, rows: int, columns: int, machine: Machine) -> Dots:
    """Tiles: of left factors rows, of right ones columns, each of which there is an instruction for."""
    assert plan.tiles is not None and plan.dot is not None
    kinds, _ = factor_kinds(op)
    for each in instructions_for(op, machine, rows=plan.tiles.size):
        if (each.left, each.right, each.lanes, each.group) == (kinds[rows], kinds[columns], plan.lanes, plan.dot.group):
            return Dots(each, columns, rows, False, False)
    size = f"{plan.tiles.size} rows, {plan.lanes} columns and groups of {plan.dot.group}"
    raise Decline(f"the machine has no instruction for tiles of {size} of {kinds[rows]} and {kinds[columns]}")


def _rows_and_columns(op: StructuredOp, plan: Plan, inputs: Sequence[int]) -> tuple[int, int]:
    with_vectors = [operand for operand in inputs if op.uses(operand, plan.vector)]
    if plan.dot is not None and plan.vector == plan.dot.dim:
        return inputs[0], inputs[1]
    if len(with_vectors) != 1:
        raise Decline("dot products need one input with vectors, and one whose elements these share")
    (columns,) = with_vectors
    return next(operand for operand in inputs if operand != columns), columns


def _check_loops(op: StructuredOp, plan: Plan, rows: int, columns: int) -> None:
    assert plan.dot is not None
    dim, group = plan.dot.dim, plan.dot.group
    if dim not in plan.order[len(plan.order) - plan.carried :]:
        raise Decline(f"dot products need a reduction that is carried, not loop {dim}")
    # Tiles of columns are put together of rows as well.
    contiguous = dim if plan.tiles is not None and op.is_contiguous(columns, dim) else plan.vector
    if not op.is_contiguous(rows, dim) or not op.is_contiguous(columns, contiguous) or not op.uses(columns, dim):
        raise Decline(f"dot products need contiguous elements along loop {dim}, of vectors along loop {plan.vector}")
    if any(length % group for each, length in plan.blocks if each == dim):
        raise Decline(f"blocks of loop {dim} are not made of whole groups of {group}")


def packed_operand(plan: Plan, dots: Dots | None) -> int | None:
    """The input that is laid out as the loops read it."""
    if plan.panel is not None and plan.panel.is_packed:
        return plan.panel.operand
    return dots.columns if dots is not None and plan.dot is not None and plan.dot.is_packed else None
