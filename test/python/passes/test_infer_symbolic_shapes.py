# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-infer-symbolic-shapes on random graphs: results stay the same, inferred sizes are true, and failures stay
failures."""

from __future__ import annotations

import time
from typing import Any

import numpy
import pytest
from before_after import changed, functions_by_name, op_names, random_arrays, results_of
from example_counts import draws
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from relax_mlir.bindings.navigation import body_of
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.substitute import dims_of
from relax_mlir.dialects.core.symbols import SymExpr, parse, sym
from relax_mlir.passes.graph.symbolic_shapes.equations import Equation, Equations

import relax_mlir as rx
from relax_mlir import RelaxError, relax

PASS = "relax-infer-symbolic-shapes"
SIZES = st.integers(1, 5)


class Graph:
    """Function on rows of numbers. Each row has a size that the test knows and a name in its type."""

    def __init__(self, draw: Any):
        self.draw = draw
        self.sizes: dict[str, int] = {}
        self.module = rx.Module()
        inputs = {name: self._input(name) for name in "abcde"}
        with self.module.function("main", inputs) as f:
            #: Values with their number of rows.
            self.rows = [(value, self.sizes[name]) for name, value in zip("abcde", f, strict=True)]
            for _ in range(draw(st.integers(2, 7))):
                self._step()
            f.returns(*(relax.tanh(value) for value, _ in self.rows[5:]))

    def _input(self, name: str) -> Any:
        # A small number of sizes, so that some are equal by chance and equations can be inferred.
        self.sizes[name] = self.draw(st.sampled_from([2, 4, 6]))
        return rx.tensor((name, 2))

    def _step(self) -> None:
        value, rows = self.draw(st.sampled_from(self.rows))
        kind = self.draw(st.sampled_from("concat reshape product cast slice forget number".split()))
        same = [each for each, other in self.rows if other == rows]
        partner = self.draw(st.sampled_from(same))
        name = f"s{len(self.rows)}"
        if kind == "concat":
            other, more = self.draw(st.sampled_from(self.rows))
            made, count = relax.concat([value, other], 0), rows + more
        elif kind == "reshape":
            wanted = self.draw(st.sampled_from([dims_of(decode(partner.type))[0] or rows, rows]))
            made, count = relax.reshape(value, (wanted, 2)), rows
        elif kind == "product":
            made, count = relax.matmul(relax.matmul(value, relax.permute_dims(partner)), partner), rows
        elif kind == "cast":
            made, count = relax.match_cast(value, rx.tensor((sym(name), 2))), rows
        elif kind == "slice":
            made, count = relax.strided_slice(value, axes=[0], begin=[1], end=[rows]), rows - 1
        elif kind == "forget":
            made, count = relax.match_cast(value, rx.tensor((None, 2))), rows
        else:
            made, count = relax.match_cast(value, rx.tensor((rows, 2))), rows
        self.rows.append((made, count))

    def arrays(self, change: dict[str, int] | None = None) -> list[Any]:
        return random_arrays(self.module, sizes={**self.sizes, **(change or {})})


@st.composite
def graphs(draw: Any) -> Graph:
    return Graph(draw)


@settings(draws(40), suppress_health_check=list(HealthCheck))
@given(graphs(), st.sampled_from("abcde"), st.sampled_from([1, 2, 3, 4, 6]))
def test_results_and_failures_stay(graph: Graph, name: str, size: int) -> None:
    """Run at the graph's sizes and at other sizes: a call fails before the pass if and only if it fails afterwards."""
    after = changed(graph.module, PASS)
    for arrays in (graph.arrays(), graph.arrays({name: size})):
        try:
            expected = results_of(graph.module, arrays)
        except (RelaxError, ValueError, RuntimeError):
            with pytest.raises((RelaxError, ValueError, RuntimeError)):
                results_of(after, arrays)
            continue
        for one, other in zip(expected, results_of(after, arrays), strict=True):
            numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@given(st.dictionaries(st.sampled_from("abcdef"), SIZES, min_size=6, max_size=6), st.data())
def test_answers_hold_for_every_solution(values: dict[str, int], data: Any) -> None:
    """Solve equations that hold for given sizes: conclusions must be true, and the equations never refused."""
    order = data.draw(st.permutations(sorted(values)))
    equations = Equations({name: place for place, name in enumerate(order)})
    operation = rx.Module().operation
    for _ in range(data.draw(st.integers(1, 8))):
        one = sum(
            (data.draw(st.integers(0, 3)) * sym(name) for name in data.draw(st.permutations(order))[:2]),
            start=data.draw(st.integers(0, 3)),
        )
        given_value = one.evaluate(values) if isinstance(one, SymExpr) else one
        name = data.draw(st.sampled_from(order))
        rest = given_value - values[name]
        other = sym(name) + rest if data.draw(st.booleans()) else given_value
        equations.add(Equation(one, other, operation))
        for known in equations.answers:
            resolved = equations.resolve(sym(known))
            value = resolved.evaluate(values) if isinstance(resolved, SymExpr) else resolved
            assert value == values[known]
            if isinstance(resolved, SymExpr):
                assert all(order.index(each) < order.index(known) for each in resolved.variables)
                assert resolved.variables.isdisjoint(equations.answers)


@pytest.mark.parametrize(
    ("said", "symbol", "size"),
    [
        ([("n", "2*m")], "n", "2*m"),
        ([("4*n", "80")], "n", "20"),
        ([("a + b", "a + c")], "c", "b"),
        ([("a + b", "a + c"), ("b", "7")], "c", "7"),
        ([("n + m", "10"), ("n", "4")], "m", "6"),
        # Equations that say nothing by themselves become useful later.
        ([("2*n", "3*m"), ("m", "4")], "n", "6"),
        ([("n*m", "12"), ("m", "4")], "n", "3"),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("d", "5")], "a", "5"),
    ],
)
def test_solutions(said: list[tuple[str, str]], symbol: str, size: str) -> None:
    equations = Equations({name: -1 for name in ("a", "b", "c", "d", "m", "n")})
    for one, other in said:
        equations.add(Equation(parse(one), parse(other), rx.Module().operation))
    assert str(equations.resolve(sym(symbol))) == size


@pytest.mark.parametrize(
    ("one", "other"), [("2*n", "3*m"), ("n*m", "12"), ("n + m", "0"), ("n//2", "3"), ("n + n//2", "6"), ("n", "k")]
)
def test_nothing_is_said_where_it_is_open(one: str, other: str) -> None:
    """Several solutions, no linear symbol, a name that nothing defines."""
    equations = Equations({"m": -1, "n": -1})
    equations.add(Equation(parse(one), parse(other), rx.Module().operation))
    assert not equations.answers


def test_a_symbol_is_defined_by_earlier_ones_only() -> None:
    equations = Equations({"n": -1, "k": 3, "l": 3})
    operation = rx.Module().operation
    equations.add(Equation(sym("n"), 2 * sym("k"), operation))
    assert not equations.answers  # k is defined by n, and n//2 would not say that n is even
    equations.add(Equation(sym("l"), 2 * sym("k"), operation))
    assert not equations.answers  # defined together
    equations.add(Equation(sym("l"), sym("n") + 1, operation))
    assert equations.answers["l"].size == sym("n") + 1


def test_long_chains() -> None:
    """Check that long chains need neither recursion nor more than linear time."""
    count = 3000
    equations = Equations({f"s{index}": index for index in range(count)})
    operation = rx.Module().operation
    for index in reversed(range(1, count)):
        equations.add(Equation(sym(f"s{index}"), sym(f"s{index - 1}") + 1, operation))
    equations.add(Equation(sym("s0"), 4, operation))
    assert equations.resolve(sym(f"s{count - 1}")) == count + 3


def _layers(count: int) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 8)), "y": rx.tensor(("m", 8))}) as f:
        x, y = f
        for _ in range(count):
            x = relax.reshape(relax.concat([relax.exp(x), y], 0), (sym("n") + sym("m"), 8))
            x = relax.strided_slice(x, axes=[0], begin=[0], end=[sym("n")])
            x = relax.matmul(relax.matmul(x, relax.permute_dims(y)), y)
        f.returns(relax.matmul(relax.permute_dims(x), y))
    return module


def test_time_is_linear() -> None:
    def seconds(count: int) -> float:
        module = _layers(count)
        start = time.thread_time()
        rx.Pipeline(PASS, verify_each=False).run(module)
        return time.thread_time() - start

    seconds(10)
    assert seconds(800) < 16 * max(min(seconds(200) for _ in range(2)), 0.001)


def test_a_call_that_fails_says_where() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 4))}) as f:
        (x,) = f
        f.returns(relax.reshape(x, (80,)))
    after = changed(module, PASS)
    assert "relax.match_cast" in op_names(after)
    executable = rx.compile(after, opt_level=0)
    executable["main"](numpy.zeros((20, 4), "float32"))
    with pytest.raises(ValueError, match="20"):
        executable["main"](numpy.zeros((21, 4), "float32"))


def test_static_modules_are_unchanged() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4, 4))}) as f:
        (x,) = f
        f.returns(relax.matmul(x, x))
    before = str(module)
    assert str(changed(module, PASS)) == before


def test_public_signatures_by_option() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 4))}) as f:
        (x,) = f
        f.returns(relax.reshape(x, (80,)))
    after = changed(module, PASS + "{include-public=true}")
    assert [decode(each.type) for each in body_of(functions_by_name(after)["main"]).arguments] == [rx.tensor((20, 4))]
    assert "relax.match_cast" not in op_names(after)


UNRANKED = """
func.func private @g(%x: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "relax.exp"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
func.func @main(%a: tensor<2x3xf32>, %b: tensor<RANK2>) -> (tensor<*xf32>, tensor<*xf32>) {
  %0 = "relax.match_cast"(%a) : (tensor<2x3xf32>) -> tensor<*xf32>
  %1 = "relax.match_cast"(%b) : (tensor<RANK2>) -> tensor<*xf32>
  %2 = func.call @g(%0) : (tensor<*xf32>) -> tensor<*xf32>
  %3 = func.call @g(%1) : (tensor<*xf32>) -> tensor<*xf32>
  return %2, %3 : tensor<*xf32>, tensor<*xf32>
}
"""


@pytest.mark.parametrize(("other", "expected"), [("4xf32", "*xf32"), ("4x3xf32", "?x3xf32"), ("2x3xf32", "2x3xf32")])
def test_calls_agree_on_a_rank_or_the_parameter_has_none(other: str, expected: str) -> None:
    module = rx.Module.parse(UNRANKED.replace("RANK2", other))
    rx.Pipeline("relax-infer-symbolic-shapes").run(module)
    assert f"@g(%arg0: tensor<{expected}>)" in str(module)
