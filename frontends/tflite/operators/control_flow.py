# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, loops and variables."""

from __future__ import annotations

from ...core.control.scf_branches import run_either
from ...core.control.scf_loops import run_while
from ..prelude import Node, Outputs, Value, known, register_tflite


def _inputs(node: Node, first: int = 0) -> list[Value]:
    """As they are stored: subgraphs know themselves what is quantized."""
    return [node.stored(index) for index in range(first, len(node.inputs))]


@register_tflite("IF")
def if_(node: Node) -> Outputs:
    options, given = ("then_subgraph_index", "else_subgraph_index"), _inputs(node, 1)
    return run_either(node, node.value(0), lambda place, operation: node.run_subgraph(options[place], given, operation))


@register_tflite("WHILE")
def while_(node: Node) -> Outputs:
    return run_while(
        node,
        _inputs(node),
        lambda held, operation: node.run_subgraph("cond_subgraph_index", held, operation)[0],
        lambda held, operation: node.run_subgraph("body_subgraph_index", held, operation),
    )


@register_tflite("CALL")
def call(node: Node) -> Outputs:
    return node.run_subgraph("subgraph", _inputs(node))


@register_tflite("STABLEHLO_COMPOSITE")
def composite(node: Node) -> Outputs:
    """By what it is made of."""
    return node.run_subgraph("decomposition_subgraph_index", _inputs(node))


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
