# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches and loops. Variables are not supported."""

from __future__ import annotations

from relax_mlir.frontends.core.control.scf_branches import run_either
from relax_mlir.frontends.core.control.scf_loops import run_while

from ..prelude import Outputs, TosaNode, register_tosa


@register_tosa("tosa.cond_if")
def cond_if(node: TosaNode) -> Outputs:
    given = [node.held(index) for index in range(1, len(node.inputs))]
    return run_either(node, node.value(0), lambda place, operation: node.run_body(given, place, operation))


@register_tosa("tosa.while_loop")
def while_loop(node: TosaNode) -> Outputs:
    return run_while(
        node,
        [node.value(index) for index in range(len(node.inputs))],
        lambda held, operation: node.run_body(held, 0, operation)[0],
        lambda held, operation: node.run_body(held, 1, operation),
    )


@register_tosa("tosa.variable_read", "tosa.variable_write")
def variable(node: TosaNode) -> Outputs:
    raise node.fail("a program has no variables: make the state an argument and a result of the function", "name")
