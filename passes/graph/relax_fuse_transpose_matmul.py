# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products read transposed operands in place: matmul(x, permute_dims(w)) is einsum("IK,JK->IJ", x, w).

Both compute the same sum of the same products. The rewrite pays for matrices that are read few times: if many rows are
multiplied by a transposed matrix, reading it is faster after a permutation. Results are written once, so permute_dims
of a product moves into the product if elements stay contiguous.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ...bindings.ir import Attribute, Operation, OpView, Value
from ...bindings.mlir import ir
from ...bindings.patterns import apply_greedy
from ...dialects.core.symbols import Dim, equal
from ...dialects.relax.known_constants import is_constant
from ...dialects.relax.values import make, shape_of
from ...support.errors import OptionError
from ..core.base import Pass
from ..core.registry import register_pass
from ..patterns.matched import Match
from ..patterns.operator_patterns import is_op
from ..patterns.tree import wildcard
from .canonicalize.data_movement import permutation
from .canonicalize.rules import rule


@register_pass
@dataclass(frozen=True)
class FuseTransposeMatmul(Pass):
    """Fuse transposes into products, as einsums of the original tensors."""

    name: ClassVar[str] = "relax-fuse-transpose-matmul"
    anchor: ClassVar[str] = "any"

    #: Maximum number of rows for a permuted right operand, or of columns for a left operand; `none`: any number. A
    #: dynamic number of rows counts as few, of columns as many.
    most: int | None = 64

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 0:
            raise OptionError(f"pass '{self.name}': most must be 0 or more, or none, got {self.most}")

    def run(self, op: Operation) -> None:
        patterns = [
            rule(_PERMUTED_OPERANDS, lambda found: _fuse(found, self.most), name="fuse_operands"),
            rule(_PERMUTED_RESULT, _fuse_result),
        ]
        apply_greedy(op, patterns, what=self.name)


# The permutation has no other user.
_LEFT, _RIGHT = (is_op("relax.permute_dims")(wildcard()).used_once().named(name) for name in ("left", "right"))
_MATMUL = is_op("relax.matmul")
_PERMUTED_OPERANDS = _MATMUL(_LEFT, _RIGHT | wildcard()) | _MATMUL(wildcard(), _RIGHT)
_PERMUTED_RESULT = is_op("relax.permute_dims")(is_op("relax.matmul", "relax.einsum").used_once().named("product"))


def _fuse_result(match: Match) -> Operation | None:
    """Rewrite permute_dims(einsum("...->bhqd")) to einsum("...->bqhd"), and permute_dims of a matmul likewise."""
    op, product = match.op(), match.op("product")
    order = permutation(op)
    if order is None or order == sorted(order) or order[-1] != len(order) - 1:
        return None
    terms = _terms_of_matmul(product) if product.operation.name == "relax.matmul" else _terms_of_einsum(product)
    if terms is None or len(terms.result) != len(order):
        return None
    result = "".join(terms.result[axis] for axis in order)
    return make(op, "relax.einsum", list(product.operation.operands), _subscripts(*terms.operands, result=result))


class _Terms(NamedTuple):
    """Labels of the operands and the result of a product."""

    operands: tuple[str, ...]
    result: str


def _terms_of_einsum(op: OpView) -> _Terms | None:
    operands, arrow, result = op.subscripts.replace(" ", "").partition("->")
    return _Terms(tuple(operands.split(",")), result) if arrow and "." not in operands else None


def _terms_of_matmul(op: OpView) -> _Terms | None:
    left, right = shape_of(op.x1), shape_of(op.x2)
    if op.out_dtype is not None or left is None or right is None:
        return None
    # A matmul repeats a dimension of size 1 of the batch, and an einsum would repeat the inner one, too.
    if equal(left[-1], right[-2] if len(right) > 1 else right[0]) is not True:
        return None
    batch = string.ascii_lowercase[: max(len(left), len(right), 2) - 2]
    one, other = _labels(batch, len(left), "IK"), _labels(batch, len(right), "KJ")
    return _Terms((one, other), batch + "I" * ("I" in one) + "J" * ("J" in other))


def _subscripts(*operands: str, result: str) -> dict[str, Attribute]:
    return {"subscripts": ir.StringAttr.get(f"{','.join(operands)}->{result}")}


def _fuse(match: Match, most: int | None) -> Operation | None:
    op = match.op()
    terms = _terms_of_matmul(op)
    left, right = shape_of(op.x1), shape_of(op.x2)
    if terms is None or left is None or right is None:
        return None
    one, other = terms.operands
    rows, columns = (left[-2] if len(left) > 1 else 1), (right[-1] if len(right) > 1 else 1)
    first = _permutation_operand(match.get("left"), one) if _are_few(columns, most, otherwise=False) else None
    second = _permutation_operand(match.get("right"), other) if _are_few(rows, most, otherwise=True) else None
    if first is None and second is None:
        return None
    (x1, one), (x2, other) = first or (op.x1, one), second or (op.x2, other)
    return make(op, "relax.einsum", [x1, x2], _subscripts(one, other, result=terms.result))


def _labels(batch: str, rank: int, matrix: str) -> str:
    """Return the labels of a matrix in a batch, aligned at its last dimensions. A vector has one, which is summed."""
    return "K" if rank == 1 else batch[len(batch) - (rank - 2) :] + matrix


def _are_few(size: Dim, most: int | None, *, otherwise: bool) -> bool:
    return most is None or (size <= most if isinstance(size, int) else otherwise)


def _permutation_operand(value: Value | None, labels: str) -> tuple[Value, str] | None:
    """Return the operand of the permutation, and the labels of its dimensions. None if nothing is permuted."""
    # Constants are permuted at compile time.
    if value is None or is_constant(value.owner.x):
        return None
    if (order := permutation(value.owner)) is None or order == sorted(order):
        return None
    return value.owner.x, "".join(labels[order.index(axis)] for axis in range(len(order)))
