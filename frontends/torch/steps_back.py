# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backward steps that torch has as operators: gradients of what the forward operator's converter builds, by the rules
that relax has for its own operators. So no derivative is written twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...passes.gradient.reverse import gradients_at
from ..core.values import Tensor, Value, as_values
from .fx_node import Node
from .fx_operators import defaults_of, name_of
from .inner_node import InnerNode
from .registry import Convert, find_converter

if TYPE_CHECKING:
    from torch.fx import GraphModule


def gradients_by(
    back: Node, forward: str, wanted: Sequence[str], arriving: Sequence[Value | None], **changed: object
) -> list[Tensor]:
    """How a number changes with arguments of the operator `forward`, "aten::avg_pool2d", where what arrives is how it
    changes with its results. Its other arguments are those of the same names of the backward step, or `changed`.
    """
    schema = _schema(forward)
    arguments = {each.name: each.default_value for each in schema.arguments}
    given = {**back.arguments, **changed}
    arguments.update({name: given[name] for name in arguments if name in given})
    kept = [*arriving, *[None] * (len(schema.returns) - len(arriving))]
    found = find_converter(f"{forward}.default")
    if found is None:
        raise back.fail(f"its forward operator {forward} has no converter")

    def results(*tensors: Tensor) -> list[Tensor]:
        own = {name: Value(ssa=tensor) for name, tensor in zip(wanted, tensors, strict=True)}
        made = as_values(found.function(InnerNode(back, forward, {**arguments, **own}, kept)))
        return [_tensor(each) for each in made[: len(arriving)] if each is not None]

    tensors = [_tensor(arguments[name]) for name in wanted]
    return gradients_at(tensors, results, [None if each is None else each.ssa for each in arriving])


def backward_of(forward: str, *wanted: str, arriving: str = "grad_output", **names: str) -> Convert:
    """A converter of a backward step that has the gradients of these arguments as its results, all of them. `names` are
    those that the step has for arguments of the forward operator, where they are others.
    """

    def convert(node: Node) -> list[Tensor]:
        changed = {own: node.get(name) for own, name in names.items()}
        return gradients_by(node, forward, wanted, [node.value(arriving)], **changed)

    return convert


#: What the backward steps of attention compute again, from what.
_UNREAD, _READ = ("out", "logsumexp"), "query"


def leave_out_unread(joint: GraphModule) -> None:
    """Takes from backward steps in a graph of both directions the arguments that converters do not look at."""
    for fx in joint.graph.nodes:
        name = name_of(fx.target) if fx.op == "call_function" else ""
        if name.startswith("aten::_scaled_dot_product_") and name.endswith("_backward.default"):
            given = dict(zip(defaults_of(fx), fx.args, strict=False))
            fx.args = tuple(given[_READ] if key in _UNREAD else each for key, each in given.items())


def tell_results(graph: GraphModule) -> None:
    """Says what is known of the results of draws that checkpoints repeat: torch leaves it out."""
    for fx in graph.graph.nodes:
        name = name_of(fx.target) if fx.op == "call_function" else ""
        if "val" in fx.meta or name not in ("higher_order::run_and_save_rng_state", "higher_order::run_with_rng_state"):
            continue
        metas = [each.meta["val"] if hasattr(each, "meta") else each for each in fx.args]
        if name == "higher_order::run_with_rng_state":
            fx.meta["val"] = metas[1](*metas[2:], **fx.kwargs)
        else:
            state = next(user.meta["val"] for user in fx.users if user.args[1] == 0)
            fx.meta["val"] = (state, metas[0](*metas[1:], **fx.kwargs))


def _tensor(held: Any) -> Tensor:
    assert isinstance(held, Value)
    return held.ssa


def _schema(operator: str) -> Any:
    import torch

    return getattr(torch.ops.aten, operator.removeprefix("aten::")).default._schema
