# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion rule for einsums of two tensors that are matrix products after permuting and merging dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.core.symbols import Dim, equal
from relax_mlir.dialects.relax.infer.einsum import parse_subscripts
from relax_mlir.passes.graph.parts.flat_graph import FlatNode, Ref
from relax_mlir.rewriting import Operation

from .converter import Converter
from .quantized import is_dequantized, quantized_product
from .rules import converts
from .runtime.description import Size

Labels = Sequence[str]


class _Roles(NamedTuple):
    """Labels by role: batch labels (in both operands and the result), rows, summed labels and columns."""

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
        return f"'{call.subscripts}' is not a matrix product"
    left, right = (info.shape for info in call.operands["operands"])
    shared = ((left[one.index(label)], right[other.index(label)]) for label in (*roles.batch, *roles.summed))
    if any(equal(*sizes) is not True for sizes in shared):
        return "oneDNN needs to know at compile time which sizes are broadcast"
    return "" if len(roles.batch) <= 4 else "oneDNN's fast kernels support at most 6 dimensions"


class _Matrices(NamedTuple):
    """View of a tensor as matrices: its labels, the batch labels, and groups that become one dimension each."""

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
    # oneDNN's inner products do not support zero points.
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
    """Check whether the second operand has the rows of the product.

    The non-constant operand has the rows. Otherwise, the operand with the first unshared label of the result has them.
    """
    (left, one), (right, other) = sides
    if left.is_constant != right.is_constant:
        return left.is_constant
    own = [label for label in result if (label in one) != (label in other)]
    return bool(own) and own[0] in other
