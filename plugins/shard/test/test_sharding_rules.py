# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sharding rules: each operator's cases, divided along a dimension of an argument, have the bits of one process."""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.navigation import body_of, functions_in, symbol_name
from relax_mlir.dialects.relax.function_attributes import argument_names
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir_proof.testing.case_lists import all_cases
from relax_mlir_proof.testing.trial import Subject
from relax_mlir_shard.factors import register_sharding
from relax_mlir_shard.planner import shape_of

CASES = all_cases(Subject("llvm"), ["operators"])
OPERATORS = sorted({case.subject for case in CASES})
#: Cases of each operator that are divided.
COUNT = 4

mine = rx.Dialect("shardtest", doc="Operators of these tests.")
mine.op("scores", "q k", infer=lambda call: call.q.with_shape((*call.q.shape[:2], call.k.shape[1])), doc="q k^T / 2.")


@rx.rules.register_legalize("shardtest.scores")
def scores(call: Any) -> Any:
    keys = relax.permute_dims(call.op.k, axes=[0, 2, 1])
    return relax.multiply(relax.matmul(call.op.q, keys), relax.const(numpy.float32(0.5)))


register_sharding("shardtest.scores", "bmk,bnk->bmn")


def arrays(results: Any) -> list[Any]:
    return [to_numpy(each) for each in (results if isinstance(results, tuple) else (results,))]


def main_of(module: rx.Module) -> Any:
    return next(each for each in functions_in(module.operation) if symbol_name(each) == "main")


@pytest.mark.parametrize("operator", OPERATORS)
def test_divided_operators_have_the_bits_of_one_process(operator: str) -> None:
    draw = random.Random(operator)
    cases = [case for case in CASES if case.subject == operator]
    for case in draw.sample(cases, min(COUNT, len(cases))):
        try:
            setup = case.make(0)
        except rx.RelaxError:  # the operator has no such case
            continue
        main = main_of(setup.module)
        shapes, names = [shape_of(value) for value in body_of(main).arguments], argument_names(main)
        places = [(at, axis) for at, shape in enumerate(shapes) for axis, size in enumerate(shape)
                  if isinstance(size, int) and size > 1]  # fmt: skip
        if not places:
            continue
        try:
            program = rx.compile(setup.module, opt_level=0)
        except rx.RelaxError:  # the case is one of refusal
            continue
        expected = arrays(program["main"](*setup.calls[0]))
        at, axis = draw.choice(places)
        count = draw.choice([2, 3])
        spec = tuple("x" if each == axis else None for each in range(len(shapes[at])))
        divided = rx.compile(rx.shard(setup.module, {"x": count}, {names[at]: spec}), opt_level=0)
        with rx.launch(divided, timeout=30) as ranks:
            found = arrays(ranks["main"](*setup.calls[0]))
        for one, other in zip(found, expected, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype), case.name
            bits = [numpy.ascontiguousarray(each).reshape(-1).view("uint8") for each in (one, other)]
            is_same = numpy.array_equal(*bits) or numpy.array_equal(one, other, equal_nan=True)
            assert is_same, f"{case.name}, argument {names[at]} divided along {axis} by {count}"


def with_scores() -> rx.Module:
    module = rx.Module()
    with module.function("main", {"q": rx.tensor((4, 6, 8)), "k": rx.tensor((4, 5, 8))}) as f:
        f.returns(mine.scores(*f))
    return module


@pytest.mark.parametrize(
    ("spec", "collectives"), [(("x", None, None), 0), ((None, "x", None), 0), ((None, None, "x"), 1)]
)
def test_an_operator_of_another_package_needs_one_line(spec: Any, collectives: int, capsys: Any) -> None:
    module = with_scores()
    random_ = numpy.random.default_rng(0)
    q, k = (random_.standard_normal(shape, "float32") for shape in ((4, 6, 8), (4, 5, 8)))
    expected = to_numpy(rx.compile(module)["main"](q, k))
    divided = rx.shard(module, {"x": 2}, {"q": spec}, explain=True)
    assert f"{collectives} collectives" in capsys.readouterr().out
    numpy.testing.assert_array_equal(rx.launch(rx.compile(divided))["main"](q, k), expected)


def test_a_divided_sum_of_another_package_is_combined() -> None:
    """Add the partial sums, which Shardy's propagation through such an operator forgets."""
    module = with_scores()
    q, k = (numpy.ones(shape, "float32") for shape in ((4, 6, 8), (4, 5, 8)))
    specs = {"q": (None, None, "x"), "k": (None, None, "x")}
    divided = rx.shard(module, {"x": 4}, specs, sums="split")
    assert '"ccl.all_reduce"' in str(divided)
    numpy.testing.assert_array_equal(rx.launch(rx.compile(divided))["main"](q, k), numpy.full((4, 6, 5), 4, "float32"))


@pytest.mark.parametrize(
    ("operator", "rule", "problem"),
    [
        ("shardtest.scores", "a->a", "has a sharding rule already"),
        ("relax.nn.pixel_shuffle", "ab", "expected letters for each dimension"),
        ("relax.nn.pixel_shuffle", "a1->a", "expected letters for each dimension"),
        ("relax.nn.pixel_shuffle", "ab->a|b:mean", "'b:mean' must be a letter and one of sum, prod, max, min, outer"),
        ("shardtest.score", "a->a", "shardtest.score"),
    ],
)
def test_rules_are_checked(operator: str, rule: str, problem: str) -> None:
    with pytest.raises(rx.RelaxError, match=problem):
        register_sharding(operator, rule)


@pytest.mark.parametrize("heads", [4, 2, 1])
@pytest.mark.parametrize("bias", [(4, 4, 5, 6), (1, 4, 5, 6), (4, 1, 1, 6)])
@pytest.mark.parametrize("axis", [0, 2])
def test_attention_with_a_bias_and_shared_heads_of_keys(heads: int, bias: tuple[int, ...], axis: int) -> None:
    shapes = {"q": (4, 5, 4, 8), "k": (4, 6, heads, 8), "v": (4, 6, heads, 8), "bias": bias}
    module = rx.Module()
    with module.function("main", {name: rx.tensor(shape) for name, shape in shapes.items()}) as f:
        f.returns(relax.nn.attention_bias(*f))
    generator = numpy.random.default_rng(0)
    inputs = [generator.standard_normal(shape, "float32") for shape in shapes.values()]
    spec = tuple("x" if dimension == axis else None for dimension in range(4))
    divided = rx.shard(module, {"x": 2}, {"q": spec})
    assert '"ccl.all_gather"' not in str(divided)
    with rx.launch(rx.compile(divided)) as ranks:
        numpy.testing.assert_array_equal(ranks["main"](*inputs), to_numpy(rx.compile(module)["main"](*inputs)))
