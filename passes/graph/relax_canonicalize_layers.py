# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One form of a layer for codegens: the data, a constant weight as the product reads it, and a constant bias.

Front ends and users write the same layer in several forms. matmul(x, permute_dims(dequantize(w))) comes from torch,
einsum("ay,xy->ax") from ONNX's Gemm, a bias under expand_dims from convolutions. The pass moves permutations and views
into the constants, which `relax-fold-constant` computes then, and gives each layer a dequantize of its own. Weights
that are arguments stay: each call would transpose them. The pass only runs before a partition: targets choose
the order of constant weights themselves, by the machine.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from ...bindings.ir import Operation, OpView, Value
from ...bindings.mlir import i64_attribute, ir
from ...bindings.navigation import defining_op, operations_in, use_count, users_of
from ...bindings.patterns import Outcome, Pattern, PatternSet, Rewriter, apply_greedy
from ...bindings.rewriting import made_again, use_instead
from ...dialects import relax
from ...dialects.core.symbols import equal
from ...dialects.relax.infer.einsum import parse_subscripts
from ...dialects.relax.known_constants import is_constant
from ...dialects.relax.values import as_result, dtype_of, make, normal_axis, shape_of, with_dtype
from ..core.base import Pass
from ..core.registry import register_pass
from .canonicalize.data_movement import permutation
from .scales.weights import CONVOLUTIONS

_DEQUANTIZE, _PERMUTE = "relax.dequantize", "relax.permute_dims"
_PRODUCTS = frozenset({"relax.matmul", *CONVOLUTIONS})
_VIEWS = (_PERMUTE, "relax.reshape", "relax.flatten", "relax.expand_dims", "relax.squeeze")


@register_pass
class CanonicalizeLayers(Pass):
    """Rewrite layers with constant weights to an addition and a product that reads the weight as stored."""

    name: ClassVar[str] = "relax-canonicalize-layers"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    def run(self, op: Operation) -> None:
        apply_greedy(op, _PATTERNS, max_iterations=_MOST_ROUNDS, what=self.name)
        for operation in operations_in(op):
            if operation.name == _DEQUANTIZE:
                _copy_for_layers(operation)


#: A round moves a view past one operation.
_MOST_ROUNDS = 32


class _Layer(NamedTuple):
    """An einsum as a product of rows by a matrix."""

    data: Value
    weight: Value
    #: True if the weight has a row for each column of the result.
    is_transposed: bool


def multiply_by_matrix(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite einsum("ay,xy->ax", x, w) with a constant w to matmul(x, permute_dims(w))."""
    if (layer := _layer(op)) is None:
        return None
    weight = relax.permute_dims(layer.weight, axes=[1, 0]) if layer.is_transposed else layer.weight
    return as_result(op, relax.matmul(layer.data, weight))


def _layer(op: OpView) -> _Layer | None:
    terms, operands = parse_subscripts(op.subscripts), list(op.operation.operands)
    if len(operands) != 2:
        return None
    sides = list(zip(operands, terms.operands, strict=True))
    for (data, rows), (weight, matrix) in (sides, sides[::-1]):
        if not _is_weight(weight) or len(matrix) != 2 or len({*rows, *matrix}) != len(rows) + 1 or len(rows) < 2:
            continue
        inner = rows[-1]
        if inner not in matrix or terms.result != (*rows[:-1], *(label for label in matrix if label != inner)):
            continue
        place = matrix.index(inner)
        sizes, taps = shape_of(data), shape_of(weight)
        # An einsum repeats a dimension of size 1.
        if sizes and taps and equal(sizes[-1], taps[place]) is True:
            return _Layer(data, weight, place == 1)
    return None


def _is_weight(value: Value) -> bool:
    """Check whether a value is a constant, dequantized or permuted at most."""
    op = defining_op(value, _DEQUANTIZE, _PERMUTE)
    return is_constant(value) if op is None else _is_weight(op.operation.operands[0])


def view_before_dequantize(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite view(dequantize(x)) to dequantize(view(x)), with the axis of the scales moved.

    The rule applies to constants, and to data that only layers read: views without a permutation cost nothing.
    """
    inner = defining_op(op.operation.operands[0], _DEQUANTIZE)
    if inner is None or not (_is_weight(inner.operation.results[0]) or _is_data_of_layer(op)):
        return None
    if (axis := _moved_axis(op, inner)) is None:
        return None
    numbers, *scales = inner.operation.operands
    view, result = op.operation, op.operation.results[0]
    moved = made_again(view, [numbers, *list(view.operands)[1:]], [with_dtype(result, dtype_of(numbers))])
    attributes = {**dict(inner.operation.attributes.items()), "axis": i64_attribute(axis)}
    return make(op, _DEQUANTIZE, [moved.results[0], *scales], attributes)


def _is_data_of_layer(view: OpView) -> bool:
    users = users_of(view.operation.results[0])
    return view.operation.name != _PERMUTE and all(user.name in _PRODUCTS for user in users)


def _moved_axis(view: OpView, inner: OpView) -> int | None:
    """Return the axis of the scales behind a view, 0 for one scale; None if the view does not keep the axis apart."""
    numbers, *scales = inner.operation.operands
    before, after = shape_of(numbers), shape_of(view.operation.results[0])
    if before is None or after is None:
        return None
    if all(shape_of(scale) in ((), (1,)) for scale in scales):
        return 0
    axis = normal_axis(inner.axis, len(before))
    if view.operation.name == _PERMUTE:
        order = permutation(view)
        return None if order is None else order.index(axis)
    kept, behind = ([place for place, size in enumerate(shape) if size != 1] for shape in (before, after))
    if axis not in kept or [before[place] for place in kept] != [after[place] for place in behind]:
        return None
    return behind[kept.index(axis)]


def _copy_for_layers(dequantize: Operation) -> None:
    """Give each layer a dequantize of its own, which its pattern can contain without a second result."""
    value = dequantize.results[0]
    for layer in dict.fromkeys(users_of(value)):
        if use_count(value) == 1:
            return
        if layer.name in _PRODUCTS:
            own = dequantize.clone(ip=ir.InsertionPoint(layer))
            use_instead(layer, {value: own.results[0]})


_PATTERNS = PatternSet(
    [Pattern("relax.einsum", multiply_by_matrix), Pattern(_VIEWS, view_before_dequantize, after=(_DEQUANTIZE,))]
)
