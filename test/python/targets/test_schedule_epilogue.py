# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epilogues run on a reduction's results in registers where possible."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from scheduled import Shaped, prim_func, random_array, run, scheduled_text

import relax_mlir as rx
from relax_mlir import relax

SIZES = (0, 1, 2, 16, 17, 40, 100)
MAPS = {
    "mk": "(m, n, k) -> (m, k)",
    "kn": "(m, n, k) -> (k, n)",
    "nk": "(m, n, k) -> (n, k)",
    "mn": "(m, n, k) -> (m, n)",
}


def product(a: Shaped, b: Shaped, sums: Shaped, out: str, second: str = "kn") -> str:
    """Return the code of %p, the product of %0 and %1, in the memory of %out."""
    widen = [f"%w{x} = arith.extf %{x} : {a.dtype} to f32" for x in "xy"] if a.dtype != "f32" else []
    x, y = ("%wx", "%wy") if widen else ("%x", "%y")
    maps = ", ".join(f"affine_map<{MAPS[each]}>" for each in ("mk", second, "mn"))
    return f"""
  %zero = arith.constant 0.0 : f32
  %filled = linalg.fill ins(%zero : f32) outs({out} : {sums}) -> {sums}
  %p = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%0, %1 : {a}, {b}) outs(%filled : {sums}) {{
    ^bb0(%x: {a.dtype}, %y: {a.dtype}, %sofar: f32):
      {chr(10).join(widen)}
      %q = arith.mulf {x}, {y} : f32
      %s = arith.addf %sofar, %q : f32
      linalg.yield %s : f32
  }} -> {sums}"""


def bias_and_relu(sums: Shaped, bias: Shaped, residual: Shaped, out: Shaped, target: str) -> str:
    same = "affine_map<(m, n) -> (m, n)>"
    return f"""
  %r0 = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (n)>, {same}, {same}, {same}],
      iterator_types = ["parallel", "parallel"]}}
      ins(%2, %p, %3 : {bias}, {sums}, {residual}) outs({target} : {out}) {{
    ^bb0(%b: f32, %v: f32, %more: f32, %old: f32):
      %none = arith.constant 0.0 : f32
      %t = arith.addf %v, %b : f32
      %u = arith.maximumf %t, %none : f32
      %w = arith.subf %u, %more : f32
      linalg.yield %w : f32
  }} -> {out}"""


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("second", ["kn", "nk"])
@given(st.tuples(*[st.sampled_from(SIZES)] * 3))
@draws(12)
def test_bias_relu_and_residual_of_a_product(is_dynamic: bool, second: str, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    letters: dict[str, Any] = {"m": "m", "n": "n", "k": "k"} if is_dynamic else {"m": m, "n": n, "k": k}
    a, b = Shaped((letters["m"], letters["k"]), "f32"), Shaped(tuple(letters[each] for each in second), "f32")
    bias, out = Shaped((letters["n"],), "f32"), Shaped((letters["m"], letters["n"]), "f32")
    body = product(a, b, out, "%4", second) + bias_and_relu(out, bias, out, out, "%4")
    shapes = [(m, k), (k, n) if second == "kn" else (n, k), (n,), (m, n)]
    x, y, z, more = (random_array(shape, "f4", seed) for seed, shape in enumerate(shapes))
    got = run(prim_func([a, b, bias, out], [out], body), [a, b, bias, out], [out], x, y, z, more)
    wide = y if second == "kn" else y.T
    numpy.testing.assert_array_equal(got, numpy.maximum(x @ wide + z, 0) - more)


@pytest.mark.parametrize("k", [33, 1500])
def test_sums_in_f32_are_rounded_on_their_way_out(k: int) -> None:
    """Long sums go to memory in between: then there is nothing to round in registers."""
    a, b = Shaped((20, k), "f16"), Shaped((k, 70), "f16")
    sums, out = Shaped((20, 70), "f32"), Shaped((20, 70), "f16")
    same = "affine_map<(m, n) -> (m, n)>"
    body = (
        f"%memory = tensor.empty() : {sums}"
        + product(a, b, sums, "%memory")
        + f"""
  %r0 = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel"]}}
      ins(%p : {sums}) outs(%2 : {out}) {{
    ^bb0(%v: f32, %old: f16):
      %w = arith.truncf %v : f32 to f16
      linalg.yield %w : f16
  }} -> {out}"""
    )
    text = prim_func([a, b], [out], body, "out_ewise_fusable")
    x, y = random_array((20, k), "f2", 1), random_array((k, 70), "f2", 2)
    expected = (x.astype("f4") @ y.astype("f4")).astype("f2")
    numpy.testing.assert_array_equal(run(text, [a, b], [out], x, y), expected)
    assert (", tensor<20x70xf32>" in scheduled_text(text)) == (k > 1024)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_mean_is_divided_where_the_sum_is(axis: int) -> None:
    x, out = Shaped((35, 50), "f32"), Shaped(((50, 35)[axis],), "f32")
    kept = "ji"[axis]
    iterators = ", ".join('"reduction"' if each == axis else '"parallel"' for each in range(2))
    one = "affine_map<(i) -> (i)>"
    body = f"""
  %zero = arith.constant 0.0 : f32
  %memory = tensor.empty() : {out}
  %filled = linalg.fill ins(%zero : f32) outs(%memory : {out}) -> {out}
  %s = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ({kept})>],
      iterator_types = [{iterators}]}} ins(%0 : {x}) outs(%filled : {out}) {{
    ^bb0(%v: f32, %sofar: f32):
      %y = arith.addf %v, %sofar : f32
      linalg.yield %y : f32
  }} -> {out}
  %r0 = linalg.generic {{indexing_maps = [{one}, {one}], iterator_types = ["parallel"]}}
      ins(%s : {out}) outs(%1 : {out}) {{
    ^bb0(%v: f32, %old: f32):
      %half = arith.constant 0.5 : f32
      %y = arith.mulf %v, %half : f32
      linalg.yield %y : f32
  }} -> {out}"""
    array = random_array((35, 50), "f4")
    text = prim_func([x], [out], body, "comm_reduce")
    numpy.testing.assert_array_equal(run(text, [x], [out], array), array.sum(axis=axis) / 2)
    assert "linalg." not in scheduled_text(text)


def test_a_result_that_two_take_is_written_once() -> None:
    a, b, out = Shaped((20, 8), "f32"), Shaped((8, 20), "f32"), Shaped((20, 20), "f32")
    same, turned = "affine_map<(m, n) -> (m, n)>", "affine_map<(m, n) -> (n, m)>"
    body = (
        f"%memory = tensor.empty() : {out}"
        + product(a, b, out, "%memory")
        + f"""
  %r0 = linalg.generic {{indexing_maps = [{same}, {turned}, {same}], iterator_types = ["parallel", "parallel"]}}
      ins(%p, %p : {out}, {out}) outs(%2 : {out}) {{
    ^bb0(%v: f32, %w: f32, %old: f32):
      %y = arith.subf %v, %w : f32
      linalg.yield %y : f32
  }} -> {out}"""
    )
    x, y = random_array((20, 8), "f4", 1), random_array((8, 20), "f4", 2)
    got = run(prim_func([a, b], [out], body), [a, b], [out], x, y)
    numpy.testing.assert_array_equal(got, x @ y - (x @ y).T)


def test_a_transposed_result_is_written_first() -> None:
    a, b, sums, out = (Shaped(shape, "f32") for shape in ((20, 8), (8, 33), (20, 33), (33, 20)))
    same, turned = "affine_map<(n, m) -> (n, m)>", "affine_map<(n, m) -> (m, n)>"
    body = (
        f"%memory = tensor.empty() : {sums}"
        + product(a, b, sums, "%memory")
        + f"""
  %r0 = linalg.generic {{indexing_maps = [{turned}, {same}], iterator_types = ["parallel", "parallel"]}}
      ins(%p : {sums}) outs(%2 : {out}) {{
    ^bb0(%v: f32, %old: f32):
      %y = arith.negf %v : f32
      linalg.yield %y : f32
  }} -> {out}"""
    )
    x, y = random_array((20, 8), "f4", 1), random_array((8, 33), "f4", 2)
    numpy.testing.assert_array_equal(run(prim_func([a, b], [out], body), [a, b], [out], x, y), -(x @ y).T)


def test_threads_have_results_of_their_own_for_a_long_epilogue() -> None:
    """A gelu runs over results that each of two threads stores before."""
    x, weights = random_array((128, 256), "f4", 0), random_array((256, 512), "f4", 1)
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape)]) as f:
        f.returns(relax.nn.gelu(relax.matmul(*f, relax.const(weights))))
    result = numpy.from_dlpack(rx.compile(module, "llvm{cores=2}")["main"](x))
    numpy.testing.assert_allclose(result, rx.reference(module)["main"](x), rtol=1e-5, atol=1e-4)
