# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, loops and variables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ....bindings.ir import Operation
from ...core.control.scf_branches import build_branches
from ...core.control.scf_loops import LoopSpec, Turn, build_loop
from ...core.control.scf_regions import known_truth, scalar_of
from ...core.values import Held
from ..prelude import Node, Outputs, Value, known, register_tflite


def _inputs(node: Node, first: int = 0) -> list[Value]:
    """As they are stored: subgraphs know themselves what is quantized."""
    return [node.stored(index) for index in range(first, len(node.inputs))]


@register_tflite("IF")
def if_(node: Node) -> Outputs:
    condition, given = node.value(0), _inputs(node, 1)
    options = ("then_subgraph_index", "else_subgraph_index")
    holds = known_truth(condition)
    if holds is not None:
        return node.run_subgraph(options[0 if holds else 1], given)
    return build_branches(node, condition, [partial(_branch, node, given, option) for option in options])


def _branch(node: Node, given: Sequence[Value], option: str, operation: Operation) -> Sequence[Held]:
    return node.run_subgraph(option, given, operation)


@register_tflite("WHILE")
def while_(node: Node) -> Outputs:
    """The condition is asked before the first turn, and after each for the next."""

    def goes_on(held: Sequence[Any], operation: Operation | None) -> Value:
        return node.run_subgraph("cond_subgraph_index", held, operation)[0]

    def step(operation: Operation | None, index: Value, held: list[Any]) -> Turn:
        after = node.run_subgraph("body_subgraph_index", held, operation)
        return Turn(after, [], goes_on(after, operation))

    given = _inputs(node)
    starts = scalar_of(node, goes_on(given, None))
    after, _ = build_loop(LoopSpec(node, step, None, starts, is_open=True), given)
    return after


@register_tflite("CALL")
def call(node: Node) -> Outputs:
    return node.run_subgraph("subgraph", _inputs(node))


# ---- variables ----


@register_tflite("CALL_ONCE")
def call_once(node: Node) -> Outputs:
    """What starts variables: it is done in each call, which so begins as the first one does."""
    node.run_subgraph("init_subgraph_index", [])
    return None


@register_tflite("VAR_HANDLE")
def var_handle(node: Node) -> Outputs:
    name = tuple(node.attr(option, b"") or b"" for option in ("container", "shared_name"))
    variables = node.graph.variables
    variables.setdefault(name, None)
    return known(list(variables).index(name))


def _variable(node: Node) -> tuple[bytes, ...]:
    place = node.number(0)
    assert place is not None
    return list(node.graph.variables)[place]


@register_tflite("READ_VARIABLE")
def read_variable(node: Node) -> Outputs:
    held = node.graph.variables[_variable(node)]
    if held is None:
        raise node.fail("a variable is read before anything is in it: a call does not see what an earlier one wrote")
    return held


@register_tflite("ASSIGN_VARIABLE")
def assign_variable(node: Node) -> Outputs:
    if node.graph.is_in_region:
        raise node.fail("a variable changes in a branch or a loop that is decided at run time")
    node.graph.variables[_variable(node)] = node.stored(1)
    return None
