# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Updates of tensors through views: the tensor with a view of it replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relax_mlir.frontends.core.sizes import sizes_of
from relax_mlir.frontends.core.values import ComplexValue, Value, as_values

from .fx_node import TorchNode
from .fx_operators import name_of
from .inner_node import InnerNode
from .registry import converted
from .view_names import PARTS, PERMUTED

if TYPE_CHECKING:
    from torch.fx import Node as FxNode


def written(view: TorchNode, source: FxNode, old: Any, new: Any) -> Any:
    """Return the source of a view, which was `old`, with `new` in the place of the view."""
    import torch

    aten, operator = torch.ops.aten, name_of(view.fx.target).removeprefix("aten::")
    rest = {key: argument for key, argument in view.arguments.items() if key != "self"}
    if operator == "select.int":
        return _select(view, source, old, new)
    if operator in PARTS:
        scatter = getattr(aten, f"{operator.partition('.')[0]}_scatter").default
        return _apply_operator(view, scatter, {"self": old, "src": new, **rest}, source)
    if operator in PERMUTED:
        return _apply_operator(view, aten.permute.default, {"self": new, "dims": _inverse(view)}, source)
    return _apply_operator(view, aten.reshape.default, {"self": new, "shape": _sizes(old)}, source)


def _select(view: TorchNode, source: FxNode, old: Any, new: object) -> Any:
    """Replace the part of a tensor at one index of a dimension, as a slice of length 1."""
    import torch

    shape = list(_sizes(old))
    axis, index = view.axis("dim", len(shape)), view.get("index")
    shape[axis] = 1
    aten = torch.ops.aten
    part = _apply_operator(view, aten.reshape.default, {"self": new, "shape": shape}, source, _like(view, axis))
    end = None if isinstance(index, int) and index == -1 else view.expressions.applied("Add", [index, 1])
    given = {"self": old, "src": part, "dim": axis, "start": index, "end": end, "step": 1}
    return _apply_operator(view, aten.slice_scatter.default, given, source)


def _like(view: TorchNode, axis: int) -> Any:
    """Return torch's metadata of a selected part with its dimension kept."""
    return view.fx.meta["val"].unsqueeze(axis)


def _inverse(view: TorchNode) -> list[int]:
    """Return the permutation that undoes a view: for each dimension of its source, the dimension of the view."""
    rank = len(view.fx.meta["val"].shape)
    if (name := name_of(view.fx.target)) == "aten::permute.default":
        axes = view.axes("dims", rank)
        return [axes.index(axis) for axis in range(rank)]
    first, second = (0, rank - 1) if name == "aten::t.default" else (view.axis("dim0", rank), view.axis("dim1", rank))
    made = list(range(rank))
    if rank:
        made[first], made[second] = second, first
    return made


def _sizes(held: Value | ComplexValue) -> list[Any]:
    return sizes_of(held.real if isinstance(held, ComplexValue) else held)


def _apply_operator(
    view: TorchNode, operator: object, arguments: dict[str, Any], source: FxNode, like: object = None
) -> Any:
    metas = {"self": source.meta["val"], "src": view.fx.meta["val"]}
    inner = InnerNode(
        view, name_of(operator), {**arguments, "is_inside": True}, [source.meta["val"] if like is None else like], metas
    )
    return as_values(converted(inner, operator))[0]
