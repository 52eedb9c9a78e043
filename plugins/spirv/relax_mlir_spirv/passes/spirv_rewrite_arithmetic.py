# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewriting of arithmetic that upstream or drivers compute wrongly.

Upstream's remainders are wrong for the smallest integer, and for 64 bits. Mesa 22 evaluates the comparison of a widened
i32 with a constant as always true or always false. Here the comparison stays 32 bits wide, which is also cheaper. bf16
is converted to types wider than f32 through f32. Integers of three, five, six or seven bits become the low bits of
other integers. Vulkan's float remainders are as inexact as the quotient, and Mesa rounds f64 incorrectly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import constant_of, made_by, operations_in, users_of
from relax_mlir.bindings.rewriting import replace_op
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.numbers import constant, number, on_each_element, select, unary
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.gpu.kernels.outline import kernels_in

from ..float_remainder import float_remainder

#: Predicates of arith, by number, for swapped operands.
_SWAPPED = {0: 0, 1: 1, 2: 4, 3: 5, 4: 2, 5: 3}
#: Predicates that are true for a constant above the range of the operand, and below it.
_BELOW, _ABOVE = {1, 2, 3}, {1, 4, 5}
_WIDENING = ("arith.extsi", "arith.index_cast")


@register_pass
@dataclass(frozen=True)
class RewriteArithmetic(Pass):
    """Rewrite remainders, comparisons and conversions so that their results are correct."""

    name: ClassVar[str] = "spirv-rewrite-arithmetic"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "math", "scf", "vector")

    #: Interface of the generated code: vulkan or opencl.
    api: str = "vulkan"

    def run(self, op: Operation) -> None:
        rewrites = _REWRITES | (_OF_VULKAN if self.api == "vulkan" else {})
        with op.context:
            for each in [operation for kernel in kernels_in(op) for operation in operations_in(kernel)]:
                rewrite = rewrites.get(each.name)
                if rewrite is not None:
                    with each.location, ir.InsertionPoint(each):
                        rewrite(each)


def _remainder(op: Operation) -> None:
    """Compute the remainder with the sign of the dividend, as division truncates."""
    x, y = op.operands
    quotient = number(result_of("arith.divsi", [x, y], x.type))
    replace_op(op, [(number(x) - quotient * number(y)).value])


def _compare(op: Operation) -> None:
    predicate = op.attributes["predicate"].value
    x, y = op.operands
    if predicate not in _SWAPPED or isinstance(x.type, ir.VectorType):
        return
    if constant_of(x) is not None:
        x, y, predicate = y, x, _SWAPPED[predicate]
    narrow, value = _narrow(x), constant_of(y)
    if narrow is None or value is None:
        return
    most = (1 << (narrow.type.width - 1)) - 1
    if -most - 1 <= value <= most:
        kind = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
        operands = [narrow, constant(value, narrow.type).value]
        replace_op(op, [result_of("arith.cmpi", operands, op.results[0].type, predicate=kind)])
    else:
        is_true = predicate in (_BELOW if value > most else _ABOVE)
        replace_op(op, [constant(int(is_true), op.results[0].type).value])


def _narrow(value: Value) -> Value | None:
    """Return the integer before sign extension."""
    maker = made_by(value, *_WIDENING)
    if maker is None or not isinstance(maker.operands[0].type, ir.IntegerType):
        return None
    narrow = maker.operands[0]
    wide = 64 if isinstance(value.type, ir.IndexType) else value.type.width
    return narrow if 1 < narrow.type.width < wide else None


def _widen(op: Operation) -> None:
    x, type_ = op.operands[0], op.results[0].type
    if _element(x.type) == ir.BF16Type.get() and _element(type_) == ir.F64Type.get():
        between = ir.VectorType.get(type_.shape, ir.F32Type.get()) if type_ != ir.F64Type.get() else ir.F32Type.get()
        op.operands[0] = result_of("arith.extf", [x], between)


def _low_bits(op: Operation) -> None:
    """Replace a truncation to a width that is not a power of two, followed by an extension, with a mask."""
    cut = made_by(op.operands[0], "arith.trunci")
    if cut is None or not (kept := _element(op.operands[0].type).width) & (kept - 1):
        return
    low, wide = number(cut.operands[0]) & ((1 << kept) - 1), op.results[0].type
    width = _element(wide).width
    if low.bits != width:
        low = number(result_of("arith.trunci" if low.bits > width else "arith.extui", [low.value], wide))
    replace_op(op, [low.value])
    if not users_of(cut.results[0]):
        cut.operation.erase()


def _from_truth(op: Operation) -> None:
    """Convert a truth value to an index."""
    if op.operands[0].type == ir.IntegerType.get_signless(1):
        wide = result_of("arith.extui", [op.operands[0]], ir.IntegerType.get_signless(64))
        replace_op(op, [result_of("arith.index_cast", [wide], op.results[0].type)])


def _float_remainder(op: Operation) -> None:
    replace_op(op, [on_each_element(float_remainder, *map(number, op.operands)).value])


def _round(op: Operation) -> None:
    """Round f64 by adding and subtracting a number at which the spacing of floats is 1."""
    (x,) = map(number, op.operands)
    if x.dtype != "f64":
        return
    size = unary("math.absf", x)
    whole = (size + 2.0**52) - 2.0**52
    if op.name == "math.trunc":
        whole = select(whole > size, whole - 1.0, whole)
    whole = select(size < 2.0**52, whole, size)
    replace_op(op, [result_of("math.copysign", [whole, x], x.type)])


def _element(type_: Type) -> Type:
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


_REWRITES = {
    "arith.remsi": _remainder,
    "arith.cmpi": _compare,
    "arith.extf": _widen,
    "arith.extui": _low_bits,
    "arith.index_castui": _from_truth,
}
_OF_VULKAN = {"arith.remf": _float_remainder, "math.roundeven": _round, "math.trunc": _round}
