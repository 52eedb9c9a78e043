# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of products and convolutions against numpy, for all sizes, without races."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from gpu_products import Buffer, Kernel, Product, Rule, Size, muladd, zero
from hypothesis import example, given, settings
from hypothesis import strategies as st
from relax_mlir.bindings.rewriting import Decline
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.cuda.plans.matrix_units import plan_matrix_units
from relax_mlir.targets.gpu.plans.product import plan_product
from relax_mlir.targets.gpu.plans.strip import plan_strip

MACHINE = Machine(
    "nvptx64", frozenset({"sm_80"}), 16, 255, cores=108, shared_bytes=48 << 10, instructions=("m16n8k16", "m16n8k32")
)
LEFT, RIGHT, RESULT = ["(b, m, n, k) -> (b, m, k)", "(b, m, n, k) -> (b, k, n)", "(b, m, n, k) -> (b, m, n)"]


def product(op: Any) -> Any:
    return plan_product(op, MACHINE)


def strip(op: Any) -> Any:
    return plan_strip(op, MACHINE)


def units(op: Any) -> Any:
    return plan_matrix_units(op, MACHINE)


def checked(
    case: Product, rule: Rule | str, expected: Any, tolerance: float = 1e-5, arrays: Sequence[np.ndarray] = ()
) -> Kernel:
    """Compile and run a case. `expected` computes the last buffer from the others."""
    random = np.random.default_rng(7)
    arrays = arrays or [each.values(random) for each in case.buffers]
    kernel = case.compiled(rule)
    found = kernel.run(*arrays)[-1]
    wanted = expected(*(each.astype(np.float64) for each in arrays))
    scale = max(1.0, float(np.abs(wanted).max()))
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=0, atol=tolerance * scale)
    return kernel


def matmul(
    sizes: Sequence[int],
    factor: str = "f32",
    total: str | None = None,
    open_loops: str = "",
    turned: str = "",
    initial: bool = True,
) -> Product:
    """Return a batch of products. The inputs in `turned`, a and b, are transposed."""
    total = total or factor
    of: dict[str, Size] = {
        name: (size,) if name in open_loops else size for name, size in zip("bmnk", sizes, strict=True)
    }
    left, right = ("bkm" if "a" in turned else "bmk"), ("bnk" if "b" in turned else "bkn")
    maps = [f"(b, m, n, k) -> ({', '.join(axes)})" for axes in (left, right, "bmn")]
    buffers = [
        Buffer(dtype, [of[name] for name in axes]) for axes, dtype in ((left, factor), (right, factor), ("bmn", total))
    ]
    return Product(
        "; ".join(maps), "pppr", buffers[:2], buffers[2], muladd(factor, total), zero(total) if initial else None
    )


def multiplied(turned: str = "", initial: bool = True) -> Any:
    def expected(left: np.ndarray, right: np.ndarray, before: np.ndarray) -> np.ndarray:
        left = left.swapaxes(1, 2) if "a" in turned else left
        right = right.swapaxes(1, 2) if "b" in turned else right
        return left @ right + (0 if initial else before)

    return expected


SMALL = "order 0 1 2 3; carried 1; vector 2 x 4; tile 1: 4, 2: 1; blocks 3: 8; threads 1: 4, 2: 4; shared 0 1"


@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize("stages", ["", "; stages 2", "; stages 3"])
def test_inputs_that_lie_either_way(turned: str, stages: str) -> None:
    checked(matmul((2, 17, 20, 12), turned=turned), SMALL + stages, multiplied(turned))


@pytest.mark.parametrize("types", ["f16 f32", "bf16 f32", "f64 f64", "i8 i32", "i16 i64"])
@pytest.mark.parametrize("rule", [product, strip])
def test_types(types: str, rule: Rule) -> None:
    checked(matmul((2, 5, 24, 20), *types.split()), rule, multiplied())


@pytest.mark.parametrize("factor,total", [("f16", "f32"), ("bf16", "f32"), ("i8", "i32")])
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize("sizes", [(1, 64, 64, 64), (2, 33, 23, 40)], ids=["even", "odd"])
def test_matrix_units(factor: str, total: str, turned: str, sizes: Sequence[int]) -> None:
    kernel = checked(matmul(sizes, factor, total, turned=turned), units, multiplied(turned))
    assert kernel.instructions("mma.sync")


@pytest.mark.parametrize("signs", ["su", "us", "uu"])
def test_bytes_without_sign(signs: str) -> None:
    case = matmul((1, 17, 24, 40), "i8", "i32")
    case.body = muladd("i8", "i32", signs)

    def expected(left: np.ndarray, right: np.ndarray, _: np.ndarray) -> np.ndarray:
        both = zip((left, right), signs, strict=True)
        left, right = (each % 256 if sign == "u" else each for each, sign in both)
        return left @ right

    for rule in (units, product):
        checked(case, rule, expected)


size = st.integers(1, 40)


@given(
    st.tuples(st.integers(1, 3), size, size, size),
    st.sets(st.sampled_from("bmnk")),
    st.sampled_from(["", "a", "b", "ab"]),
    st.booleans(),
    st.sampled_from(["f32 f32", "f16 f32", "i8 i32"]),
)
@example((2, 9, 9, 9), set("bmnk"), "a", False, "f16 f32")
@settings(max_examples=10, deadline=None)
def test_any_sizes(sizes: Sequence[int], open_loops: set[str], turned: str, initial: bool, types: str) -> None:
    factor, total = types.split()
    case = matmul(sizes, factor, total, "".join(open_loops), turned, initial)
    ran = 0
    for rule in (product, strip, units):
        try:
            checked(case, rule, multiplied(turned, initial))
            ran += 1
        except Decline:
            continue
    assert ran or 1 in sizes[1:]


def convolved(stride: int, dilation: int, groups: int = 1) -> Any:
    """Convolve images n, groups, channels, rows, columns with filters groups, outputs, channels, rows, columns."""

    def expected(images: np.ndarray, filters: np.ndarray, _: np.ndarray) -> np.ndarray:
        *_, height, width = images.shape
        *_, rows, columns = filters.shape
        high, wide = (
            (size - (taps - 1) * dilation - 1) // stride + 1 for size, taps in ((height, rows), (width, columns))
        )
        total = 0
        for i, j in itertools.product(range(rows), range(columns)):
            top, left = i * dilation, j * dilation
            part = images[
                ..., top : top + (high - 1) * stride + 1 : stride, left : left + (wide - 1) * stride + 1 : stride
            ]
            total = total + np.einsum("ngchw,goc->ngohw", part, filters[..., i, j])
        return np.asarray(total)

    return expected


def convolution(
    n: int, g: int, c: int, o: int, high: int, wide: int, taps: int, stride: int, dilation: int, factor: str, total: str
) -> Product:
    height, width = ((size - 1) * stride + (taps - 1) * dilation + 1 for size in (high, wide))
    loops = "(n, g, o, h, w, c, i, j)"
    maps = (
        f"{loops} -> (n, g, c, h * {stride} + i * {dilation}, w * {stride} + j * {dilation}); "
        f"{loops} -> (g, o, c, i, j); {loops} -> (n, g, o, h, w)"
    )
    inputs = [Buffer(factor, (n, g, c, height, width)), Buffer(factor, (g, o, c, taps, taps))]
    return Product(maps, "ppppprrr", inputs, Buffer(total, (n, g, o, high, wide)), muladd(factor, total), zero(total))


@pytest.mark.parametrize(
    "stride,dilation,groups,taps", [(1, 1, 1, 3), (2, 1, 1, 3), (1, 2, 3, 2), (2, 2, 2, 3), (1, 1, 1, 1)]
)
@pytest.mark.parametrize("rule,factor,total", [(product, "f32", "f32"), (units, "f16", "f32"), (units, "i8", "i32")])
def test_convolutions(rule: Rule, factor: str, total: str, stride: int, dilation: int, groups: int, taps: int) -> None:
    case = convolution(2, groups, 16 if taps == 1 else 6, 9, 5, 8, taps, stride, dilation, factor, total)
    checked(case, rule, convolved(stride, dilation, groups))


@pytest.mark.parametrize("rule,factor", [(product, "f32"), (units, "f16")])
def test_channels_last(rule: Rule, factor: str) -> None:
    loops = "(n, h, w, o, i, j, c)"
    maps = f"{loops} -> (n, h + i, w + j, c); {loops} -> (i, j, c, o); {loops} -> (n, h, w, o)"
    inputs = [Buffer(factor, (2, 6, 7, 16)), Buffer(factor, (3, 3, 16, 8))]
    case = Product(maps, "pppprrr", inputs, Buffer("f32", (2, 4, 5, 8)), muladd(factor, "f32"), zero("f32"))

    def expected(images: np.ndarray, filters: np.ndarray, _: np.ndarray) -> np.ndarray:
        taps = itertools.product(range(3), range(3))
        return sum(images[:, i : i + 4, j : j + 5] @ filters[i, j] for i, j in taps)  # type: ignore[return-value]

    kernel = checked(case, rule, expected)
    assert kernel.instructions(r"ld\.global\.(nc\.)?v4") or kernel.instructions(r"cp\.async")


@pytest.mark.parametrize("rule,factor", [(product, "f32"), (strip, "f32"), (units, "f16")])
@pytest.mark.parametrize("columns", [24, 23])
def test_results_are_worked_on_in_registers(rule: Rule, factor: str, columns: int) -> None:
    rows = 5 if rule is strip else 17
    case = matmul((2, rows, columns, 20), factor, "f32")
    kinds = 'iterator_types = ["parallel", "parallel", "parallel"]'
    same, bias = "affine_map<(b, m, n) -> (b, m, n)>", "affine_map<(b, m, n) -> (n)>"
    case.epilogues = [
        f"""linalg.generic {{indexing_maps = [{same}, {bias}, {same}], {kinds}}}
              ins(%a2, %a3 : type2, type3) outs(%a4 : type4) {{
            ^bb0(%r: f32, %b: f32, %o: f32):
              %none = arith.constant 0.0 : f32
              %s = arith.addf %r, %b : f32
              %m = arith.maximumf %s, %none : f32
              linalg.yield %m : f32 }}""",
        f"""linalg.generic {{indexing_maps = [{same}, affine_map<(b, m, n) -> (n, b, m)>], {kinds}}}
              ins(%a4 : type4) outs(%a5 : type5) {{
            ^bb0(%r: f32, %o: f16):
              %m = arith.truncf %r : f32 to f16
              linalg.yield %m : f16 }}""",
    ]
    case.others = [Buffer("f32", (columns,)), Buffer("f32", (2, rows, columns)), Buffer("f16", (columns, 2, rows))]
    random = np.random.default_rng(7)
    arrays = [each.values(random) for each in case.buffers]

    def expected(
        left: np.ndarray, right: np.ndarray, _: np.ndarray, bias: np.ndarray, *others: np.ndarray
    ) -> np.ndarray:
        return np.maximum(left @ right + bias, 0).transpose(2, 0, 1)

    kernel = checked(case, rule, expected, 1e-3, arrays)
    found = kernel.run(*arrays)
    for number in (2, 4):
        np.testing.assert_array_equal(found[number], arrays[number])


@pytest.mark.parametrize("rule", [product, strip])
def test_other_sums(rule: Rule) -> None:
    """Skip steps beyond the last one, since the body is not zero for zeros."""
    case = matmul((2, 5, 11, 13), "i8", "i32")
    case.body = """^bb0(%x: i8, %y: i8, %o: i32):
      %three = arith.constant 3 : i32
      %a = arith.extsi %x : i8 to i32
      %b = arith.extsi %y : i8 to i32
      %c = arith.subi %a, %three : i32
      %d = arith.addi %b, %three : i32
      %p = arith.muli %c, %d : i32
      %q = arith.addi %o, %p : i32
      linalg.yield %q : i32"""
    checked(case, rule, lambda left, right, _: (left - 3) @ (right + 3))
    case = matmul((2, 5, 11, 13))
    case.initial = "0xFF800000 : f32"
    case.body = """^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      %q = arith.maximumf %o, %s : f32
      linalg.yield %q : f32"""
    checked(case, rule, lambda left, right, _: (left[..., None] + right[:, None]).max(2))


def test_what_lies_between_the_steps() -> None:
    """Keep row inputs, column inputs and scalars in registers, and read an input of all loops in place."""
    loops = "(m, n, k)"
    maps = "; ".join(f"{loops} -> ({axes})" for axes in ("m, k", "k, n", "m", "n", "m, n, k", "m, n"))
    inputs = [Buffer("f32", sizes) for sizes in ((9, 13), (13, 10), (9,), (10,), (9, 10, 13))]
    body = """^bb0(%x: f32, %y: f32, %r: f32, %c: f32, %w: f32, %o: f32):
      %a = arith.subf %x, %r : f32
      %b = arith.subf %y, %c : f32
      %p = arith.mulf %a, %b : f32
      %s = arith.mulf %p, %w : f32
      %q = arith.addf %o, %s : f32
      linalg.yield %q : f32"""
    case = Product(maps, "ppr", inputs, Buffer("f32", (9, 10)), body, zero("f32"))

    def expected(
        x: np.ndarray, y: np.ndarray, r: np.ndarray, c: np.ndarray, w: np.ndarray, _: np.ndarray
    ) -> np.ndarray:
        return np.einsum("mk,kn,mnk->mn", x - r[:, None], y - c, w)

    checked(case, product, expected)
