# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators with graphs: cond, while_loop, scan, map, and regions that stand where they are called."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ....bindings.ir import Operation
from ....dialects.core.symbols import SymExpr
from ...core.control.scf_branches import build_branches
from ...core.control.scf_loops import LoopSpec, Turn, build_loop, of_length
from ...core.control.scf_regions import known_truth, scalar_of
from ...core.sizes import element, shape_tensor
from ...core.values import Held
from ..prelude import Node, Outputs, Value, register_torch, relax
from ..symbolic_sizes import as_scalar

if TYPE_CHECKING:
    from torch.fx import GraphModule


def as_value(each: Any) -> Value:
    """What goes into a region or comes out of it as a tensor: numbers and sizes are 0-D."""
    if isinstance(each, Value):
        return each
    dtype = "i1" if isinstance(each, bool) else "f64" if isinstance(each, float) else "i64"
    return Value(ssa=as_scalar(each, dtype))


def _made(node: Node, graph: GraphModule, operands: Sequence[Any], operation: Operation | None = None) -> list[Any]:
    return node.graph.add_inner(graph, operands, operation)


@register_torch("higher_order::cond")
def cond(node: Node) -> Outputs:
    condition, on_true, on_false, operands = (node.get(index) for index in range(4))
    holds = condition if isinstance(condition, (bool, int)) else known_truth(node.value(0))
    if holds is not None:
        return _made(node, on_true if holds else on_false, operands)

    def make(graph: GraphModule, operation: Operation) -> Sequence[Held]:
        return [as_value(each) for each in _made(node, graph, operands, operation)]

    return build_branches(node, node.value(0), [partial(make, on_true), partial(make, on_false)])


@register_torch("higher_order::while_loop")
def while_loop(node: Node) -> Outputs:
    """The condition is asked before the first turn, and after each for the next."""
    condition, body, states, others = (node.get(index) for index in range(4))
    given = [as_value(each) for each in states]

    def goes_on(held: Sequence[Any], operation: Operation | None) -> Value:
        return as_value(_made(node, condition, [*held, *others], operation)[0])

    def step(operation: Operation, index: Value, held: list[Any]) -> Turn:
        after = [as_value(each) for each in _made(node, body, [*held, *others], operation)]
        return Turn(after, [], goes_on(after, operation))

    starts = scalar_of(node, goes_on(given, None))
    after, _ = build_loop(LoopSpec(node, step, None, starts, is_open=True), given)
    return after


@register_torch("higher_order::scan")
def scan(node: Node) -> Outputs:
    """A loop over the first dimension: what is carried, then a row of each turn."""
    body, initial, scanned, others = (node.get(index) for index in range(4))
    return _scanned(node, body, initial, scanned, others)


@register_torch("higher_order::map_impl", "higher_order::map")
def map_(node: Node) -> Outputs:
    body, scanned, others = (node.get(index) for index in range(3))
    return _scanned(node, body, [], scanned, others)


def _scanned(
    node: Node, body: GraphModule, initial: Sequence[Any], scanned: Sequence[Value], others: Sequence[Any]
) -> list[Any]:
    states = [as_value(each) for each in initial]
    sources = [each.ssa for each in scanned]
    first = scanned[0].shape
    count = first[0] if first else None

    def step(operation: Operation, index: Value, held: list[Any]) -> Turn:
        rows = [Value(ssa=relax.take(each, index.ssa, axis=0)) for each in sources]
        outputs = [as_value(each) for each in _made(node, body, [*held, *rows, *others], operation)]
        return Turn(outputs[: len(states)], outputs[len(states) :])

    turns = scalar_of(node, Value(ssa=element(shape_tensor(sources[0]), 0)))
    after, gathered = build_loop(LoopSpec(node, step, turns), states)
    return [*after, *of_length(gathered, count if isinstance(count, (int, SymExpr)) else None)]


@register_torch("higher_order::invoke_subgraph")
def invoke_subgraph(node: Node) -> Outputs:
    """A graph and its name, then what it takes."""
    return _made(node, node.get(0), node.inputs[2:])


@register_torch("higher_order::invoke_quant_packed")
def invoke_quant(node: Node) -> Outputs:
    """A graph and what it takes; options by name say how torch's own compiler rounds inside it."""
    graph, *operands = (held for key, held in node.arguments.items() if key.isdigit())
    return _made(node, graph, operands)


@register_torch(
    "higher_order::wrap", "higher_order::wrap_with_set_grad_enabled", "higher_order::wrap_with_autocast",
    "higher_order::tag_activation_checkpoint", "higher_order::wrap_activation_checkpoint",
)  # fmt: skip
def wrapped(node: Node) -> Outputs:
    """A graph among other settings, which say how gradients are kept and casts are made: torch has done so."""
    place = next(index for index, each in enumerate(node.inputs) if hasattr(each, "graph"))
    return _made(node, node.get(place), node.inputs[place + 1 :])
