# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sharding rules: each operator's cases, divided along a dimension of an argument, have the bits of one process."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from divided_cases import OPERATORS, check_divided, with_scores
from relax_mlir import relax
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir_shard.factors import register_sharding


@pytest.mark.parametrize("operator", OPERATORS)
def test_divided_operators_have_the_bits_of_one_process(operator: str) -> None:
    check_divided(operator, "rule")


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


def check_without_gathers(operator: Any, shapes: dict[str, tuple[int, ...]], specs: dict[str, Any]) -> None:
    module = rx.Module()
    with module.function("main", {name: rx.tensor(shape) for name, shape in shapes.items()}) as f:
        f.returns(operator(*f))
    generator = numpy.random.default_rng(0)
    inputs = [generator.standard_normal(shape, "float32") for shape in shapes.values()]
    divided = rx.shard(module, {"x": 2}, specs)
    assert '"ccl.all_gather"' not in str(divided)
    with rx.launch(rx.compile(divided)) as ranks:
        numpy.testing.assert_array_equal(ranks["main"](*inputs), to_numpy(rx.compile(module)["main"](*inputs)))


@pytest.mark.parametrize("heads", [4, 2, 1])
@pytest.mark.parametrize("bias", [(4, 4, 5, 6), (1, 4, 5, 6), (4, 1, 1, 6)])
@pytest.mark.parametrize("spec", [("x", None, None, None), (None, None, "x", None)])
def test_attention_with_a_bias_and_shared_heads_of_keys(heads: int, bias: tuple[int, ...], spec: Any) -> None:
    shapes = {"q": (4, 5, 4, 8), "k": (4, 6, heads, 8), "v": (4, 6, heads, 8), "bias": bias}
    check_without_gathers(relax.nn.attention_bias, shapes, {"q": spec})


def test_grouped_convolutions_divide_batches() -> None:
    shapes = {"x": (4, 4, 6, 6), "w": (8, 2, 3, 3)}
    check_without_gathers(partial(relax.nn.conv2d, groups=2), shapes, {"x": ("x", None, None, None)})
