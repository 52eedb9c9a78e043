# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sort, argsort and topk, legalized by the default rules, compiled for llvm and run, against numpy and onnxruntime."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import onnx.parser
import pytest
from element_arrays import same_bits, several
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from onnx_oracle import run_onnx
from prim_jit import run_op
from scheduled import at_the_end_of_memory

import relax_mlir as rx
from relax_mlir import relax

INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = ("float16", ml_dtypes.bfloat16, "float32", "float64", *INTS, "bool")


def ran(name: str, data: Any, **options: Any) -> Any:
    return run_op(f"relax.{name}", data, **options)


def ranks(data: Any) -> Any:
    """Return integers in the order of the elements. NaN is the largest."""
    wide = data.astype("float64") if data.dtype.kind not in "iub" else data
    _, inverse = numpy.unique(wide, return_inverse=True)
    return inverse.reshape(data.shape)


def order(data: Any, axis: int, *, descending: bool) -> Any:
    """Return the positions in order: ascending ones as in numpy, descending ones with NaN last as well."""
    keys = ranks(data)
    if descending:
        is_nan = data != data
        keys = numpy.where(is_nan, 1, -keys)
    return numpy.argsort(keys, axis=axis, kind="stable")


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type(dtype: Any, descending: bool) -> None:
    for shape in ((3, 33, 2), (1, 1, 4), (2, 0, 3), (0, 5, 1), (1, 256, 1), (2, 2, 2)):
        data = several(dtype, shape)
        expected = order(data, 1, descending=descending)
        symbols = [("n", "m", "k")]
        positions = ran("argsort", data, axis=1, descending=descending, dtype="int64", symbols=symbols)
        same_bits(positions, expected, shape)
        values = ran("sort", data, axis=1, descending=descending, symbols=symbols)
        same_bits(values, numpy.take_along_axis(data, expected, 1), shape)


def test_numpy_has_the_same_order() -> None:
    data = several("float32", (4, 50))
    numpy.testing.assert_array_equal(ran("sort", data), numpy.sort(data))
    numpy.testing.assert_array_equal(ran("argsort", data), numpy.argsort(data, kind="stable"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16", "int32", "int64"])
def test_types_of_positions(dtype: str) -> None:
    data = several("int32", (40,))
    same_bits(ran("argsort", data, dtype=dtype), numpy.argsort(data, kind="stable").astype(dtype))


@draws(6)
@given(st.data())
def test_every_axis_of_static_shapes(data: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=4), label="shape"))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1), label="axis")
    array = several("int16", shape)
    same_bits(ran("argsort", array, axis=axis, dtype="int64"), numpy.argsort(array, axis, kind="stable"))
    same_bits(ran("sort", array, axis=axis), numpy.sort(array, axis))


@draws(60)
@given(st.lists(st.integers(-3, 3), max_size=100))
def test_every_size(numbers: list[int]) -> None:
    data = numpy.array(numbers, "int64")
    same_bits(ran("argsort", data, symbols=[("n",)], dtype="int64"), numpy.argsort(data, kind="stable"))


def test_sorting_is_not_quadratic() -> None:
    data = numpy.random.default_rng(1).normal(size=300_000).astype("float32")
    for each in (data, numpy.sort(data), numpy.sort(data)[::-1].copy(), numpy.zeros_like(data)):
        numpy.testing.assert_array_equal(ran("argsort", each), numpy.argsort(each, kind="stable"))
        values, _ = ran("topk", each, k=500)
        numpy.testing.assert_array_equal(values, numpy.sort(each)[::-1][:500])


# ---- topk ----


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_topk_of_every_type(dtype: Any, largest: bool) -> None:
    for shape in ((3, 40, 2), (1, 4, 1), (2, 8, 3), (0, 9, 2), (1, 300, 1)):
        data = several(dtype, shape)
        expected = order(data, 1, descending=largest)[:, :4]
        values, positions = ran("topk", data, k=4, axis=1, largest=largest, symbols=[("n", "m", "k")])
        same_bits(positions, expected.astype("int32"), shape)
        same_bits(values, numpy.take_along_axis(data, expected, 1), shape)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_topk_of_a_large_part_of_every_type(dtype: Any, largest: bool) -> None:
    """Select small and large parts, which have different algorithms, with known and dynamic sizes."""
    for shape, k, symbols in (
        ((3, 90, 2), 25, [("n", "m", "k")]),
        ((3, 90, 2), 90, [("n", "m", "k")]),
        ((2, 3000, 1), 37, [("n", "m", "k")]),
        ((2, 3000, 1), 38, ()),
        ((0, 60, 2), 40, ()),
    ):
        data = several(dtype, shape)
        expected = order(data, 1, descending=largest)[:, :k]
        values, positions = ran("topk", data, k=k, axis=1, largest=largest, symbols=symbols)
        same_bits(positions, expected.astype("int32"), (shape, k))
        same_bits(values, numpy.take_along_axis(data, expected, 1), (shape, k))


@draws(12)
@given(st.integers(25, 60), st.sampled_from([60, 61, 200, 257]), st.sampled_from(["float32", "int64"]), st.booleans())
def test_topk_of_many_numbers(k: int, size: int, dtype: str, largest: bool) -> None:
    """Select from nearly distinct elements, from nearly equal elements, and from sorted ones."""
    random = numpy.random.default_rng([k, size])
    data = numpy.concatenate(
        [
            random.normal(scale=1e4, size=(2, size)),
            random.integers(-1, 2, (2, size)),
            numpy.zeros((1, size)),
            numpy.sort(random.normal(scale=9, size=(1, size))),
        ]
    ).astype(dtype)
    data = at_the_end_of_memory(data)
    expected = order(data, 1, descending=largest)[:, :k]
    values, positions = ran("topk", data, k=k, largest=largest, dtype="int64", symbols=[("n", "m")])
    same_bits(positions, expected)
    same_bits(values, numpy.take_along_axis(data, expected, 1))


@draws(7)
@given(st.integers(0, 12), st.integers(-1, 14), st.booleans())
def test_topk_of_every_k(size: int, k: int, largest: bool) -> None:
    data = several("int8", (2, size))
    wanted = size if k < 1 or k > size else k
    expected = order(data, -1, descending=largest)[:, :wanted]
    values, positions = ran("topk", data, k=k, largest=largest, dtype="int64")
    same_bits(positions, expected)
    same_bits(values, numpy.take_along_axis(data, expected, -1))


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [1, 2, 7, 15, 40])
def test_topk_of_long_rows(k: int, largest: bool) -> None:
    """Select from equal elements, from rows in ascending and in descending order, and a result in the last place."""
    random = numpy.random.default_rng(k)
    for size in (40, 47, 48, 49, 100, 257):
        few = random.choice(numpy.array([-1.5, 0, 2, numpy.nan, numpy.inf], "float32"), (3, size))
        some = random.normal(size=(1, size)).astype("float32")
        rising = numpy.arange(size, dtype="float32")[None]
        late = numpy.zeros((2, size), "float32")
        late[:, -1] = 1, -1
        data = at_the_end_of_memory(numpy.concatenate([few, some, rising, -rising, late]))
        expected = order(data, 1, descending=largest)[:, :k]
        values, positions = ran("topk", data, k=k, largest=largest, dtype="int64", symbols=[("n", "m")])
        same_bits(positions, expected)
        same_bits(values, numpy.take_along_axis(data, expected, 1))


@pytest.mark.parametrize("largest", [False, True])
def test_topk_equals_onnxruntime(largest: bool) -> None:
    data = several("int32", (5, 60, 3))
    expected = run_onnx("TopK", data, numpy.array([7]), outputs=2, axis=1, largest=int(largest))
    for actual, wanted in zip(ran("topk", data, k=7, axis=1, largest=largest, dtype="int64"), expected, strict=True):
        same_bits(actual, wanted)


def test_one_result_of_topk() -> None:
    data = several("float32", (3, 20))
    expected = order(data, -1, descending=True)[:, :5]
    same_bits(ran("topk", data, k=5, ret_type="indices"), expected.astype("int32"))
    same_bits(ran("topk", data, k=5, ret_type="values"), numpy.take_along_axis(data, expected, -1))


def test_k_that_only_the_program_knows() -> None:
    """Sort all elements, few and many by one program, and take the first k."""
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        test (float[n, m] x, int64[1] k) => (float[n, k] values, int64[n, k] indices) {
            values, indices = TopK <largest = 0> (x, k)
        }
    """)
    main = rx.compile(rx.from_onnx(model))["main"]
    for size in (0, 20, 24, 25, 2100):
        data = several("float32", (3, size))
        for k in {0, size // 3, size}:
            expected = order(data, 1, descending=False)[:, :k]
            values, indices = main(data, numpy.array([k]))
            same_bits(indices, expected, (size, k))
            same_bits(values, numpy.take_along_axis(data, expected, 1), (size, k))


def test_the_time_does_not_depend_on_the_order() -> None:
    """Check that the data decide no branch in the expensive loops."""
    rising = numpy.arange(6400, dtype="int32")
    mixed = numpy.random.default_rng(0).permutation(rising)

    def seconds(name: str, data: Any, **options: Any) -> float:
        module = rx.Module()
        with module.function("main", [rx.tensor(data.shape, "int32")]) as f:
            f.returns(getattr(relax, name)(*f, **options))
        program = rx.compile(module)
        program.threads = 1
        return min(_thread_seconds(lambda: program["main"](data)) for _ in range(20))

    for name, options in (("sort", {}), ("topk", {"k": 1000, "ret_type": "values"})):
        in_order, backwards, in_none = (seconds(name, each, **options) for each in (rising, rising[::-1].copy(), mixed))
        assert max(in_order, backwards, in_none) < 2.5 * min(in_order, backwards, in_none), name


def _thread_seconds(call: Callable[[], object]) -> float:
    start = time.thread_time()
    for _ in range(20):
        call()
    return time.thread_time() - start


def test_topk_of_too_few() -> None:
    data = numpy.zeros((2, 3), "float32")
    with pytest.raises(ValueError, match="4 elements are asked for along axis 1 of size 3"):
        ran("topk", data, k=4, symbols=[(2, "n")])


def test_unknown_sizes() -> None:
    data = several("int32", (3, 9))
    same_bits(ran("sort", data, axis=0, symbols=[(None, 9)]), numpy.sort(data, 0))
