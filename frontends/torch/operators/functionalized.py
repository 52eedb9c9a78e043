# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Custom operators that change their arguments, in functional form.

Their converters give what the operator returns, then what it makes of each argument that it changes, in the order of
the schema. The arguments may be views; the tensors that these are of are given anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...core.node import described
from ...core.values import as_values
from ..fx_operators import listed, name_of
from ..in_place import updated_arguments
from ..inner_node import InnerNode
from ..prelude import Node, Outputs, Value, register_torch
from ..registry import converted

# What of a view says how it is taken, with the names that the operators that take it and write to it have.
_KINDS = {
    "slice": {"slice_dim": "dim", "slice_start": "start", "slice_end": "end"},
    "as_strided": {"size": "size", "stride": "stride", "storage_offset": "storage_offset"},
}


class _View(NamedTuple):
    """A changed argument: a view of one of the tensors that are given anew."""

    name: str
    base: int
    #: "slice" or "as_strided"; nothing where it is the tensor itself.
    kind: str
    #: Arguments of the operator that takes the view, and what torch knows of them.
    arguments: Mapping[str, object]
    metas: Mapping[str, Any]


class _Base(NamedTuple):
    value: Value
    meta: Any


@register_torch("higher_order::auto_functionalized_v2")
def auto_functionalized(node: Node) -> Outputs:
    operator = node.get(0)
    if not hasattr(operator, "_schema") or not node.has("_all_bases"):
        raise node.fail(f"{name_of(operator)} changes arguments that it gives as results, too: use one that does not")
    bases = [*map(_Base, node.values("_all_bases"), _meta(node.metas["_all_bases"]))]
    arguments: dict[str, object] = {}
    changed: list[tuple[_View, Value]] = []
    for each in operator._schema.arguments:
        if each.name not in updated_arguments(operator):
            arguments[each.name] = node.get(each.name, each.default_value)
            continue
        views = _views(node, each.name)
        taken = [None if view is None else _taken(node, view, bases[view.base]) for view in views]
        arguments[each.name] = taken if node.has(f"_{each.name}_length") else taken[0]
        changed += [(view, value) for view, value in zip(views, taken, strict=True) if view is not None and value]
    own = listed(node.fx.meta["val"])[: len(operator._schema.returns)]
    inner = InnerNode(node, name_of(operator), arguments, [*own, *(value for _, value in changed)], node.metas)
    made = as_values(converted(inner, operator))
    if len(made) != len(own) + len(changed):
        names = ", ".join(f"'{view.name}'" for view, _ in changed)
        becoming = f"what {names} {'becomes' if len(changed) == 1 else 'become'}"
        wanted = f"{len(own)} results and {becoming}" if own else becoming
        raise node.fail(f"the converter of {name_of(operator)} must give {wanted}: it gives {len(made)} values")
    for (view, old), new in zip(changed, made[len(own) :], strict=True):
        if not isinstance(new, Value) or (new.dtype, new.rank) != (old.dtype, old.rank):
            shown = described(new) if isinstance(new, Value) else "nothing"
            where = f"the converter of {name_of(operator)} must give what '{view.name}' becomes"
            raise node.fail(f"{where}, {described(old)}: it gives {shown}")
        bases[view.base] = _written(node, view, bases[view.base], new)
    return [*(made[: len(own)] or [None]), *(each.value for each in bases)]


def _meta(held: Any) -> Any:
    """What torch knows of an argument, or of each in a list."""
    if isinstance(held, (list, tuple)):
        return [_meta(each) for each in held]
    return held.meta["val"] if hasattr(held, "meta") else held


def _views(node: Node, name: str) -> list[_View | None]:
    """Those of an argument: one, or as many as there are in the list that it is."""
    length = node.get(f"_{name}_length")
    places = [""] if length is None else [f"_{place}" for place in range(length)]
    return [_view(node, name, f"_{name}{place}") for place in places]


def _view(node: Node, name: str, prefix: str) -> _View | None:
    base = node.get(f"{prefix}_base_index")
    if base is None:
        return None
    for kind, keys in _KINDS.items():
        if all(f"{prefix}_{key}" in node.arguments for key in keys):
            given = {own: node.get(f"{prefix}_{key}") for key, own in keys.items()}
            metas = {own: _meta(node.metas[f"{prefix}_{key}"]) for key, own in keys.items()}
            return _View(name, base, kind, given, metas)
    return _View(name, base, "", {}, {})


def _taken(node: Node, view: _View, base: _Base) -> Value:
    if not view.kind:
        return base.value
    import torch

    aten = torch.ops.aten

    operator = aten.slice.Tensor if view.kind == "slice" else aten.as_strided.default
    return _applied(node, operator, view, base, {}, operator(base.meta, **view.metas))


def _written(node: Node, view: _View, base: _Base, new: Value) -> _Base:
    """The tensor with a view of it changed."""
    if not view.kind:
        return _Base(new, base.meta)
    import torch

    aten = torch.ops.aten

    operator = getattr(aten, f"{view.kind}_scatter").default
    return _Base(_applied(node, operator, view, base, {"src": new}, base.meta), base.meta)


def _applied(node: Node, operator: Any, view: _View, base: _Base, more: Mapping[str, Value], like: Any) -> Value:
    arguments = {"self": base.value, **more, **view.arguments, "is_inside": True}
    inner = InnerNode(node, name_of(operator), arguments, [like], {"self": base.meta, **view.metas})
    (made,) = as_values(converted(inner, operator))
    assert isinstance(made, Value)
    return made
