# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dot-product instructions: sums of products of narrow numbers, several adjacent steps of a reduction at once.

If no instruction supports the factors' signs, the sign bit of the shared factor is flipped. That changes the factor by
128, and the sums are corrected by the contribution of zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....bindings.navigation import made_by, use_count
from ....bindings.rewriting import Decline
from ....emit.arithmetic import constant_value, result_of
from ....emit.combiner import combiners
from ....emit.numbers import Number
from ....emit.structured import StructuredOp
from ....targets.core.machine import DotInstruction, Machine
from .plan import MASKED, SAFE, Dot, Plan

#: Prefix of an element's kind, by the operation that widens it.
_KINDS = {"arith.extf": "", "arith.extsi": "s", "arith.extui": "u"}
_TURNED = {"s8": "u8", "u8": "s8"}


@dataclass(frozen=True)
class Dots:
    """Dot-product instruction, and its use for an operation's two factors."""

    instruction: DotInstruction
    #: Input that is read as vectors, and input that the vectors' lanes share, or that is read as vectors, too.
    columns: int
    rows: int
    #: True if the columns are the left factors.
    is_swapped: bool
    #: True if the sign bits of the rows' elements are flipped.
    is_turned: bool
    #: Pairs of bytes of the plan (byte_pairs.py), or "".
    pairs: str = ""

    @property
    def subtracts_zeros(self) -> bool:
        """Return True if rows of zeros contribute to the sums, which subtract the contribution."""
        return self.is_turned or self.pairs == MASKED

    def add(self, total: Value, columns: Value, rows: Value, masks: Value | None = None) -> Value:
        """Add the products of two vectors to the sums. `masks` flip bits of the rows' elements."""
        if self.pairs:
            flipped = rows if masks is None else result_of("arith.xori", [rows, masks], rows.type)
            type_ = ir.VectorType.get([columns.type.shape[0] // 2], ir.IntegerType.get_signless(16))
            sums = call_intrinsic(self.instruction.byte_pairs, [flipped, columns], type_)
            wide = call_intrinsic(self.instruction.intrinsic, [sums, constant_value(1, type_)], total.type)
            return result_of("arith.addi", [total, wide], total.type)
        factors = [columns, rows] if self.is_swapped else [rows, columns]
        intrinsic, kinds = self.instruction.intrinsic, (self.instruction.left, self.instruction.right)
        if not self.instruction.by_halves:
            return call_intrinsic(intrinsic, [total, *factors], total.type)
        for half in zip(*map(_halves, factors, kinds), strict=True):
            total = result_of("arith.addi", [total, call_intrinsic(intrinsic, half, total.type)], total.type)
        return total

    def zeros(self, type_: ir.Type) -> Value:
        """Return a vector of row elements that are zeros, as the instruction takes them."""
        return self.turned(None, type_) if self.is_turned else constant_value(0, type_)

    def turned(self, rows: Value | None, type_: ir.Type) -> Value:
        """Flip the sign bits of a vector of row elements for the instruction.

        Without `rows`, return the vector of flipped zeros.
        """
        highest = ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(type_.element_type, -128))
        bits = result_of("arith.constant", [], type_, value=highest)
        return bits if rows is None else result_of("arith.xori", [rows, bits], type_)


def _halves(factors: Value, kind: str) -> tuple[Number, Number]:
    """Return the even and the odd bytes of a vector, as 16-bit numbers."""
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
    """Return the kinds of the two multiplied inputs, such as s8, and the type of the sums.

    Raises Decline if the body is not just a sum of products of widened elements.
    """
    (combiner, *more) = combiners(op)
    if more or combiner.product is None:
        raise Decline("it is no sum of products")
    kinds: dict[int, str] = {}
    for factor in combiner.product.operands:
        widening = made_by(factor, *_KINDS)
        argument = None if widening is None else widening.operands[0]
        if widening is None or argument not in list(op.block.arguments) or use_count(argument) != 1:
            raise Decline("its factors are not widened elements")
        kinds[argument.arg_number] = _kind(widening.name, argument.type)
    if len(kinds) != 2 or max(kinds) >= op.input_count:
        raise Decline("its factors are not of two inputs")
    return kinds, str(combiner.element)


def _kind(widening: str, type_: ir.Type) -> str:
    return str(type_) if isinstance(type_, ir.FloatType) else f"{_KINDS[widening]}{type_.width}"


def instructions_for(op: StructuredOp, machine: Machine, *, rows: int = 1) -> list[DotInstruction]:
    """Return the instructions for an operation's factors and sums, sorted by the number of sums.

    One factor's sign bit may be flipped. `rows` is the number of rows of a tile. Raises Decline if there is no
    instruction.
    """
    kinds, total = factor_kinds(op)
    first, second = kinds.values()
    wanted = [{first, second}, {_TURNED.get(first, first), second}, {first, _TURNED.get(second, second)}]
    fitting = [dot for dot in machine.dots if dot.total == total and dot.rows == rows]
    if not (instructions := [each for each in fitting if {each.left, each.right} in wanted]):
        of_tiles = f" on tiles of {rows} rows" if rows > 1 else ""
        what = f"sums of products of {first} and {second} in {total}"
        raise Decline(f"the machine has no instruction for {what}{of_tiles}")
    return sorted(instructions, key=lambda instruction: instruction.lanes)


def dots_of(op: StructuredOp, plan: Plan, machine: Machine) -> Dots | None:
    """Return the dot products of a plan on this machine, or None. Raises Decline if they do not fit the operation."""
    if plan.dot is None and plan.tiles is not None:
        raise Decline("tiles need dot products, but the plan has none")
    if plan.dot is None:
        return None
    kinds, _ = factor_kinds(op)
    rows, columns = _rows_and_columns(op, plan, sorted(kinds))
    _check_loops(op, plan, rows, columns)
    if plan.tiles is not None:
        return _of_tiles(op, plan, rows, columns, machine)
    fitting = [instruction for instruction in instructions_for(op, machine) if instruction.lanes == plan.lanes]
    if plan.dot.pairs:
        return _of_pairs(plan.dot, kinds, rows, columns, fitting)
    turned = "" if plan.vector == plan.dot.dim else _TURNED.get(kinds[rows], "")
    for kind in (kinds[rows], turned):
        for dot_instruction in fitting:
            if dot_instruction.group == plan.dot.group and sorted(
                (dot_instruction.left, dot_instruction.right)
            ) == sorted((kind, kinds[columns])):
                return Dots(dot_instruction, columns, rows, dot_instruction.left != kind, kind != kinds[rows])
    listed = " and ".join(kinds.values())
    raise Decline(f"the machine has no instruction for {plan.lanes} sums of {plan.dot.group} products of {listed}")


def _of_pairs(dot: Dot, kinds: Mapping[int, str], rows: int, columns: int, fitting: Iterable[DotInstruction]) -> Dots:
    """Return the dot products of a plan with pairs of bytes. The columns are signed, and the rows are unsigned."""
    dot_instruction = next(
        (instruction for instruction in fitting if instruction.byte_pairs and instruction.group == dot.group), None
    )
    if dot_instruction is None or kinds[columns] != "s8":
        raise Decline(f"the machine adds no pairs of {kinds[rows]} and {kinds[columns]} in 16 bits")
    # Masks flip the rows' sign bits, too.
    return Dots(dot_instruction, columns, rows, False, dot.pairs == SAFE and kinds[rows] == "s8", dot.pairs)


def _of_tiles(op: StructuredOp, plan: Plan, rows: int, columns: int, machine: Machine) -> Dots:
    """Return the dot products of a plan with tiles: rows are the left factors, columns are the right ones."""
    assert plan.tiles is not None and plan.dot is not None
    kinds, _ = factor_kinds(op)
    for instruction in instructions_for(op, machine, rows=plan.tiles.size):
        if (instruction.left, instruction.right, instruction.lanes, instruction.group) == (
            kinds[rows],
            kinds[columns],
            plan.lanes,
            plan.dot.group,
        ):
            return Dots(instruction, columns, rows, False, False)
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
        raise Decline(f"dot products need a carried reduction, not loop {dim}")
    # Tiles of columns can be composed of rows, too.
    contiguous = dim if plan.tiles is not None and op.is_contiguous(columns, dim) else plan.vector
    if not op.is_contiguous(rows, dim) or not op.is_contiguous(columns, contiguous) or not op.uses(columns, dim):
        raise Decline(f"dot products need contiguous elements along loop {dim}, of vectors along loop {plan.vector}")
    if any(length % group for each, length in plan.blocks if each == dim):
        raise Decline(f"blocks of loop {dim} are no multiples of {group}")


def packed_operand(plan: Plan, dots: Dots | None) -> int | None:
    """Return the input that is packed in the layout in which the loops read it."""
    if plan.panel is not None and plan.panel.is_packed:
        return plan.panel.operand
    return dots.columns if dots is not None and plan.dot is not None and plan.dot.is_packed else None
