# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-merge-composite-functions: what hangs together becomes one function of its codegen, without circles.

Situations of Apache TVM's test_transform_merge_composite_functions.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blocks
from before_after import changed, functions_by_name, keeps_results
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from partitioning import built, codegen, rows
from relax_mlir.bindings.navigation import callee_of, operations_in
from relax_mlir.passes.relax_fuse_ops_by_pattern import FuseOpsByPattern

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op

#: One function for each operator of two codegens.
ONE = [(f"one.{name}", is_op(f"relax.{name}")) for name in ("exp", "tanh", "add", "multiply")]
OTHER = [("other.abs", is_op("relax.abs")), ("other.sqrt", is_op("relax.sqrt"))]


def merged(body: Callable[..., Any], *shapes: Any) -> dict[str, list[str]]:
    """What each function of a codegen calls, without the numbers of names; results are compared."""
    with codegen(ONE, "one") as one, codegen(OTHER, "other") as other:
        apart = changed(built(body, *shapes), FuseOpsByPattern((one, other)))
    return parts(keeps_results(apart, "relax-merge-composite-functions"))


def parts(module: rx.Module) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for function in functions_by_name(module).values():
        if "relax.codegen" in function.attributes:
            name = function.attributes["relax.codegen"].value
            calls = [callee_of(op).removeprefix("fused_") for op in operations_in(function) if op.name == "func.call"]
            found[f"{name}#{sum(each.startswith(name) for each in found)}"] = [call.partition("_")[0] for call in calls]
    return found


def test_a_chain_is_one_function() -> None:
    assert merged(lambda a, b: relax.tanh(relax.exp(relax.add(a, b)))) == {"one#0": ["add", "exp", "tanh"]}


def test_what_shares_nothing_stays_apart() -> None:
    assert merged(lambda a, b: (relax.exp(a), relax.tanh(b))) == {"one#0": ["exp"], "one#1": ["tanh"]}


def test_branches_that_meet_are_one_function() -> None:
    assert merged(lambda a, b: relax.add(relax.exp(a), relax.tanh(b))) == {"one#0": ["exp", "tanh", "add"]}


def test_a_diamond_is_one_function() -> None:
    body = lambda a, b: relax.add(relax.exp(x := relax.tanh(a)), relax.multiply(x, b))  # noqa: E731
    assert merged(body) == {"one#0": ["tanh", "exp", "multiply", "add"]}


def test_another_codegen_between_keeps_them_apart() -> None:
    body = lambda a, b: relax.exp(relax.abs(relax.tanh(a)))  # noqa: E731
    assert merged(body) == {"one#0": ["tanh"], "other#0": ["abs"], "one#1": ["exp"]}


def test_no_circle_through_another_codegen() -> None:
    """The sum needs exp by itself and by what the other one makes of it."""
    body = lambda a, b: relax.add(x := relax.exp(a), relax.abs(x))  # noqa: E731
    assert merged(body) == {"one#0": ["exp"], "other#0": ["abs"], "one#1": ["add"]}


def test_no_circle_through_what_is_nobodys() -> None:
    body = lambda a, b: relax.add(x := relax.exp(a), relax.nn.relu(x))  # noqa: E731
    assert merged(body) == {"one#0": ["exp"], "one#1": ["add"]}


def test_no_circle_between_two_that_have_grown() -> None:
    """Each could hold its two calls, but then each would need the other."""

    def body(a: Any, b: Any) -> Any:
        x, y = relax.exp(a), relax.abs(b)
        return relax.add(x, y), relax.sqrt(relax.abs(relax.multiply(x, y)))

    found = merged(body)
    assert found == {"one#0": ["exp", "add", "multiply"], "other#0": ["abs"], "other#1": ["abs", "sqrt"]} or found == {
        "other#0": ["abs"], "one#0": ["exp", "add", "multiply"], "other#1": ["abs", "sqrt"]}  # fmt: skip


def test_several_results_and_sizes_of_the_run() -> None:
    body = lambda a, b: (x := relax.exp(a), relax.tanh(x), relax.add(x, b))  # noqa: E731
    assert merged(body, ("n", 4), ("n", 4)) == {"one#0": ["exp", "tanh", "add"]}


def test_what_is_between_and_nobodys_moves() -> None:
    """relu reads what exp makes, and stands between the calls that become one."""
    body = lambda a, b: (relax.nn.relu(x := relax.exp(a)), relax.tanh(x))  # noqa: E731
    assert merged(body) == {"one#0": ["exp", "tanh"]}


@draws(25)
@given(first=rows(), second=rows(), module=blocks.images() | blocks.sequences(), bind=st.booleans())
def test_random_graphs_by_random_patterns(first: Any, second: Any, module: rx.Module, bind: bool) -> None:
    """Every composite call is in one function of its codegen, and results stay the same."""
    renamed = [(name.replace("npu", "cpu"), pattern) for name, pattern in second]
    with codegen(first) as npu, codegen(renamed, "cpu") as cpu:
        apart = changed(module, FuseOpsByPattern((npu, cpu), bind_constants=bind))
        after = keeps_results(apart, "relax-merge-composite-functions")
    held = [call for calls in parts(after).values() for call in calls]
    assert len(held) == sum("relax.composite" in each.attributes for each in functions_by_name(apart).values())
