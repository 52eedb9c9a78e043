# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-fuse-ops-by-pattern: outlined functions, their place in the graph, and unchanged results.

Situations of Apache TVM's test_transform_fuse_ops_by_pattern.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import blocks
import pytest
from before_after import changed, functions_by_name, keeps_results
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from partitioning import add, built, codegen, product, relu, rows
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.passes.graph.partition.codegen import Codegen, find_codegen, register_codegen
from relax_mlir.passes.graph.relax_fuse_ops_by_pattern import FuseOpsByPattern
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_const, is_op, wildcard


def composites(module: rx.Module) -> dict[str, list[str]]:
    """Return the operators of each composite function, by the pattern's name and a number."""
    found: dict[str, list[str]] = {}
    for function in functions_by_name(module).values():
        if "relax.composite" in function.attributes:
            name = function.attributes["relax.composite"].value
            inside = [op.name.removeprefix("relax.") for op in operations_in(function) if op.name.startswith("relax.")]
            found[f"{name}#{sum(each.startswith(name) for each in found)}"] = inside
    return found


def fused(rows: Sequence[Any], body: Callable[..., Any], *shapes: Any, **options: Any) -> dict[str, list[str]]:
    with codegen(rows) as name:
        return composites(keeps_results(built(body, *shapes), FuseOpsByPattern((name,), **options)))


def test_earlier_patterns_come_first() -> None:
    body = lambda a, b: relax.nn.relu(relax.matmul(a, b))  # noqa: E731
    whole, part = ("npu.mm_relu", relu(product)), ("npu.mm", product)
    assert fused([whole, part], body) == {"npu.mm_relu#0": ["matmul", "nn.relu"]}
    assert fused([part, whole], body) == {"npu.mm#0": ["matmul"]}


def test_the_longest_match_of_a_pattern_is_taken() -> None:
    rows = [("npu.mm", product.optional(lambda y: add(y, is_const())).optional(relu))]

    def body(a: Any, b: Any) -> Any:
        biased = relax.add(relax.matmul(a, b), relax.const([1.0] * 4, "float32"))
        return relax.nn.relu(biased), relax.matmul(b, a)

    assert fused(rows, body) == {"npu.mm#0": ["matmul", "add", "nn.relu"], "npu.mm#1": ["matmul"]}


def test_long_chains_have_short_names() -> None:
    def body(a: Any, b: Any) -> Any:
        for _ in range(20):
            a = relax.nn.relu(a)
        return relax.exp(a)

    with codegen([("npu.chain", wildcard().repeated(relu, least=1))]) as name:
        module = keeps_results(built(body), FuseOpsByPattern((name,)))
    assert list(functions_by_name(module)) == ["fused" + "_nn_relu" * 6 + "_more", "main"]


def test_no_circle_through_another_function() -> None:
    """Outline one of two matches that would depend on each other."""

    def body(a: Any, b: Any) -> Any:
        x, y = relax.exp(a), relax.tanh(b)
        one = relax.subtract(x, relax.nn.relu(y))
        other = relax.divide(y, relax.abs(x))
        return one, other

    outputs_of = [
        ("npu.one", is_op("relax.subtract")(is_op("relax.exp")(wildcard()), relu(wildcard()))),
        ("npu.other", is_op("relax.divide")(is_op("relax.tanh")(wildcard()), is_op("relax.abs")(wildcard()))),
    ]
    found = fused(outputs_of, body)
    assert list(found) == ["npu.one#0"]


def test_operators_between_parts_of_a_match_move_behind() -> None:
    """Move tanh, which reads the product, behind the outlined sum."""

    def body(a: Any, b: Any) -> Any:
        y = relax.matmul(a, b)
        z = relax.tanh(y)
        return z, relax.exp(z), relax.add(y, a)

    assert fused([("npu.mm", add(product, wildcard()))], body) == {"npu.mm#0": ["matmul", "add"]}


def test_constants_are_bound_or_passed() -> None:
    rows = [("npu.bias", add(wildcard(), is_const()))]
    body = lambda a: relax.add(a, relax.const([1.0] * 4, "float32"))  # noqa: E731
    for bind, count in ((True, 1), (False, 2)):
        with codegen(rows) as name:
            module = keeps_results(built(body, ("n", 4)), FuseOpsByPattern((name,), bind_constants=bind))
        (function,) = (f for f in functions_by_name(module).values() if "relax.composite" in f.attributes)
        assert len(function.attributes["function_type"].value.inputs) == count


def test_shapes_are_made_inside() -> None:
    """Compute shapes of the tensors' sizes inside. A shape with another symbol cannot be computed there."""
    rows = [("npu.reshape", is_op("relax.reshape")(wildcard(), ...))]
    inside = built(lambda a: relax.reshape(a, [rx.sym("n") * 4]), ("n", 4))
    outside = built(lambda a, b: relax.broadcast_to(a, [rx.sym("m"), 4]), (1, 4), ("m",))
    with codegen([*rows, ("npu.wide", is_op("relax.broadcast_to")(wildcard(), ...))]) as name:
        assert list(composites(keeps_results(inside, FuseOpsByPattern((name,))))) == ["npu.reshape#0"]
        assert composites(keeps_results(outside, FuseOpsByPattern((name,)))) == {}


def test_branches_are_looked_into_and_never_left() -> None:
    module = rx.Module.parse(
        """func.func @main(%a: tensor<4x4xf32>, %c: i1) -> tensor<4x4xf32> {
          %0 = "relax.matmul"(%a, %a) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
          %1 = scf.if %c -> tensor<4x4xf32> {
            %2 = "relax.nn.relu"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
            %3 = "relax.matmul"(%2, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
            %4 = "relax.nn.relu"(%3) : (tensor<4x4xf32>) -> tensor<4x4xf32>
            scf.yield %4 : tensor<4x4xf32>
          } else { scf.yield %0 : tensor<4x4xf32> }
          return %1 : tensor<4x4xf32>
        }"""
    )
    with codegen([("npu.mm", product.optional(relu))]) as name:
        found = composites(changed(module, FuseOpsByPattern((name,))))
    assert found == {"npu.mm#0": ["matmul"], "npu.mm#1": ["matmul", "nn.relu"]}


def test_functions_of_a_codegen_are_left_alone_unless_named() -> None:
    body = lambda a, b: relax.nn.relu(relax.matmul(a, b))  # noqa: E731
    with codegen([("npu.mm", product)]) as name, codegen([("other.relu", relu(wildcard()))], "other") as other:
        once = changed(built(body), FuseOpsByPattern((name, other)))
        assert composites(once) == {"npu.mm#0": ["matmul"], "other.relu#0": ["nn.relu"]}
        assert composites(changed(once, FuseOpsByPattern((name,)))) == composites(once)
        inner = changed(once, FuseOpsByPattern((name,), entry_functions=("fused_matmul",)))
        assert len(composites(inner)) == 3


def test_a_codegen_s_function_around_each() -> None:
    body = lambda a, b: relax.nn.relu(relax.matmul(a, b))  # noqa: E731
    with codegen([("npu.mm", relu(product))]) as name:
        module = keeps_results(built(body), FuseOpsByPattern((name,), annotate_codegen=True))
    functions = functions_by_name(module)
    assert list(functions) == ["fused_matmul_nn_relu", "fused_matmul_nn_relu_npu", "main"]
    assert functions["fused_matmul_nn_relu_npu"].attributes["relax.codegen"].value == "npu"
    calls = {name: [op.attributes["callee"].value for op in operations_in(f) if op.name == "func.call"]
             for name, f in functions.items()}  # fmt: skip
    assert calls["main"] == ["fused_matmul_nn_relu_npu"]
    assert calls["fused_matmul_nn_relu_npu"] == ["fused_matmul_nn_relu"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("other.mm", product)], "pattern 'other.mm' has to be called 'npu.<what>'"),
        ([("npu.mm", product), ("npu.mm", relu)], "two patterns are called 'npu.mm'"),
        ([("npu.any", wildcard())], r"pattern 'npu.any' has to begin with an operator: \*"),
        (
            [("npu.mm",)],
            r"a row is \(name, pattern\), \(name, pattern, check\) or an rx.codegens.PatternRow, not \(.npu.mm.,\)",
        ),
    ],
)
def test_patterns_that_mean_nothing_are_refused_at_registration(rows: Sequence[Any], message: str) -> None:
    with pytest.raises(RelaxError, match=f"codegen 'npu': {message}"), codegen(rows):
        pass


def test_unknown_codegens_and_functions_are_refused() -> None:
    module = built(lambda a, b: relax.matmul(a, b))
    with codegen([("npu.mm", product)]) as name:
        with pytest.raises(RelaxError, match=r"unknown codegen 'npv'; did you mean 'npu'\? \(registered: .*npu.*\)"):
            changed(module, "relax-fuse-ops-by-pattern{codegen=npv}")
        with pytest.raises(RelaxError, match="there is no graph function @mian; did you mean 'main'"):
            changed(module, FuseOpsByPattern((name,), entry_functions=("mian",)))
        with pytest.raises(RelaxError, match="there is a codegen 'npu' already"):
            register_codegen(name)(type("Again", (Codegen,), {"__module__": "elsewhere"}))
        assert find_codegen(name).name == "npu"
    with pytest.raises(RelaxError, match="codegen= names no codegen"):
        FuseOpsByPattern()


@draws(25)
@given(patterns=rows(), module=blocks.images() | blocks.sequences(), bind=st.booleans())
def test_random_graphs_by_random_patterns(patterns: list[Any], module: rx.Module, bind: bool) -> None:
    before = [op.name for op in operations_in(module.operation) if op.name.startswith("relax.nn")]
    with codegen(patterns) as name:
        after = keeps_results(module, FuseOpsByPattern((name,), bind_constants=bind))
    assert sorted(before) == sorted(op.name for op in operations_in(after.operation) if op.name.startswith("relax.nn"))
