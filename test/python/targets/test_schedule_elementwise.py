# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduled operations without reductions: broadcast, transposed, of every type and rank, tails included."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from scheduled import Shaped, prim_func, random_array, run, scheduled_text

SIZES = (0, 1, 2, 3, 15, 16, 17, 33, 100)
NUMPY = {
    "f16": numpy.float16, "bf16": ml_dtypes.bfloat16, "f32": numpy.float32, "f64": numpy.float64,
    "i8": numpy.int8, "i16": numpy.int16, "i32": numpy.int32, "i64": numpy.int64,
}  # fmt: skip


def generic(inputs: list[tuple[Shaped, str]], output: Shaped, body: str) -> str:
    """Return a linalg.generic over the output's dimensions d0, d1, ..., with results of the inputs' maps."""
    rank = len(output.shape)
    dims = ", ".join(f"d{index}" for index in range(rank))
    maps = [f"affine_map<({dims}) -> ({places})>" for places in (*(places for _, places in inputs), dims)]
    names = ", ".join(f"%{index}" for index in range(len(inputs)))
    types = ", ".join(str(each) for each, _ in inputs)
    scalars = ", ".join(f"%x{index}: {each.dtype}" for index, (each, _) in enumerate(inputs))
    return f"""
  %r0 = linalg.generic {{indexing_maps = [{", ".join(maps)}],
      iterator_types = [{", ".join(['"parallel"'] * rank)}]}}
      ins({names} : {types}) outs(%{len(inputs)} : {output}) {{
    ^bb0({scalars}, %old: {output.dtype}):
      {body}
      linalg.yield %y : {output.dtype}
  }} -> {output}"""


def sum_body(dtype: str) -> str:
    return f"%y = arith.{'addf' if 'f' in dtype else 'addi'} %x0, %x1 : {dtype}"


@st.composite
def additions(draw: Any) -> Any:
    """Draw shapes of an output and two inputs, with the index of each dimension of an input."""
    shape = draw(st.lists(st.sampled_from(SIZES), max_size=4))
    rank = len(shape)
    operands = []
    for _ in range(2):
        axes = draw(st.permutations(range(rank))) if draw(st.booleans()) else list(range(rank))
        kept = [axis for axis in axes if draw(st.integers(0, 4))]
        places = [axis if draw(st.integers(0, 4)) else None for axis in kept]
        operands.append(tuple(places))
    return tuple(shape), operands[0], operands[1]


@given(additions(), st.sampled_from(sorted(NUMPY)), st.booleans(), st.sampled_from([16, 32, 64]))
@draws(40)
def test_addition_with_broadcast_and_transposed_inputs(
    case: Any, dtype: str, is_dynamic: bool, vector_bytes: int
) -> None:
    shape, *operands = case
    names = [f"s{axis}" for axis in range(len(shape))]
    inputs, arrays, views = [], [], []
    for seed, places in enumerate(operands):
        sizes = [1 if axis is None else shape[axis] for axis in places]
        symbols = [1 if axis is None else names[axis] for axis in places]
        text = ", ".join("0" if axis is None else f"d{axis}" for axis in places)
        inputs.append((Shaped(tuple(symbols if is_dynamic else sizes), dtype), text))
        arrays.append(random_array(sizes, NUMPY[dtype], seed))
        views.append(as_output(arrays[-1], places, len(shape)))
    output = Shaped(tuple(names if is_dynamic else shape), dtype)
    if is_dynamic and {axis for axis in (*operands[0], *operands[1]) if axis is not None} != set(range(len(shape))):
        return  # a size that no input has cannot be named
    text = prim_func([each for each, _ in inputs], [output], generic(inputs, output, sum_body(dtype)), "broadcast")
    got = run(text, [each for each, _ in inputs], [output], *arrays, vector_bytes=vector_bytes)
    expected = numpy.broadcast_to(views[0] + views[1], shape)
    numpy.testing.assert_array_equal(got.astype("f8"), expected.astype("f8"))


def as_output(array: Any, places: Any, rank: int) -> Any:
    """Return the input with the output's dimensions in order, and size 1 for missing ones."""
    kept = [position for position, axis in enumerate(places) if axis is not None]
    squeezed = array.reshape([array.shape[position] for position in kept])
    axes = [places[position] for position in kept]
    ordered = squeezed.transpose(numpy.argsort(axes)) if axes else squeezed
    sizes = [1] * rank
    for axis, size in zip(sorted(axes), ordered.shape, strict=True):
        sizes[axis] = size
    return ordered.reshape(sizes)


DYNAMIC = Shaped(("n", "m"), "f32")


@pytest.mark.parametrize("vector_bytes", [16, 64])
@given(st.tuples(st.sampled_from(SIZES), st.sampled_from(SIZES)))
@draws(40)
def test_one_dynamic_kernel_takes_every_size(vector_bytes: int, shape: tuple[int, int]) -> None:
    body = generic([(DYNAMIC, "d0, d1"), (DYNAMIC, "d0, d1")], DYNAMIC, sum_body("f32"))
    x, y = random_array(shape, "f4", 1), random_array(shape, "f4", 2)
    got = run(
        prim_func([DYNAMIC] * 2, [DYNAMIC], body, "elemwise"), [DYNAMIC] * 2, [DYNAMIC], x, y, vector_bytes=vector_bytes
    )
    numpy.testing.assert_array_equal(got, x + y)


@pytest.mark.parametrize("size", [1, 16, 17, 40])
def test_indices_are_those_of_each_lane(size: int) -> None:
    x, output = Shaped((3, size), "i64"), Shaped((3, size), "i64")
    body = """%i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %k = arith.addi %i, %j : index
      %l = arith.index_cast %k : index to i64
      %y = arith.muli %l, %x0 : i64"""
    values = random_array((3, size), "i8")
    got = run(prim_func([x], [output], generic([(x, "d0, d1")], output, body)), [x], [output], values)
    numpy.testing.assert_array_equal(got, values * (numpy.arange(3)[:, None] + numpy.arange(size)))


@pytest.mark.parametrize("size", [1, 15, 16, 33])
def test_truth_values_are_read_and_written(size: int) -> None:
    x, mask = Shaped((2, size), "f32"), Shaped((2, size), "i1")
    body = """%zero = arith.constant 0.0 : f32
      %less = arith.cmpf olt, %x0, %zero : f32
      %y = arith.xori %less, %x1 : i1"""
    text = prim_func([x, mask], [mask], generic([(x, "d0, d1"), (mask, "d0, d1")], mask, body), "elemwise")
    array, flags = random_array((2, size), "f4"), random_array((2, size), "i4", 3) > 0
    numpy.testing.assert_array_equal(run(text, [x, mask], [mask], array, flags), (array < 0) ^ flags)


@pytest.mark.parametrize("size", [1, 17, 31])
def test_no_division_by_what_is_behind_the_end(size: int) -> None:
    x = Shaped((size,), "i32")
    text = prim_func([x] * 2, [x], generic([(x, "d0")] * 2, x, "%y = arith.divsi %x0, %x1 : i32"), "elemwise")
    array, divisors = random_array((size,), "i4"), random_array((size,), "i4", 1) + 5
    numpy.testing.assert_array_equal(run(text, [x] * 2, [x], array, divisors), (array / divisors).astype("i4"))


def test_elements_picked_by_index() -> None:
    table, places, output = Shaped((7,), "f32"), Shaped((35,), "i32"), Shaped((35,), "f32")
    body = """%i = arith.index_cast %x0 : i32 to index
      %v = tensor.extract %1[%i] : tensor<7xf32>
      %y = arith.addf %v, %v : f32"""
    inner = generic([(places, "d0")], output, body).replace("outs(%1", "outs(%2")
    values, indices = random_array((7,), "f4"), numpy.arange(35, dtype="i4") % 7
    got = run(prim_func([places, table], [output], inner), [places, table], [output], indices, values)
    numpy.testing.assert_array_equal(got, 2 * values[indices])


@pytest.mark.parametrize("dtype", ["f32", "i8", "f64"])
@pytest.mark.parametrize("shape", [(64,), (7, 9), ("n", 5), ("n", "m")])
def test_loops_are_vectors_and_nothing_scalar_is_left(dtype: str, shape: tuple[int | str, ...]) -> None:
    whole = Shaped(shape, dtype)
    places = ", ".join(f"d{axis}" for axis in range(len(shape)))
    text = prim_func([whole] * 2, [whole], generic([(whole, places)] * 2, whole, sum_body(dtype)), "elemwise")
    result = scheduled_text(text)
    assert "vector.transfer_read" in result and "vector.transfer_write" in result
    assert "linalg." not in result and "tensor.extract " not in result and "tensor.insert " not in result
