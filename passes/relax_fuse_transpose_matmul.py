# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products read transposed operands in place: matmul(x, permute_dims(w)) is einsum("IK,JK->IJ", x, w).

It is the same sum of the same products. Worth it is what is read few times: a transposed matrix that many rows are
multiplied by is read faster when it has been permuted before. What is written is written once: permute_dims of a
product goes into it where elements stay contiguous.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..bindings.ir import Attribute, Operation, OpView, Value
from ..bindings.mlir import ir
from ..bindings.patterns import apply_greedy
from ..dialects.core.symbols import Dim, equal
from ..dialects.relax.known_constants import is_constant
from ..dialects.relax.values import make, shape_of
from ..support.errors import OptionError
from .canonicalize.data_movement import permutation
from .canonicalize.rules import rule
from .core.base import Pass
from .core.registry import register_pass
from .patterns.matched import Match
from .patterns.operator_patterns import is_op
from .patterns.tree import wildcard


@register_pass
@dataclass(frozen=True)
class FuseTransposeMatmul(Pass):
    """Products of permuted tensors become einsums, which read them as they are."""

    name: ClassVar[str] = "relax-fuse-transpose-matmul"
    anchor: ClassVar[str] = "any"

    #: By how many rows a permuted right operand is multiplied at most, and a left one by how many columns; none for
    #: any number. Rows that only the run counts are taken for few, columns for many.
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


# With no other user.
_LEFT, _RIGHT = (is_op("relax.permute_dims")(wildcard()).used_once().named(name) for name in ("left", "right"))
_MATMUL = is_op("relax.matmul")
_PERMUTED_OPERANDS = _MATMUL(_LEFT, _RIGHT | wildcard()) | _MATMUL(wildcard(), _RIGHT)
_PERMUTED_RESULT = is_op("relax.permute_dims")(is_op("relax.matmul", "relax.einsum").used_once().named("product"))


def _fuse_result(found: Match) -> Operation | None:
    """permute_dims(einsum("...->bhqd")) is einsum("...->bqhd"), of a matmul likewise."""
    op, product = found.op(), found.op("product")
    order = permutation(op)
    if order is None or order == sorted(order) or order[-1] != len(order) - 1:
        return None
    terms = _terms_of_matmul(product) if product.operation.name == "relax.matmul" else _terms_of_einsum(product)
    if terms is None or len(terms.result) != len(order):
        return None
    result = "".join(terms.result[axis] for axis in order)
    return make(op, "relax.einsum", list(product.operation.operands), _subscripts(*terms.operands, result=result))


class _Terms(NamedTuple):
    """The labels of a product's operands, and of what it gives."""

    operands: tuple[str, ...]
    result: str


def _terms_of_einsum(op: OpView) -> _Terms | None:
    operands, arrow, result = op.subscripts.replace(" ", "").partition("->")
    return _Terms(tuple(operands.split(",")), result) if arrow and "." not in operands else None


def _terms_of_matmul(op: OpView) -> _Terms | None:
    left, right = shape_of(op.x1), shape_of(op.x2)
    if op.out_dtype is not None or left is None or right is None:
        return None
    # An einsum would take a size of 1 for one that is to be repeated.
    if equal(left[-1], right[-2] if len(right) > 1 else right[0]) is not True:
        return None
    batch = string.ascii_lowercase[: max(len(left), len(right), 2) - 2]
    one, other = _labels(batch, len(left), "IK"), _labels(batch, len(right), "KJ")
    return _Terms((one, other), batch + "I" * ("I" in one) + "J" * ("J" in other))


def _subscripts(*operands: str, result: str) -> dict[str, Attribute]:
    return {"subscripts": ir.StringAttr.get(f"{','.join(operands)}->{result}")}


def _fuse(found: Match, most: int | None) -> Operation | None:
    op = found.op()
    terms = _terms_of_matmul(op)
    left, right = shape_of(op.x1), shape_of(op.x2)
    if terms is None or left is None or right is None:
        return None
    one, other = terms.operands
    rows, columns = (left[-2] if len(left) > 1 else 1), (right[-1] if len(right) > 1 else 1)
    first = _permuted(found.get("left"), one) if _are_few(columns, most, otherwise=False) else None
    second = _permuted(found.get("right"), other) if _are_few(rows, most, otherwise=True) else None
    if first is None and second is None:
        return None
    (x1, one), (x2, other) = first or (op.x1, one), second or (op.x2, other)
    return make(op, "relax.einsum", [x1, x2], _subscripts(one, other, result=terms.result))


def _labels(batch: str, rank: int, matrix: str) -> str:
    """Of a matrix in a batch, aligned with its last dimensions; of a vector, which is summed over, one."""
    return "K" if rank == 1 else batch[len(batch) - (rank - 2) :] + matrix


def _are_few(size: Dim, most: int | None, *, otherwise: bool) -> bool:
    return most is None or (size <= most if isinstance(size, int) else otherwise)


def _permuted(value: Value | None, labels: str) -> tuple[Value, str] | None:
    """What is permuted, and the labels of its own dimensions."""
    # Constants are permuted when the program is compiled.
    if value is None or is_constant(value.owner.x):
        return None
    order = permutation(value.owner)
    if order is None or order == sorted(order):
        return None
    return value.owner.x, "".join(labels[order.index(axis)] for axis in range(len(order)))
