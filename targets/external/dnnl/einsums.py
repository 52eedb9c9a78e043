# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of products of two tensors that are products of matrices, by the order in which their dimensions are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Operation
from ....dialects.core.opdef import Call
from ....dialects.core.symbols import Dim, equal
from ....dialects.relax.infer.einsum import parse_subscripts
from ....runtime.external.dnnl.description import Size
from ..core.flatten import FlatNode, Ref
from .converter import Converter
from .quantized import is_dequantized, quantized_product
from .rules import converts

Labels = Sequence[str]


class _Roles(NamedTuple):
    """What labels are: in both operands and the result, rows and columns of it, summed."""

    batch: list[str]
    rows: list[str]
    summed: list[str]
    columns: list[str]


def _roles(one: Labels, other: Labels, result: Labels) -> _Roles:
    return _Roles(
        [each for each in result if each in one and each in other],
        [each for each in result if each in one and each not in other],
        [each for each in one if each in other and each not in result],
        [each for each in result if each in other and each not in one],
    )


def _refuse(op: Operation, call: Call) -> str:
    subscripts = parse_subscripts(call.subscripts)
    if len(subscripts.operands) != 2:
        return f"oneDNN multiplies two tensors, not {len(subscripts.operands)}"
    one, other = subscripts.operands
    roles = _roles(one, other, subscripts.result)
    used = {label for role in roles for label in role}
    if "..." in (*one, *other) or len({*one}) < len(one) or len({*other}) < len(other) or used != {*one, *other}:
        return f"'{call.subscripts}' is no product of matrices"
    left, right = (info.shape for info in call.operands["operands"])
    shared = ((left[one.index(label)], right[other.index(label)]) for label in (*roles.batch, *roles.summed))
    if any(equal(*sizes) is not True for sizes in shared):
        return "whether a size is broadcast is not known before it runs"
    return "" if len(roles.batch) <= 4 else "oneDNN has fast kernels for 6 dimensions at most"


class _Matrices(NamedTuple):
    """How a tensor is seen as matrices: its labels in order, as groups of which each but the batch is one dimension."""

    labels: Labels
    batch: Labels
    groups: Sequence[Labels]

    def views(self, converter: Converter, ref: Ref) -> list[tuple[str, Sequence[Size]]]:
        sizes: dict[str, Dim] = dict(zip(self.labels, ref.dims, strict=True))
        order = [*self.batch, *(label for group in self.groups for label in group)]
        axes = [list(self.labels).index(label) for label in order]
        found: list[tuple[str, Sequence[Size]]] = []
        if axes != [*range(len(axes))]:
            found.append(("permute", axes))
        if any(len(group) != 1 for group in self.groups):
            joined = [converter.count([sizes[label] for label in group]) for group in self.groups]
            found.append(("reshape", (*converter.sizes([sizes[label] for label in self.batch]), *joined)))
        return found


@converts("einsum", refuse=_refuse)
def einsum(converter: Converter, node: FlatNode) -> None:
    subscripts = parse_subscripts(node.call.subscripts)
    sides = list(zip(node.operands, subscripts.operands, strict=True))
    if _is_swapped(sides, subscripts.result):
        sides.reverse()
    (left, one), (right, other) = sides
    batch, rows, summed, columns = _roles(one, other, subscripts.result)
    packs = not batch and (right.is_constant or is_dequantized(right))
    axis = list(other).index(columns[0]) if len(columns) == 1 else -1
    source = quantized_product(converter, left, right, axis=axis, mask=2) if packs else None
    # Inner products have no zero points.
    is_inner = packs and source is not None and not source.quantized
    kernel = [columns, summed] if is_inner else [summed, columns]
    data, weight = (left, right) if source is None else (source.data, source.weight)
    converter.step(
        "inner_product" if is_inner else "matmul",
        node.result,
        {
            "src": converter.argument(data, *_Matrices(one, batch, [rows, summed]).views(converter, left)),
            "weights": converter.argument(weight, *_Matrices(other, batch, kernel).views(converter, right)),
        },
        _Matrices(subscripts.result, batch, [rows, columns]).views(converter, node.result),
        source.quantized if source is not None else None,
        source.attributes if source is not None else None,
    )


def _is_swapped(sides: Sequence[tuple[Ref, Labels]], result: Labels) -> bool:
    """Whether the second operand has the rows: where the first is constant, or the result has its dimensions first."""
    (left, one), (right, other) = sides
    if left.is_constant != right.is_constant:
        return left.is_constant
    own = [label for label in result if (label in one) != (label in other)]
    return bool(own) and own[0] in other
