# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduled reductions: along the last dimension and across it, of every kind and type, tails included."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from scheduled import Shaped, executable, prim_func, random_array, run, scheduled_text

SIZES = (0, 1, 2, 15, 16, 17, 70)
# The operation, the initial value of the output, numpy's function.
KINDS = {
    "sum": ("addf", "0.0", numpy.add), "maximum": ("maximumf", "0xFF800000", numpy.maximum),
    "minimum": ("minimumf", "0x7F800000", numpy.minimum), "product": ("mulf", "1.0", numpy.multiply),
}  # fmt: skip
INTEGER_KINDS = {
    "addi": ("0", numpy.add), "maxsi": ("-128", numpy.maximum), "minui": ("255", None),
    "andi": ("-1", numpy.bitwise_and), "ori": ("0", numpy.bitwise_or), "xori": ("0", numpy.bitwise_xor),
    "muli": ("1", numpy.multiply),
}  # fmt: skip


def reduction(x: Shaped, out: Shaped, axes: list[int], combine: str, start: str, *, keeps: bool = False) -> str:
    rank = len(x.shape)
    dims = ", ".join(f"d{axis}" for axis in range(rank))
    kept = ", ".join("0" if axis in axes else f"d{axis}" for axis in range(rank) if keeps or axis not in axes)
    iterators = ", ".join('"reduction"' if axis in axes else '"parallel"' for axis in range(rank))
    return f"""
  %start = arith.constant {start} : {out.dtype}
  %filled = linalg.fill ins(%start : {out.dtype}) outs(%1 : {out}) -> {out}
  %r0 = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> ({kept})>],
      iterator_types = [{iterators}]}} ins(%0 : {x}) outs(%filled : {out}) {{
    ^bb0(%x: {x.dtype}, %sofar: {out.dtype}):
      %y = arith.{combine} %x, %sofar : {out.dtype}
      linalg.yield %y : {out.dtype}
  }} -> {out}"""


@st.composite
def reductions(draw: Any) -> tuple[tuple[int, ...], list[int]]:
    shape = draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=4))
    axes = draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    return tuple(shape), sorted(axes)


@given(reductions(), st.sampled_from(sorted(KINDS)), st.booleans(), st.booleans(), st.sampled_from([16, 32, 64]))
@draws(40)
def test_floats(case: Any, kind: str, is_dynamic: bool, keeps: bool, vector_bytes: int) -> None:
    shape, axes = case
    combine, start, function = KINDS[kind]
    names = tuple(f"s{axis}" for axis in range(len(shape))) if is_dynamic else shape
    result = tuple(1 if axis in axes else size for axis, size in enumerate(names) if keeps or axis not in axes)
    x, out = Shaped(names, "f32"), Shaped(result, "f32")
    array = random_array(shape, "f4")
    if kind == "product":
        array = numpy.where(array > 0, numpy.float32(1), numpy.float32(-1))
    text = prim_func([x], [out], reduction(x, out, axes, combine, start, keeps=keeps), "comm_reduce")
    got = run(text, [x], [out], array, vector_bytes=vector_bytes)
    initial = numpy.array(int(start, 16), "u4").view("f4") if start.startswith("0x") else float(start)
    expected = function.reduce(array, axis=tuple(axes), keepdims=keeps, initial=initial)
    numpy.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("combine", sorted(INTEGER_KINDS))
@pytest.mark.parametrize("axis", [0, 1])
def test_integers(combine: str, axis: int) -> None:
    start, function = INTEGER_KINDS[combine]
    x, out = Shaped((37, 67), "i8"), Shaped(((67, 37)[axis],), "i8")
    array = numpy.random.default_rng(0).integers(-128, 128, (37, 67)).astype("i1")
    if function is None:
        expected = array.view("u1").min(axis=axis).view("i1")
    else:
        initial = {"maxsi": -128}.get(combine, int(start))
        expected = function.reduce(array, axis=axis, dtype="i1", initial=initial)
    start = start if start != "255" else "-1"
    text = prim_func([x], [out], reduction(x, out, [axis], combine, start), "comm_reduce")
    numpy.testing.assert_array_equal(run(text, [x], [out], array), expected)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("vector_bytes", [16, 64])
@given(st.tuples(st.sampled_from(SIZES), st.sampled_from(SIZES)))
@draws(30)
def test_one_dynamic_kernel_takes_every_size(axis: int, vector_bytes: int, shape: tuple[int, int]) -> None:
    x, out = Shaped(("n", "m"), "f32"), Shaped((("m", "n")[axis],), "f32")
    text = prim_func([x], [out], reduction(x, out, [axis], "addf", "0.0"), "comm_reduce")
    array = random_array(shape, "f4")
    numpy.testing.assert_array_equal(run(text, [x], [out], array, vector_bytes=vector_bytes), array.sum(axis=axis))


@pytest.mark.parametrize("size", [3, 16, 70])
def test_nan_and_infinity_reach_the_result(size: int) -> None:
    x, out = Shaped((3, size), "f32"), Shaped((3,), "f32")
    array = numpy.zeros((3, size), "f4")
    array[0, size - 1], array[1, size - 1] = numpy.nan, -numpy.inf
    text = prim_func([x], [out], reduction(x, out, [1], "maximumf", "0xFF800000"), "comm_reduce")
    numpy.testing.assert_array_equal(run(text, [x], [out], array), array.max(axis=1))


def test_a_sum_of_negative_zeros_keeps_the_sign_of_what_it_starts_from() -> None:
    x, out = Shaped((1, 5), "f32"), Shaped((1,), "f32")
    text = prim_func([x], [out], reduction(x, out, [1], "addf", "-0.0"), "comm_reduce")
    assert numpy.signbit(run(text, [x], [out], numpy.full((1, 5), -0.0, "f4")))[0]


def chosen(combine: str, x: Shaped, out: Shaped, predicate: str = "ogt") -> str:
    """Return a reduction that chooses by a comparison."""
    choice = f"arith.cmpf {predicate}, %x, %sofar : f32\n      %z = arith.select %y, %x, %sofar : f32"
    body = reduction(x, out, [1], "addf", combine).replace("arith.addf %x, %sofar : f32", choice)
    return prim_func([x], [out], body.replace("linalg.yield %y", "linalg.yield %z"), "comm_reduce")


@pytest.mark.parametrize("rows", [3, 5])
@pytest.mark.parametrize("size", [1, 3, 16, 70, 300])
def test_the_larger_one_is_chosen_among_numbers(rows: int, size: int) -> None:
    x, out = Shaped((rows, size), "f32"), Shaped((rows,), "f32")
    array = -numpy.abs(random_array((rows, size), "f4")) - 1
    array[1, 0], array[2, -1] = numpy.nan, numpy.inf
    text = chosen("0xFF800000", x, out)
    numpy.testing.assert_array_equal(run(text, [x], [out], array), numpy.fmax.reduce(array, axis=1, initial=-numpy.inf))
    assert "linalg." not in scheduled_text(text)


def test_other_choices_are_no_reductions_in_vectors() -> None:
    x, out = Shaped((3, 70), "f32"), Shaped((3,), "f32")
    assert "vector.shuffle" in scheduled_text(chosen("0xFF800000", x, out))
    assert "vector.shuffle" not in scheduled_text(chosen("0xFF800000", x, out, "olt"))
    turned = chosen("0xFF800000", x, out).replace("select %y, %x, %sofar", "select %y, %sofar, %x")
    assert "vector.shuffle" not in scheduled_text(turned)


@pytest.mark.parametrize("axis", [0, 1])
def test_two_outputs_that_depend_on_each_other(axis: int) -> None:
    """Reduce to the largest element and its first position: the order is fixed, but lanes are independent."""
    x = Shaped((21, 35), "f32")
    size = (35, 21)[axis]
    best, place = Shaped((size,), "f32"), Shaped((size,), "i64")
    kept = f"d{1 - axis}"
    iterators = ", ".join('"reduction"' if each == axis else '"parallel"' for each in range(2))
    body = f"""
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %f0 = linalg.fill ins(%low : f32) outs(%1 : {best}) -> {best}
  %f1 = linalg.fill ins(%zero : i64) outs(%2 : {place}) -> {place}
  %r:2 = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ({kept})>,
      affine_map<(d0, d1) -> ({kept})>], iterator_types = [{iterators}]}}
      ins(%0 : {x}) outs(%f0, %f1 : {best}, {place}) {{
    ^bb0(%v: f32, %b: f32, %p: i64):
      %i = linalg.index {axis} : index
      %i64 = arith.index_cast %i : index to i64
      %larger = arith.cmpf ogt, %v, %b : f32
      %nb = arith.select %larger, %v, %b : f32
      %np = arith.select %larger, %i64, %p : i64
      linalg.yield %nb, %np : f32, i64
  }} -> ({best}, {place})
  %r0 = tensor.cast %r#0 : {best} to {best}
  %r1 = tensor.cast %r#1 : {place} to {place}"""
    array = random_array((21, 35), "f4")
    text = prim_func([x], [best, place], body, "comm_reduce")
    values, places = executable(text, (x,), (best, place))["main"](array)
    numpy.testing.assert_array_equal(numpy.from_dlpack(values), array.max(axis=axis))
    numpy.testing.assert_array_equal(numpy.from_dlpack(places), array.argmax(axis=axis))


def test_softmax_in_one_function_needs_no_memory_for_its_input() -> None:
    """Three operations after each other: each is scheduled, and the last one works in place."""
    x, row = Shaped((9, 37), "f32"), Shaped((9,), "f32")
    same, rows = "affine_map<(d0, d1) -> (d0, d1)>", "affine_map<(d0, d1) -> (d0)>"
    body = f"""
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {row}
  %d = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel"]}}
      ins(%0 : {x}) outs(%1 : {x}) {{
    ^bb0(%v: f32, %old: f32):
      %y = arith.mulf %v, %v : f32
      linalg.yield %y : f32
  }} -> {x}
  %f = linalg.fill ins(%zero : f32) outs(%e : {row}) -> {row}
  %s = linalg.generic {{indexing_maps = [{same}, {rows}], iterator_types = ["parallel", "reduction"]}}
      ins(%d : {x}) outs(%f : {row}) {{
    ^bb0(%v: f32, %sum: f32):
      %y = arith.addf %v, %sum : f32
      linalg.yield %y : f32
  }} -> {row}
  %r0 = linalg.generic {{indexing_maps = [{same}, {rows}, {same}], iterator_types = ["parallel", "parallel"]}}
      ins(%d, %s : {x}, {row}) outs(%1 : {x}) {{
    ^bb0(%v: f32, %sum: f32, %old: f32):
      %y = arith.divf %v, %sum : f32
      linalg.yield %y : f32
  }} -> {x}"""
    text = prim_func([x], [x], body)
    array = random_array((9, 37), "f4", 1)
    squares = array * array
    numpy.testing.assert_allclose(run(text, [x], [x], array), squares / squares.sum(axis=1, keepdims=True), rtol=1e-6)
    assert "linalg." not in scheduled_text(text)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(64, 64), ("n", "m")])
def test_loops_are_vectors_and_nothing_scalar_is_left(axis: int, shape: tuple[int | str, ...]) -> None:
    x, out = Shaped(shape, "f32"), Shaped((shape[1 - axis],), "f32")
    text = scheduled_text(prim_func([x], [out], reduction(x, out, [axis], "addf", "0.0"), "comm_reduce"))
    assert "linalg." not in text and "arith.addf" in text and "tensor.extract" not in text
    assert ("vector.shuffle" in text) == (axis == 1) and "vector.reduction" not in text
