# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converter of attention with functions of scores and of a mask.

If the functions only add to scores or hide them, the result is attention with a bias, else torch's own definition.
torch traces both to operators on whole tensors.
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.core.symbols import equal

from ..decomposition import table, traced
from ..fx_operators import functional_name, is_scalar
from ..prelude import Outputs, Tensor, TorchNode, Value, cast, register_torch, relax

if TYPE_CHECKING:
    from torch.fx import Graph, GraphModule
    from torch.fx import Node as FxNode

# Behind the gradients of queries, keys and values, the backward step lists gradients of other tensors.
_MOST_RESULTS = 3
# Permutation of [batch, heads, length, size] that swaps heads and length.
_SWAPPED = [0, 2, 1, 3]


@register_torch("higher_order::flex_attention")
def flex_attention(node: TorchNode) -> Outputs:
    score, mask = node.get(3), node.get(4)[-1]
    query, key, value = (node.value(place) for place in range(3))
    is_exact = query.dtype in ("f32", "f64") or _is_identity(score.graph)
    has_own_keys = query.shape and key.shape and equal(query.shape[0], key.shape[0]) is True
    if any(node.is_wanted[1:]) or not (_is_added_to(score.graph) and is_exact and has_own_keys):
        return _convert_by_definition(node, "math_attention")
    is_causal = _is_causal(mask.graph)
    made = relax.nn.attention(
        relax.permute_dims(query.ssa, axes=_SWAPPED),
        relax.permute_dims(key.ssa, axes=_SWAPPED),
        relax.permute_dims(value.ssa, axes=_SWAPPED),
        bias=_bias(node, score, None if is_causal or _hides_nothing(mask.graph) else mask),
        scale=node.float(5),
        causal_mask="TopLeft" if is_causal else None,
    )
    return [relax.permute_dims(made, axes=_SWAPPED), None, None]


@register_torch("higher_order::flex_attention_backward")
def flex_attention_backward(node: TorchNode) -> Outputs:
    return _convert_by_definition(node, "sdpa_dense_backward")


# ---- analysis of the functions ----


def _output(graph: Graph) -> FxNode:
    (output,) = graph.output_node().all_input_nodes
    return output


def _placeholders(graph: Graph) -> list[FxNode]:
    return list(graph.find_nodes(op="placeholder"))


def _is_identity(graph: Graph) -> bool:
    return _output(graph) is _placeholders(graph)[0]


def _is_added_to(graph: Graph) -> bool:
    """Check whether a function of a score returns the score plus an independent value, or minus infinity."""
    held, output = _placeholders(graph)[0], _output(graph)
    while held is not output:
        (user, *others) = held.users or [None]
        if user is None or others or not _adds(user, held):
            return False
        held = user
    return len(output.users) == 1


def _adds(user: FxNode, fx_node: FxNode) -> bool:
    name, places = functional_name(user.target), [place for place, arg in enumerate(user.args) if arg is fx_node]
    if name in ("aten::add.Tensor", "aten::add.Scalar", "aten::sub.Tensor", "aten::sub.Scalar"):
        return not user.kwargs and (places == [0] or (places == [1] and "add" in name))
    return name in ("aten::where.self", "aten::where.ScalarOther") and places == [1] and _is_least(user.args[2])


def _is_least(held: Any) -> bool:
    """Check whether an argument is minus infinity."""
    if hasattr(held, "target"):
        place = {"aten::scalar_tensor.default": 0, "aten::full.default": 1}.get(functional_name(held.target))
        return place is not None and held.args[place] == -math.inf
    return bool(held == -math.inf)


def _is_causal(graph: Graph) -> bool:
    output, (_, _, query, key, *_) = _output(graph), _placeholders(graph)
    name = functional_name(output.target) if output.op == "call_function" else ""
    return (name, output.args) in (("aten::ge.Tensor", (query, key)), ("aten::le.Tensor", (key, query)))


def _hides_nothing(graph: Graph) -> bool:
    output = _output(graph)
    return output.op == "call_function" and functional_name(output.target) == "aten::new_ones.default"


# ---- torch's traces of the functions ----


def _bias(node: TorchNode, score: GraphModule, mask: GraphModule | None) -> Tensor | None:
    """Return the summand of the scores: [batch or 1, heads or 1, queries, keys].

    A dimension that the functions do not read has size 1.
    """
    if mask is None and _is_identity(score.graph):
        return None
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
    from torch.nn.attention.flex_attention import _vmap_for_bhqkv

    import torch

    read = [_placeholders(score.graph)[1:5], *([] if mask is None else [_placeholders(mask.graph)[:4]])]
    is_read = [any(each[place].users for each in read) for place in range(4)]
    count = len(node.get(7))

    def function(query: Any, key: Any, *buffers: Any) -> list[Any]:
        sizes = (*query.shape[:3], key.shape[2])
        lengths = [size if is_read[place] or place > 1 else 1 for place, size in enumerate(sizes)]
        ranges = [torch.arange(length) for length in lengths]
        added = torch.zeros(lengths, dtype=torch.float64 if query.dtype == torch.float64 else torch.float32)
        with TransformGetItemToIndex():
            if not _is_identity(score.graph):
                whole = _vmap_for_bhqkv(score, (0,), (None,) * count)
                added = whole(added, *ranges, *buffers[:count])
            if mask is not None:
                whole = _vmap_for_bhqkv(mask, (), (None,) * (len(buffers) - count))
                added = torch.where(whole(*ranges, *buffers[count:]), added, -math.inf)
        return [added]

    operands = [*node.fx.args[:2], *node.fx.args[7], *node.fx.args[8]]
    graph = traced(function, [operand.meta["val"] for operand in operands], table())
    (made,) = node.graph.add_inner(graph, [node.get(0), node.get(1), *node.get(7), *node.get(8)])
    assert isinstance(made, Value)
    return cast(made.ssa, node.dtype)


def _convert_by_definition(node: TorchNode, name: str) -> Outputs:
    """Convert by torch's definition, a function that takes the operator's arguments."""
    from torch.utils import _pytree

    definition = getattr(importlib.import_module("torch._higher_order_ops.flex_attention"), name)
    leaves, structure = _pytree.tree_flatten(node.fx.args)
    tree_leaves = _pytree.tree_leaves(list(node.inputs))
    metas = [getattr(leaf, "meta", {}).get("val") for leaf in leaves]
    places = [place for place, meta in enumerate(metas) if hasattr(meta, "shape") or is_scalar(meta)]
    wanted = node.is_wanted
    if any(wanted[_MOST_RESULTS:]):
        raise node.fail("gradients of tensors that the function of scores reads are not supported")

    def function(*given: object) -> list[Any]:
        arguments = list(tree_leaves)  # Graphs and numbers.
        for place, each in zip(places, given, strict=True):
            arguments[place] = each
        results = definition(*_pytree.tree_unflatten(arguments, structure))
        return [result for result, is_used in zip(results, wanted, strict=False) if is_used]

    graph = traced(function, [metas[place] for place in places], table())
    made = iter(node.graph.add_inner(graph, [tree_leaves[place] for place in places]))
    return [next(made) if is_used else None for is_used in wanted]
