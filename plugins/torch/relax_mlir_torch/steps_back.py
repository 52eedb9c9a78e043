# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of torch's backward operators by gradients of the forward operator's converter.

The gradients use relax's rules for its own operators, so no derivative is written twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.frontends.core.values import Tensor, Value, as_values
from relax_mlir_training.gradient.reverse import gradients_at

from .fx_node import TorchNode
from .fx_operators import defaults_of, name_of
from .inner_node import InnerNode
from .registry import Convert, find_converter

if TYPE_CHECKING:
    from torch.fx import GraphModule


def gradients_by(
    back: TorchNode, forward: str, wanted: Sequence[str], arriving: Sequence[Value | None], **changed: object
) -> list[Tensor]:
    """Return the gradients of the operator `forward`, such as "aten::avg_pool2d", by the `wanted` arguments.

    `arriving` are the gradients by the operator's results. Its other arguments are the backward step's arguments of the
    same names, or `changed`.
    """
    schema = _schema(forward)
    arguments = {argument.name: argument.default_value for argument in schema.arguments}
    given = {**back.arguments, **changed}
    arguments.update({name: given[name] for name in arguments if name in given})
    kept = [*arriving, *[None] * (len(schema.returns) - len(arriving))]
    if (converter := find_converter(f"{forward}.default")) is None:
        raise back.fail(f"its forward operator {forward} has no converter")

    def results(*tensors: Tensor) -> list[Tensor]:
        own = {name: Value(ssa=tensor) for name, tensor in zip(wanted, tensors, strict=True)}
        made = as_values(converter.function(InnerNode(back, forward, {**arguments, **own}, kept)))
        return [_tensor(each) for each in made[: len(arriving)] if each is not None]

    tensors = [_tensor(arguments[name]) for name in wanted]
    return gradients_at(tensors, results, [None if value is None else value.ssa for value in arriving])


def backward_of(forward: str, *wanted: str, arriving: str = "grad_output", **names: str) -> Convert:
    """Return a converter of a backward step with the gradients of all these arguments as its results.

    `names` maps arguments of the forward operator to the step's names for them, if they differ.
    """

    def convert(node: TorchNode) -> list[Tensor]:
        changed = {own: node.get(name) for own, name in names.items()}
        return gradients_by(node, forward, wanted, [node.value(arriving)], **changed)

    return convert


#: Arguments that converters of attention's backward steps recompute, and the argument to pass instead.
_UNREAD, _READ = ("out", "logsumexp"), "query"


def leave_out_unread(joint: GraphModule) -> None:
    """Replace arguments of backward steps that converters do not read, in a graph of both directions."""
    for fx in joint.graph.nodes:
        name = name_of(fx.target) if fx.op == "call_function" else ""
        if name.startswith("aten::_scaled_dot_product_") and name.endswith("_backward.default"):
            given = dict(zip(defaults_of(fx), fx.args, strict=False))
            fx.args = tuple(given[_READ] if key in _UNREAD else value for key, value in given.items())


def tell_results(graph: GraphModule) -> None:
    """Add torch's missing metadata for the results of repeated draws in checkpoints."""
    for fx in graph.graph.nodes:
        name = name_of(fx.target) if fx.op == "call_function" else ""
        if "val" in fx.meta or name not in ("higher_order::run_and_save_rng_state", "higher_order::run_with_rng_state"):
            continue
        metas = [arg.meta["val"] if hasattr(arg, "meta") else arg for arg in fx.args]
        if name == "higher_order::run_with_rng_state":
            fx.meta["val"] = metas[1](*metas[2:], **fx.kwargs)
        else:
            state = next(user.meta["val"] for user in fx.users if user.args[1] == 0)
            fx.meta["val"] = (state, metas[0](*metas[1:], **fx.kwargs))


def _tensor(held: object) -> Tensor:
    assert isinstance(held, Value)
    return held.ssa


def _schema(operator: str) -> Any:
    import torch

    return getattr(torch.ops.aten, operator.removeprefix("aten::")).default._schema
