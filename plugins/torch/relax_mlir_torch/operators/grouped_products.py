# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of products of groups of rows with one matrix each, as in mixtures of experts."""

from __future__ import annotations

from relax_mlir.frontends.core.grouped_products import grouped_product

from ..prelude import Outputs, Tensor, TorchNode, Value, cast, register_torch, relax


@register_torch("transformers::grouped_mm_fallback")
def grouped_mm_of_transformers(node: TorchNode) -> Outputs:
    return _multiply_groups(node, node.value("input"), node.tensor("weight"), node.value("offs"))


@register_torch("aten::_grouped_mm")
def grouped_mm(node: TorchNode) -> Outputs:
    """Convert products of groups of rows. Products of groups of columns are refused."""
    if node.rank("self") != 2 or node.rank("mat2") != 3 or not node.has("offs"):
        raise node.fail("only groups of rows of a matrix, each with a matrix of its own, are supported", "mat2")
    product = _multiply_groups(node, node.value("self"), node.tensor("mat2"), node.value("offs"))
    if node.has("bias"):
        product = relax.add(product, node.tensor("bias"))
    return cast(product, node.dtype)


def _multiply_groups(node: TorchNode, rows: Value, weights: Tensor, offsets: Value) -> Tensor:
    if not isinstance(count := (offsets.shape or (None,))[0], int):
        raise node.fail("the number of groups must be known", "offs")
    return grouped_product(rows, weights, offsets.ssa, count)
