# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of backward steps of indexing that torch does not decompose."""

from __future__ import annotations

from ..prelude import Outputs, Tensor, TorchNode, Value, gradients_by, like, register_torch, relax, sizes


@register_torch("aten::masked_scatter_backward")
def masked_scatter_backward(node: TorchNode) -> Outputs:
    """Return the gradient by the source. The mask's elements came from the first elements of the source."""
    arriving = node.value("grad_output")
    into = Value(ssa=sizes.zeros(sizes.sizes_of(arriving), node.dtype))
    source = Value(ssa=sizes.zeros(node.sizes("sizes"), node.dtype))
    return gradients_by(node, "aten::masked_scatter", ["source"], [arriving], self=into, source=source)


@register_torch("aten::_embedding_bag_backward", "aten::_embedding_bag_dense_backward")
def embedding_bag_backward(node: TorchNode) -> Outputs:
    """Return the gradient by the rows. A maximum's gradient goes to its row; a sum is linear in the rows."""
    if node.bool("sparse"):
        raise node.fail("sparse gradients are not supported: use EmbeddingBag(..., sparse=False)")
    arriving = node.value("grad")
    bags, width = sizes.sizes_of(arriving)
    rows = sizes.zeros([node.size("num_weights"), width], node.dtype)
    if node.int("mode") == 2:
        places = node.tensor("maximum_indices", "i64")
        # An empty bag has no maximum.
        kept = relax.where(relax.less(places, like(places, 0)), like(arriving.ssa, 0), arriving.ssa)
        places = relax.maximum(places, like(places, 0))
        return relax.scatter_elements(rows, places, kept, axis=0, reduction="add")
    tensors = gradients_by(
        node, "aten::_embedding_bag_forward_only", ["weight"], [arriving],
        weight=Value(ssa=rows), offsets=_first(node, bags),
    )  # fmt: skip
    return _divide_by_uses(node, tensors[0]) if node.bool("scale_grad_by_freq") else tensors


def _divide_by_uses(node: TorchNode, gradient: Tensor) -> Tensor:
    """Divide each row by the number of its uses."""
    places = node.tensor("indices", "i64")
    none = sizes.zeros([node.size("num_weights")], node.dtype)
    counts = relax.scatter_elements(none, places, relax.ones_like(places, dtype=node.dtype), axis=0, reduction="add")
    return relax.divide(gradient, relax.expand_dims(relax.maximum(counts, like(counts, 1)), axis=[1]))


@register_torch("aten::_embedding_bag_per_sample_weights_backward")
def embedding_bag_weights_backward(node: TorchNode) -> Outputs:
    arriving, places = node.value("grad"), node.value("indices")
    weights = Value(ssa=sizes.zeros(sizes.sizes_of(places), node.dtype))
    return gradients_by(
        node, "aten::_embedding_bag_forward_only", ["per_sample_weights"], [arriving],
        per_sample_weights=weights, offsets=_first(node, sizes.sizes_of(arriving)[0]),
    )  # fmt: skip


def _first(node: TorchNode, bags: sizes.Size) -> Value:
    """Return the starts of the bags, without the optional end of the last bag."""
    return Value(ssa=sizes.sliced(node.value("offsets"), {0: (0, bags, 1)}, {0: bags}))
