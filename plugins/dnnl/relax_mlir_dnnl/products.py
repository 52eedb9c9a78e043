# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion rule for matrix products: inner products with constant weights, which oneDNN packs, or matmuls."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.core.symbols import Dim, equal
from relax_mlir.passes.graph.parts.flat_graph import FlatNode
from relax_mlir.rewriting import Operation

from .converter import Converter
from .quantized import is_dequantized, quantized_product
from .rules import converts
from .runtime.description import Size


def _refuse(op: Operation, call: Call) -> str:
    if call.out_dtype not in (None, call.x1.dtype):
        return f"oneDNN's result has the operands' element type {call.x1.dtype}, not {call.out_dtype}"
    left, right = call.x1.shape, call.x2.shape
    for one, other in zip(reversed(left[:-2]), reversed(right[:-2]), strict=False):
        if one != 1 and other != 1 and equal(one, other) is not True:
            return f"batch dimensions {one} and {other} may be broadcast, which oneDNN needs to know at compile time"
    return ""


@converts("matmul", refuse=_refuse)
def matmul(converter: Converter, node: FlatNode) -> None:
    right = node.operands[1]
    if len(right.dims) != 2:
        _convert_batched(converter, node)
    elif right.is_constant or is_dequantized(right):
        _inner_product(converter, node)
    else:
        _matmul_of_rows(converter, node)


def _rows(converter: Converter, shape: Sequence[Dim], columns: Dim) -> list[tuple[str, Sequence[Size]]]:
    """Return the view that merges all dimensions but the last into rows, or no view for a matrix."""
    return [] if len(shape) == 2 else [("reshape", (converter.count(shape[:-1]), *converter.sizes((columns,))))]


def _inner_product(converter: Converter, node: FlatNode) -> None:
    left, right = node.operands
    shape, (length, columns) = left.dims, right.dims
    source = quantized_product(converter, left, right, axis=1, mask=2)
    # oneDNN's inner products do not support zero points.
    kind, views = ("matmul", []) if source.quantized else ("inner_product", [("permute", (1, 0))])
    converter.step(
        kind,
        node.result,
        {
            "src": converter.argument(source.data, *_rows(converter, shape, length)),
            "weights": converter.argument(source.weight, *views),
        },
        _rows(converter, shape, columns),
        source.quantized,
        source.attributes,
    )


def _matmul_of_rows(converter: Converter, node: FlatNode) -> None:
    left, right = node.operands
    shape, (length, columns) = left.dims, right.dims
    converter.step(
        "matmul",
        node.result,
        {"src": converter.argument(left, *_rows(converter, shape, length)), "weights": converter.argument(right)},
        _rows(converter, shape, columns),
    )


def _convert_batched(converter: Converter, node: FlatNode) -> None:
    """Convert a product with a vector or a batch. Vectors become matrices, and both operands get the same rank."""
    left, right = node.operands
    one: list[Dim] = list(left.dims)
    other: list[Dim] = list(right.dims)
    result: list[Dim] = list(node.result.dims)
    if len(other) == 1:
        other, result = [*other, 1], [*result, 1]
    if len(one) == 1:
        one, result = [1, *one], [*result[:-1], 1, *result[-1:]]
    rank = max(len(one), len(other))
    one = [*[1] * (rank - len(one)), *one]
    other = [*[1] * (rank - len(other)), *other]

    def view(dims: Sequence[Dim], shape: Sequence[Dim]) -> list[tuple[str, Sequence[Size]]]:
        return [] if list(dims) == list(shape) else [("reshape", converter.sizes(dims))]

    converter.step(
        "matmul",
        node.result,
        {
            "src": converter.argument(left, *view(one, left.dims)),
            "weights": converter.argument(right, *view(other, right.dims)),
        },
        view(result, node.result.dims),
    )
