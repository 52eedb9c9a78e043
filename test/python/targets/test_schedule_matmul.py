# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduled products of matrices: batches, either order of the second matrix, one row, every type, tails included."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from scheduled import Shaped, prim_func, random_array, run, scheduled_text

SIZES = (0, 1, 2, 5, 15, 16, 17, 33, 100)
# Element type, type of the sums, how one becomes the other.
TYPES = {
    "f32": ("f32", "", numpy.float32), "f64": ("f64", "", numpy.float64), "i32": ("i32", "", numpy.int32),
    "f16": ("f32", "extf", numpy.float16), "bf16": ("f32", "extf", ml_dtypes.bfloat16),
    "i8": ("i32", "extsi", numpy.int8),
}  # fmt: skip


def product(a: Shaped, b: Shaped, out: Shaped, *, is_transposed: bool) -> str:
    """Return (batch..., m, k) times (batch..., k, n), or (batch..., n, k)."""
    rank = len(out.shape) + 1
    dims = [f"d{axis}" for axis in range(rank)]
    batch, (m, n, k) = dims[:-3], dims[-3:]
    maps = [[*batch, m, k], [*batch, *((n, k) if is_transposed else (k, n))], [*batch, m, n]]
    texts = ", ".join(f"affine_map<({', '.join(dims)}) -> ({', '.join(map_)})>" for map_ in maps)
    iterators = ", ".join(['"parallel"'] * (rank - 1) + ['"reduction"'])
    _, widen, _ = TYPES[a.dtype]
    kind = "f" if "f" in out.dtype else "i"
    cast = f"%wx = arith.{widen} %x : {a.dtype} to {out.dtype}\n%wy = arith.{widen} %y : {a.dtype} to {out.dtype}\n"
    x, y = ("%wx", "%wy") if widen else ("%x", "%y")
    return f"""
  %zero = arith.constant {"0.0" if kind == "f" else "0"} : {out.dtype}
  %filled = linalg.fill ins(%zero : {out.dtype}) outs(%2 : {out}) -> {out}
  %r0 = linalg.generic {{indexing_maps = [{texts}], iterator_types = [{iterators}]}}
      ins(%0, %1 : {a}, {b}) outs(%filled : {out}) {{
    ^bb0(%x: {a.dtype}, %y: {a.dtype}, %sofar: {out.dtype}):
      {cast if widen else ""}
      %p = arith.mul{kind} {x}, {y} : {out.dtype}
      %s = arith.add{kind} %sofar, %p : {out.dtype}
      linalg.yield %s : {out.dtype}
  }} -> {out}"""


def check(
    batch: tuple[int, ...], m: int, n: int, k: int, dtype: str, *, is_transposed: bool, names: Any, vector_bytes: int
) -> None:
    sums, _, numpy_dtype = TYPES[dtype]
    sizes = [(*batch, m, k), (*batch, *((n, k) if is_transposed else (k, n))), (*batch, m, n)]
    symbols = names or sizes
    a, b, out = (Shaped(tuple(each), element) for each, element in zip(symbols, (dtype, dtype, sums), strict=True))
    x, y = random_array(sizes[0], numpy_dtype, 1), random_array(sizes[1], numpy_dtype, 2)
    text = prim_func([a, b], [out], product(a, b, out, is_transposed=is_transposed), "out_ewise_fusable")
    got = run(text, [a, b], [out], x, y, vector_bytes=vector_bytes)
    wide = y.astype("f8").swapaxes(-1, -2) if is_transposed else y.astype("f8")
    numpy.testing.assert_array_equal(got, x.astype("f8") @ wide)


sizes = st.sampled_from(SIZES)


@given(
    st.lists(st.sampled_from([1, 2, 3]), max_size=2), sizes, sizes, sizes,
    st.sampled_from(sorted(TYPES)), st.booleans(), st.sampled_from([16, 32, 64]),
)  # fmt: skip
@draws(30)
def test_known_sizes(
    batch: list[int], m: int, n: int, k: int, dtype: str, is_transposed: bool, vector_bytes: int
) -> None:
    check(tuple(batch), m, n, k, dtype, is_transposed=is_transposed, names=None, vector_bytes=vector_bytes)


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize(("dtype", "vector_bytes"), [("f32", 64), ("f16", 32)])
@given(sizes, sizes, sizes)
@draws(40)
def test_one_dynamic_kernel_takes_every_size(
    is_transposed: bool, dtype: str, vector_bytes: int, m: int, n: int, k: int
) -> None:
    names = [("m", "k"), ("n", "k") if is_transposed else ("k", "n"), ("m", "n")]
    check((), m, n, k, dtype, is_transposed=is_transposed, names=names, vector_bytes=vector_bytes)


@pytest.mark.parametrize(("m", "n", "k"), [(20, 100, 70), (17, 65, 1030), (40, 130, 1536)])
@pytest.mark.parametrize("is_dynamic", [False, True])
def test_many_rows_and_long_sums_go_by_panels(m: int, n: int, k: int, is_dynamic: bool) -> None:
    names = [("m", "k"), ("k", "n"), ("m", "n")] if is_dynamic else None
    check((), m, n, k, "f32", is_transposed=False, names=names, vector_bytes=64)


@pytest.mark.parametrize("is_transposed", [False, True])
@given(sizes, sizes)
@draws(20)
def test_one_row_of_any_length(is_transposed: bool, n: int, k: int) -> None:
    names = [(1, "k"), ("n", "k") if is_transposed else ("k", "n"), (1, "n")]
    check((), 1, n, k, "f32", is_transposed=is_transposed, names=names, vector_bytes=64)


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("shape", [(64, 64, 64), ("m", "n", "k")])
def test_loops_hold_tiles_of_vectors_and_nothing_scalar_is_left(is_transposed: bool, shape: Any) -> None:
    m, n, k = shape
    a, b, out = Shaped((m, k), "f32"), Shaped((n, k) if is_transposed else (k, n), "f32"), Shaped((m, n), "f32")
    body = product(a, b, out, is_transposed=is_transposed)
    text = scheduled_text(prim_func([a, b], [out], body, "out_ewise_fusable"))
    assert "linalg." not in text
    assert text.count("vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>") > 0
    # One element of the first matrix times a vector of the second, or a vector of each.
    assert ("tensor.extract" in text) != is_transposed or is_transposed
    assert ("vector.shuffle" in text or "vector.reduction" in text) == is_transposed
