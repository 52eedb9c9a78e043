# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's operators on the values of graphs: their results, and their errors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
]  # fmt: skip


def on_values(function: Callable[..., Any], *infos: Any) -> Any:
    made = rx.Module()
    with made.function("main", {f"x{place}": info for place, info in enumerate(infos)}) as f:
        found = function(*f)
        f.returns()
    return found


def computed(function: Callable[..., Any], *arrays: numpy.ndarray[Any, Any]) -> Any:
    made = rx.Module()
    infos = {f"x{place}": rx.tensor(("n", *array.shape[1:]), array.dtype) for place, array in enumerate(arrays)}
    with made.function("main", infos) as f:
        f.returns(function(*f))
    made.verify()
    return rx.compile(made, jobs=1)["main"](*arrays)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_arithmetic_is_numpys(dtype: str) -> None:
    numbers = numpy.random.default_rng(3)
    x, y = (numbers.integers(1, 9, (3, 4)).astype(dtype) for _ in range(2))

    def all_of(x: Any, y: Any) -> list[Any]:
        found = [function(x, y) for function in BINARY if dtype[0] == "f" or function is not operator.truediv]
        found += [x + 2, 2 + x, 7 - x, x - 7, x * 3, x // 2, 9 // x, 9 % x, x % 4, 2**x, -x, abs(-x)]
        if dtype[0] == "f":
            found += [1.5 / x, x / 1.5, 0.5 - x]
        return found

    count = len(all_of(x, y))
    for place in range(count):
        got = computed(lambda x, y, place=place: all_of(x, y)[place], x, y)
        assert got.dtype == dtype
        numpy.testing.assert_allclose(got, all_of(x, y)[place], rtol=1e-6)


def test_products_and_arrays_of_numpy() -> None:
    numbers = numpy.random.default_rng(4)
    x, w = (numbers.standard_normal((5, 4)).astype("float32") for _ in range(2))
    numpy.testing.assert_allclose(computed(lambda x: x @ w.T, x), x @ w.T, rtol=1e-5)
    numpy.testing.assert_allclose(computed(lambda x: w[:1] * x - w[0], x), w[:1] * x - w[0], rtol=1e-5)
    numpy.testing.assert_allclose(computed(lambda x: numpy.ones((3, 5), "float32") @ x, x), x.sum(0)[None] + 0 * x[:3])


def test_values_give_access_to_shape_and_type() -> None:
    shape, dtype, rank = on_values(lambda x: (x.shape, x.dtype, x.ndim), rx.tensor(("n", 4), "float16"))
    assert (shape, dtype, rank) == ((rx.sym("n"), 4), "float16", 2)
    assert numpy.dtype(dtype) == numpy.float16
    assert on_values(lambda x: (x.shape, x.ndim), rx.tensor(None)) == (None, None)
    made = on_values(lambda x: str(relax.reshape(x, (x.shape[0] * 4,)).type), rx.tensor(("n", 4)))
    assert "4*n" in made


X = '<argument 0: Tensor((4,), "float32")>'
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "less": (lambda x: x < 0, f"'<' on {X} builds nothing: write relax.less(x, y)"),
    "greater or equal": (lambda x: x >= x, "write relax.greater_equal(x, y)"),
    "not": (lambda x: not x, f"the truth of {X} is not known while the graph is built: write relax.where("),
    "if": (lambda x: 1 if x else 2, "or an scf.if around"),
    "iteration": (lambda x: list(x), f"what is in {X} is not known while the graph is built: write relax.split("),
    "unpacking": (lambda x: (lambda a, b: a)(*x), "write relax.split("),
    "index": (lambda x: x[0], "'[...]' on"),
    "slice": (lambda x: x[1:], "write relax.strided_slice(x, axes, begin, end), relax.take("),
    "and": (lambda x: x & x, "write relax.logical_and or relax.bitwise_and"),
    "invert": (lambda x: ~x, "write relax.logical_not or relax.bitwise_not"),
    "float": (float, "write relax.astype(x, dtype)"),
    "method": (lambda x: x.sum(), f"{X} has no 'sum': relax.sum(x) computes it"),
    "method of nn": (lambda x: x.relu(), "relax.nn.relu(x) computes it"),
    "attribute": (lambda x: x.foo, "has no 'foo' (it has shape, dtype, ndim, "),
}


@pytest.mark.parametrize("case", REFUSED)
def test_questions_about_data_are_refused_with_advice(case: str) -> None:
    ask, expected = REFUSED[case]
    with pytest.raises(rx.RelaxError) as caught:
        on_values(ask, rx.tensor((4,)))
    assert expected in str(caught.value)
    assert isinstance(caught.value, (AttributeError, TypeError)), "what Python itself would raise"


def test_wrong_operands() -> None:
    for wrong in (None, "text", object()):
        with pytest.raises(TypeError, match="unsupported operand"):
            on_values(lambda x, wrong=wrong: x + wrong, rx.tensor((4,)))
    with pytest.raises(rx.RelaxError, match=r"2.5 with a tensor of int32 would be rounded: relax.astype\(x"):
        on_values(lambda x: x + 2.5, rx.tensor((4,), "int32"))
    for dtype, number in (("int32", 2**31), ("int32", 2**40), ("uint8", 256), ("uint8", -1), ("int8", -129)):
        with pytest.raises(rx.RelaxError, match=rf"{number} is no {dtype}, as the tensor is: relax.astype\(x"):
            on_values(lambda x, number=number: x + number, rx.tensor((4,), dtype))
    for dtype, number in (("int32", -(2**31)), ("uint8", 255), ("int8", -128), ("uint64", 2**64 - 1)):
        on_values(lambda x, number=number: x + number, rx.tensor((4,), dtype))
    with pytest.raises(rx.RelaxError, match="does not broadcast"):
        on_values(lambda x, y: x + y, rx.tensor((4,)), rx.tensor((3,)))


def test_behind_its_function_nothing_is_built() -> None:
    value = on_values(lambda x: x, rx.tensor((4,)))
    with pytest.raises(rx.RelaxError, match=r"relax.add of <argument 0: .*> is built in the `with` of its function"):
        value + value


def test_values_are_compared_and_kept_as_before() -> None:
    assert on_values(lambda x, y: (x == x, x != x, x == y, len({x, y, x})), rx.tensor((4,)), rx.tensor((4,))) == (
        True, False, False, 2
    )  # fmt: skip
    assert not on_values(lambda x: hasattr(x, "__dlpack__"), rx.tensor((4,)))


def test_the_line_of_an_expression_is_reported() -> None:
    made = rx.Module()
    with made.function("main", {"x": rx.tensor((4,))}) as f:
        (x,) = f
        f.returns(x * 2)
    text = made.print(debug_info=True)
    assert 'loc("test_values.py":' in text and 'loc("values.py":' not in text
