# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts are independent of the order of a graph's operators, and reports explain why a match is not taken."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest
from partitioning import add, built, codegen, matmul, relu
from relax_mlir.bindings.navigation import functions_in, operations_in, text_in
from relax_mlir.passes.core.external import external_modules

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_const, is_op, wildcard

WEIGHT = numpy.ones((4, 4), "float32")
LAYER = [("npu.layer", relu(matmul(wildcard(), is_const())))]
EXP = [("npu.exp", is_op("relax.exp"))]
PLANS = ["priority", "cost"]
FREE = {"cost": lambda *_: 0.0, "crossing_cost": lambda *_: 0.0}


def parts(module: rx.Module, rows: Sequence[Any], plan: str = "priority", **members: Any) -> list[list[str]]:
    """Return the operators of each composite of each part."""
    with codegen(rows, **{**FREE, **members}) as npu:
        rx.Pipeline([rx.Partition(codegens=(npu,), plan=plan)]).run(module)
    return sorted(sorted(_composites_in(part)) for part in external_modules(module.operation))


def _composites_in(part: Any) -> list[str]:
    found = [functions for functions in functions_in(part) if text_in(functions, "relax.composite")]
    return [" ".join(op.name.removeprefix("relax.") for op in operations_in(each) if op.name.startswith("relax."))
            for each in found]  # fmt: skip


def why(module: rx.Module, rows: Sequence[Any], plan: str = "priority", **members: Any) -> dict[str, str]:
    """Return the reason for each operator that stays."""
    journal = rx.Journal()
    with codegen(rows, **members) as npu, journal.recording():
        rx.Pipeline([rx.Partition(codegens=(npu,), plan=plan, explain=True)]).run(module)
    return {fact["operator"]: fact["reason"] for fact in journal.facts if fact["kind"] == "kept"}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("order", sorted(set(itertools.permutations("aabb"))), ids="".join)
def test_branches_in_any_order(order: Sequence[str], plan: str) -> None:
    def body(x: Any, y: Any) -> Any:
        values = {"a": x, "b": y}
        seen: list[str] = []
        for name in order:
            is_first = name not in seen
            seen.append(name)
            made = relax.matmul(values[name], relax.const(WEIGHT)) if is_first else relax.nn.relu(values[name])
            values[name] = made
        return relax.subtract(values["a"], values["b"])

    assert parts(built(body), LAYER, plan) == [["matmul nn.relu"], ["matmul nn.relu"]]


@pytest.mark.parametrize("plan", PLANS)
def test_the_match_that_is_read_first_gets_a_shared_operator(plan: str) -> None:
    """Give the shared operator to the match that is read first, in any order of the graph."""
    rows = [("npu.sum", add(is_op("relax.exp"), is_const()))]
    bodies: list[Callable[..., Any]] = []
    for is_swapped in (False, True):

        def body(x: Any, y: Any, is_swapped: bool = is_swapped) -> Any:
            e = relax.exp(x)
            makers = {1.0: None, 2.0: None}
            for number in sorted(makers, reverse=is_swapped):
                makers[number] = relax.add(e, relax.const(numpy.full((4, 4), number, "float32")))
            return makers[1.0], relax.tanh(makers[2.0])

        bodies.append(body)
    found = []
    for each in bodies:
        module = built(each)
        assert parts(module, rows, plan) == [["exp add"]]
        (part,) = external_modules(module.operation)
        found.append(str(part).partition("loc(")[0])
    assert found[0] == found[1]


def test_a_function_is_the_same_in_any_order() -> None:
    """Compare name, arguments and operations."""
    difference = is_op("relax.subtract")(is_op("relax.exp")(wildcard()), is_op("relax.tanh")(wildcard()))
    made = []
    for first in (relax.exp, relax.tanh):

        def body(x: Any, y: Any, first: Any = first) -> Any:
            values = {first: first(x if first is relax.exp else y)}
            other = relax.tanh if first is relax.exp else relax.exp
            values[other] = other(x if other is relax.exp else y)
            return relax.subtract(values[relax.exp], values[relax.tanh])

        module = built(body)
        parts(module, [("npu.it", difference)])
        (part,) = external_modules(module.operation)
        made.append(str(part))
    assert made[0] == made[1]


IF = """
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = "relax.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %i = tensor.extract %c[] : tensor<i1>
  %b = scf.if %i -> tensor<4xf32> {
    %0 = "relax.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  %d = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b, %d : tensor<4xf32>, tensor<4xf32>
}"""
CALL = """
func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.BODY"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = "relax.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @other(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %d = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b, %d : tensor<4xf32>, tensor<4xf32>
}"""
PAIR = [("npu.pair", is_op("relax.exp")(is_op("relax.tanh")(wildcard())))]


def test_branches_and_pure_functions_may_separate_the_operators_of_a_match() -> None:
    """Allow branches and functions without effects in between."""
    assert parts(rx.Module.parse(IF), PAIR) == [["tanh exp"]]
    assert parts(rx.Module.parse(CALL.replace("BODY", "abs")), PAIR) == [["tanh exp"]]


def test_a_second_partition() -> None:
    """Partition a second time: calls of the first partition lie between operators of the second."""
    module = built(lambda x, y: (relax.tanh(x), relax.abs(y)))
    text = """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = "relax.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = "relax.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %d = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b, %d : tensor<4xf32>, tensor<4xf32>
}"""
    module = rx.Module.parse(text)
    assert parts(module, [("npu.abs", is_op("relax.abs"))]) == [["abs"]]
    assert parts(module, PAIR) == [["abs"], ["tanh exp"]]


def printing(x: Any, y: Any) -> Any:
    t = relax.tanh(x)
    called = relax.call_packed("test.called", [x], x.type)
    return relax.exp(t), called


def test_matches_do_not_cross_operators_with_effects() -> None:
    assert why(built(printing), PAIR) == {
        "relax.exp": "matches, but would be reordered with relax.call_packed, which must not move",
        "relax.tanh": "matches, but would be reordered with relax.call_packed, which must not move",
        "relax.call_packed": "no pattern has relax.call_packed",
    }


def test_a_match_that_depends_on_itself_is_explained() -> None:
    rows = [("npu.it", is_op("relax.subtract")(is_op("relax.exp").named("e"), wildcard()))]

    def body(x: Any, y: Any) -> Any:
        e = relax.exp(x)
        return relax.subtract(e, relax.tan(e))

    reasons = why(built(body), rows)
    assert (
        reasons["relax.subtract"]
        == reasons["relax.exp"]
        == "matches, but reads a result of relax.tan, which depends on the match itself"
    )


def test_the_explanation_names_the_match_that_took_an_operand() -> None:
    """Name the pattern and the operator that took a shared operand."""
    rows = [
        ("npu.first", is_op("relax.tanh")(is_op("relax.exp"))),
        ("npu.second", is_op("relax.abs")(is_op("relax.exp"))),
    ]

    def body(x: Any, y: Any) -> Any:
        e = relax.exp(x)
        return relax.tanh(e), relax.abs(e)

    (reason,) = why(built(body), rows).values()
    assert reason.startswith("matches, but relax.exp (test_partition_order.py:") and reason.endswith(
        " went to npu.first"
    )


def test_inner_operators_have_the_reason_of_their_match() -> None:
    """Give an operator two steps before the pattern's end the match's reason, not that of a single operator."""
    rows = [("npu.it", relu(add(matmul(wildcard(), wildcard()), wildcard())))]

    def body(x: Any, y: Any) -> Any:
        dot = relax.matmul(x, y)
        return relax.nn.relu(relax.add(dot, relax.call_packed("test.called", [dot], x.type)))

    reasons = why(built(body), rows)
    assert {reasons["relax.matmul"], reasons["relax.add"], reasons["relax.nn.relu"]} == {
        "matches, but reads a result of relax.call_packed, which depends on the match itself"
    }


def test_the_explanation_of_a_cost_plan_has_the_counted_prices() -> None:
    prices = {"cost": lambda *_: 2e-6, "host_cost": lambda *_: 5e-6, "crossing_cost": lambda self, size: size * 1e-8,
              "call_cost": lambda self: 1e-3}  # fmt: skip
    reasons = why(built(lambda x, y: relax.exp(x)), EXP, "cost", **prices)
    counted = "the plan 'cost' counts 2 us, 1 ms for codegen and border, 5 us for the target"
    assert reasons == {"relax.exp": f"matches, but {counted}"}


@pytest.mark.parametrize("name", ["host_cost", "crossing_cost", "call_cost"])
def test_prices_that_are_none(name: str) -> None:
    with pytest.raises(rx.RelaxError, match=rf"codegen 'npu': {name}\(\) returned -1, expected seconds"):
        parts(built(lambda x, y: relax.exp(x)), EXP, "cost", **{name: lambda *_: -1})


def test_a_border_of_ones_own_decides() -> None:
    """Decide by a codegen's cost of a call: two adjacent operators are one call.

    The codegen also states the target's cost.
    """

    def body(x: Any, y: Any) -> Any:
        return relax.tanh(relax.exp(x))

    rows = [*EXP, ("npu.tanh", is_op("relax.tanh"))]
    free = {"cost": lambda *_: 1e-6, "host_cost": lambda *_: 6e-6, "crossing_cost": lambda *_: 0.0}
    both = [["exp", "tanh"]]
    assert parts(built(body), rows, "cost", **free, call_cost=lambda self: 4e-6) == both
    assert parts(built(body), rows, "cost", **free, call_cost=lambda self: 9e-6) == both  # 11 to 12, one by one dearer
    assert parts(built(body), rows, "cost", **free, call_cost=lambda self: 11e-6) == []
    alone = {**free, "call_cost": lambda self: 9e-6, "separate": True}
    assert parts(built(body), rows, "cost", **alone) == []
    dear = {**free, "crossing_cost": lambda self, size: 6e-6 if size else 0.0}
    assert parts(built(body), rows, "cost", **dear) == []
