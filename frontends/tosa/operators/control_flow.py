# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches and loops; variables, which programs here do not have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ....bindings.ir import Operation
from ...core.control.scf_branches import build_branches
from ...core.control.scf_loops import LoopSpec, Turn, build_loop
from ...core.control.scf_regions import known_truth, scalar_of
from ...core.values import Held
from ..prelude import Node, Outputs, Value, register_tosa


@register_tosa("tosa.cond_if")
def cond_if(node: Node) -> Outputs:
    condition, given = node.value(0), [node.held(index) for index in range(1, len(node.inputs))]
    holds = known_truth(condition)
    if holds is not None:
        return node.run_body(given, 0 if holds else 1)
    return build_branches(node, condition, [partial(_branch, node, given, index) for index in (0, 1)])


def _branch(node: Node, given: Sequence[Any], index: int, operation: Operation) -> list[Held]:
    return node.run_body(given, index, operation)


@register_tosa("tosa.while_loop")
def while_loop(node: Node) -> Outputs:
    """The condition is asked before the first turn, and after each for the next."""

    def goes_on(held: Sequence[Any], operation: Operation | None) -> Value:
        return node.run_body(held, 0, operation)[0]

    def step(operation: Operation, index: Value, held: list[Any]) -> Turn:
        after = node.run_body(held, 1, operation)
        return Turn(after, [], goes_on(after, operation))

    starts = scalar_of(node, goes_on(node.inputs, None))
    after, _ = build_loop(
        LoopSpec(node, step, None, starts, is_open=True), [node.value(i) for i in range(len(node.inputs))]
    )
    return after


@register_tosa("tosa.variable_read", "tosa.variable_write")
def variable(node: Node) -> Outputs:
    raise node.fail("a program has no variables: make the state an argument and a result of the function", "name")
