# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of branches, loops and variables."""

from __future__ import annotations

from relax_mlir.frontends.core.control.scf_branches import run_either
from relax_mlir.frontends.core.control.scf_loops import run_while

from ..prelude import Outputs, TfliteNode, Value, known, register_tflite


def _inputs(node: TfliteNode, first: int = 0) -> list[Value]:
    """Return the inputs without dequantization: a subgraph has the quantization of its own tensors."""
    return [node.stored(index) for index in range(first, len(node.inputs))]


@register_tflite("IF")
def if_(node: TfliteNode) -> Outputs:
    options, given = ("then_subgraph_index", "else_subgraph_index"), _inputs(node, 1)
    return run_either(node, node.value(0), lambda place, operation: node.run_subgraph(options[place], given, operation))


@register_tflite("WHILE")
def while_(node: TfliteNode) -> Outputs:
    return run_while(
        node,
        _inputs(node),
        lambda held, operation: node.run_subgraph("cond_subgraph_index", held, operation)[0],
        lambda held, operation: node.run_subgraph("body_subgraph_index", held, operation),
    )


@register_tflite("CALL")
def call(node: TfliteNode) -> Outputs:
    return node.run_subgraph("subgraph", _inputs(node))


@register_tflite("STABLEHLO_COMPOSITE")
def composite(node: TfliteNode) -> Outputs:
    """Convert a composite operator by its decomposition, which is a subgraph."""
    return node.run_subgraph("decomposition_subgraph_index", _inputs(node))


# ---- variables ----


@register_tflite("CALL_ONCE")
def call_once(node: TfliteNode) -> Outputs:
    """Convert CALL_ONCE, which initializes variables. Each call of the program initializes them, not only the first."""
    node.run_subgraph("init_subgraph_index", [])
    return None


@register_tflite("VAR_HANDLE")
def var_handle(node: TfliteNode) -> Outputs:
    name = tuple(node.attr(option, b"") or b"" for option in ("container", "shared_name"))
    variables = node.graph.variables
    variables.setdefault(name, None)
    return known(list(variables).index(name))


def _variable(node: TfliteNode) -> tuple[bytes, ...]:
    place = node.number(0)
    assert place is not None
    return list(node.graph.variables)[place]


@register_tflite("READ_VARIABLE")
def read_variable(node: TfliteNode) -> Outputs:
    if (variable := node.graph.variables[_variable(node)]) is None:
        raise node.fail("a variable is read before it is assigned: variables do not keep their values between calls")
    return variable


@register_tflite("ASSIGN_VARIABLE")
def assign_variable(node: TfliteNode) -> Outputs:
    if node.graph.is_in_region:
        raise node.fail("a variable is assigned in a branch or a loop that depends on run-time values")
    node.graph.variables[_variable(node)] = node.stored(1)
    return None
