# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converter of custom operators that change their arguments, in functional form.

Their converters return the operator's results, then the new value of each changed argument, in the order of the schema.
The arguments may be views; the results are new values of the tensors that own the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from relax_mlir.frontends.core.node import described
from relax_mlir.frontends.core.values import as_values

from ..fx_operators import listed, name_of
from ..in_place import updated_arguments
from ..inner_node import InnerNode
from ..prelude import Outputs, TorchNode, Value, register_torch
from ..registry import converted

# Fields of a view in the node, and the names of the arguments of the operators that take and write the view.
_KINDS = {
    "slice": {"slice_dim": "dim", "slice_start": "start", "slice_end": "end"},
    "as_strided": {"size": "size", "stride": "stride", "storage_offset": "storage_offset"},
}


class _View(NamedTuple):
    """Changed argument: a view of one of the base tensors."""

    name: str
    base: int
    #: "slice" or "as_strided", or empty for the base tensor itself.
    kind: str
    #: Arguments of the operator that takes the view, and torch's metadata of them.
    arguments: Mapping[str, object]
    metas: Mapping[str, Any]


class _Base(NamedTuple):
    value: Value
    meta: Any


@register_torch("higher_order::auto_functionalized_v2")
def auto_functionalized(node: TorchNode) -> Outputs:
    operator = node.get(0)
    if not hasattr(operator, "_schema") or not node.has("_all_bases"):
        raise node.fail(f"{name_of(operator)} returns arguments that it changes: use an operator that does not")
    bases = [*map(_Base, node.values("_all_bases"), _meta(node.metas["_all_bases"]))]
    arguments: dict[str, object] = {}
    changed: list[tuple[_View, Value]] = []
    for argument in operator._schema.arguments:
        if argument.name not in updated_arguments(operator):
            arguments[argument.name] = node.get(argument.name, argument.default_value)
            continue
        views = _views(node, argument.name)
        taken = [None if view is None else _take_view(node, view, bases[view.base]) for view in views]
        arguments[argument.name] = taken if node.has(f"_{argument.name}_length") else taken[0]
        changed += [(view, value) for view, value in zip(views, taken, strict=True) if view is not None and value]
    own = listed(node.fx.meta["val"])[: len(operator._schema.returns)]
    inner = InnerNode(node, name_of(operator), arguments, [*own, *(value for _, value in changed)], node.metas)
    made = as_values(converted(inner, operator))
    if len(made) != len(own) + len(changed):
        names = ", ".join(f"'{view.name}'" for view, _ in changed)
        becoming = f"the new value{'' if len(changed) == 1 else 's'} of {names}"
        wanted = f"{len(own)} results and {becoming}" if own else becoming
        raise node.fail(f"the converter of {name_of(operator)} must return {wanted}: it returns {len(made)} values")
    for (view, old), new in zip(changed, made[len(own) :], strict=True):
        if not isinstance(new, Value) or (new.dtype, new.rank) != (old.dtype, old.rank):
            shown = described(new) if isinstance(new, Value) else "nothing"
            where = f"the converter of {name_of(operator)} must return the new value of '{view.name}'"
            raise node.fail(f"{where}, {described(old)}: it returns {shown}")
        bases[view.base] = _write_view(node, view, bases[view.base], new)
    return [*(made[: len(own)] or [None]), *(base.value for base in bases)]


def _meta(held: object) -> Any:
    """Return torch's metadata of an argument, or of each item of a list."""
    if isinstance(held, (list, tuple)):
        return [_meta(each) for each in held]
    return held.meta["val"] if hasattr(held, "meta") else held


def _views(node: TorchNode, name: str) -> list[_View | None]:
    """Return the views of an argument: one, or one for each item of a list."""
    length = node.get(f"_{name}_length")
    places = [""] if length is None else [f"_{place}" for place in range(length)]
    return [_view(node, name, f"_{name}{place}") for place in places]


def _view(node: TorchNode, name: str, prefix: str) -> _View | None:
    if (base := node.get(f"{prefix}_base_index")) is None:
        return None
    for kind, keys in _KINDS.items():
        if all(f"{prefix}_{key}" in node.arguments for key in keys):
            given = {own: node.get(f"{prefix}_{key}") for key, own in keys.items()}
            metas = {own: _meta(node.metas[f"{prefix}_{key}"]) for key, own in keys.items()}
            return _View(name, base, kind, given, metas)
    return _View(name, base, "", {}, {})


def _take_view(node: TorchNode, view: _View, base: _Base) -> Value:
    if not view.kind:
        return base.value
    import torch

    aten = torch.ops.aten

    operator = aten.slice.Tensor if view.kind == "slice" else aten.as_strided.default
    return _apply_operator(node, operator, view, base, {}, operator(base.meta, **view.metas))


def _write_view(node: TorchNode, view: _View, base: _Base, new: Value) -> _Base:
    """Return the base tensor with a view of it changed."""
    if not view.kind:
        return _Base(new, base.meta)
    import torch

    operator = getattr(torch.ops.aten, f"{view.kind}_scatter").default
    return _Base(_apply_operator(node, operator, view, base, {"src": new}, base.meta), base.meta)


def _apply_operator(
    node: TorchNode, operator: object, view: _View, base: _Base, more: Mapping[str, Value], like: object
) -> Value:
    arguments = {"self": base.value, **more, **view.arguments, "is_inside": True}
    inner = InnerNode(node, name_of(operator), arguments, [like], {"self": base.meta, **view.metas})
    (made,) = as_values(converted(inner, operator))
    assert isinstance(made, Value)
    return made
