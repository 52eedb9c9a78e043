# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products read transposed operands where they lie: matmul(x, permute_dims(w)) is einsum("IK,JK->IJ", x, w).

It is the same sum of the same products. Worth it is what is read few times: a transposed matrix that many rows are
multiplied by is read faster when it has been permuted before. What is written is written once: permute_dims of a
product goes into it where elements stay side by side.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..bindings.ir import Attribute, Operation, OpView, Value
from ..bindings.mlir import ir
from ..bindings.navigation import defining_op, use_count
from ..bindings.patterns import Pattern, Rewriter, apply_greedy
from ..dialects.core.symbols import Dim, equal
from ..support.errors import RelaxError
from .canonicalize.constants import is_constant
from .canonicalize.reshaping import permutation
from .canonicalize.support import make, shape_of
from .core.base import Pass
from .core.registry import register_pass


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
            raise RelaxError(f"pass '{self.name}': most must be 0 or more, or none, got {self.most}")

    def run(self, op: Operation) -> None:
        def fuse(view: OpView, _: Rewriter) -> Operation | None:
            return _fuse(view, self.most)

        patterns = [
            Pattern("relax.matmul", fuse, after=("relax.permute_dims",)),
            Pattern("relax.permute_dims", _fuse_result, after=("relax.matmul", "relax.einsum")),
        ]
        apply_greedy(op, patterns, what=self.name)


def _fuse_result(op: OpView, _: Rewriter) -> Operation | None:
    """permute_dims(einsum("...->bhqd")) is einsum("...->bqhd"), of a matmul likewise."""
    product = defining_op(op.x, "relax.matmul", "relax.einsum")
    order = permutation(op)
    if product is None or order is None or use_count(op.x) != 1:
        return None
    if order == sorted(order) or order[-1] != len(order) - 1:
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


def _fuse(op: OpView, most: int | None) -> Operation | None:
    terms = _terms_of_matmul(op)
    left, right = shape_of(op.x1), shape_of(op.x2)
    if terms is None or left is None or right is None:
        return None
    one, other = terms.operands
    rows, columns = (left[-2] if len(left) > 1 else 1), (right[-1] if len(right) > 1 else 1)
    first = _permuted(op.x1, one) if _are_few(columns, most, otherwise=False) else None
    second = _permuted(op.x2, other) if _are_few(rows, most, otherwise=True) else None
    if first is None and second is None:
        return None
    (x1, one), (x2, other) = first or (op.x1, one), second or (op.x2, other)
    return make(op, "relax.einsum", [x1, x2], _subscripts(one, other, result=terms.result))


def _labels(batch: str, rank: int, matrix: str) -> str:
    """Of a matrix in a batch, aligned with its last dimensions; of a vector, which is summed over, one."""
    return "K" if rank == 1 else batch[len(batch) - (rank - 2) :] + matrix


def _are_few(size: Dim, most: int | None, *, otherwise: bool) -> bool:
    return most is None or (size <= most if isinstance(size, int) else otherwise)


def _permuted(value: Value, labels: str) -> tuple[Value, str] | None:
    """What is permuted for nobody else, and the labels of its own dimensions."""
    permute = defining_op(value, "relax.permute_dims")
    # Constants are permuted when the program is compiled.
    if permute is None or use_count(value) != 1 or is_constant(permute.x):
        return None
    order = permutation(permute)
    if order is None or order == sorted(order):
        return None
    return permute.x, "".join(labels[order.index(axis)] for axis in range(len(order)))
