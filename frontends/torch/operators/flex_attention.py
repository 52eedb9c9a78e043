# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with functions of scores and of a mask: torch's own definition, traced to operators on whole tensors."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..exported_program import table
from ..fx_operators import is_scalar
from ..prelude import Convert, Node, Outputs, register_torch

if TYPE_CHECKING:
    from torch.fx import GraphModule


# Behind the gradients of queries, keys and values, the step back has a list of those of other tensors.
_MOST_RESULTS = 3


def _by_definition(name: str) -> Convert:
    """A converter by a function of torch's that takes the operator's arguments."""

    def convert(node: Node) -> Outputs:
        from torch.utils import _pytree

        definition = getattr(importlib.import_module("torch._higher_order_ops.flex_attention"), name)
        leaves, structure = _pytree.tree_flatten(node.fx.args)
        held = _pytree.tree_leaves(list(node.inputs))
        metas = [getattr(each, "meta", {}).get("val") for each in leaves]
        places = [place for place, meta in enumerate(metas) if hasattr(meta, "shape") or is_scalar(meta)]
        wanted = node.is_wanted
        if any(wanted[_MOST_RESULTS:]):
            raise node.fail("gradients of tensors that the function of scores reads: they can have none here")

        def function(*given: Any) -> list[Any]:
            arguments = list(held)  # graphs, numbers
            for place, each in zip(places, given, strict=True):
                arguments[place] = each
            results = definition(*_pytree.tree_unflatten(arguments, structure))
            return [each for each, is_used in zip(results, wanted, strict=False) if is_used]

        traced = _traced(function, [metas[place] for place in places])
        made = iter(node.graph.add_inner(traced, [held[place] for place in places]))
        return [next(made) if is_used else None for is_used in wanted]

    return convert


def _traced(function: Callable[..., list[Any]], metas: list[Any]) -> GraphModule:
    """A function of tensors and sizes as a graph of operators that have converters."""
    from torch._guards import detect_fake_mode
    from torch.fx.experimental.proxy_tensor import make_fx

    with detect_fake_mode(metas):
        traced = make_fx(function, decomposition_table=table())(*metas)
    traced.graph.eliminate_dead_code()
    return traced


register_torch("higher_order::flex_attention")(_by_definition("math_attention"))
register_torch("higher_order::flex_attention_backward")(_by_definition("sdpa_dense_backward"))
