# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators on lists of tensors, which optimizers use: an operator on one tensor for each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..fx_operators import name_of
from ..inner_node import InnerNode
from ..prelude import Convert, Outputs, TorchNode, register_torch
from ..registry import converted

#: Arguments of the operator on one tensor, from the arguments of one on lists at a position.
_Arguments = Callable[[TorchNode, int], dict[str, Any]]


def _addend(node: TorchNode, place: int) -> dict[str, Any]:
    """Return the arguments of addcmul and addcdiv: `value` is one number for all, or the element of a list."""
    value = node.get("scalars")[place] if "scalars" in node.arguments else node.get("value")
    return {**{name: node.get(name)[place] for name in ("self", "tensor1", "tensor2")}, "value": value}


def _norm(node: TorchNode, place: int) -> dict[str, Any]:
    return {"self": node.get("self")[place], "ord": node.get("ord"), "dtype": node.get("dtype")}


def _make_foreach_converter(operator: str, arguments: _Arguments) -> Convert:
    def convert(node: TorchNode) -> Outputs:
        import torch

        target = getattr(torch.ops.aten, operator).default
        defaults = {argument.name: argument.default_value for argument in target._schema.arguments}
        metas: Sequence[Any] = node.fx.meta["val"]
        lists = {name: meta for name, meta in node.metas.items() if isinstance(meta, (list, tuple))}
        made: list[Any] = []
        for place, like in enumerate(metas):
            own = {name: list_[place] for name, list_ in lists.items() if len(list_) == len(metas)}
            inner = InnerNode(node, name_of(target), {**defaults, **arguments(node, place)}, [like], own)
            made.append(converted(inner, target))
        return made

    return convert


for _name, _operator, _arguments in (
    ("addcmul", "addcmul", _addend),
    ("addcdiv", "addcdiv", _addend),
    ("norm", "linalg_vector_norm", _norm),
):
    register_torch(f"aten::_foreach_{_name}")(_make_foreach_converter(_operator, _arguments))
