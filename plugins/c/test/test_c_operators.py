# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of all families in C, against the llvm target's code. (Apache TVM: test_target_codegen_c_host.py)"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from c_programs import CProgram, needs_compiler
from relax_mlir import relax
from relax_mlir.support.requantization import FORMS, ROUNDINGS, Multiplier

pytestmark = needs_compiler
F32, RANDOM = "float32", numpy.random.default_rng(20261122)
Case = tuple[list[Any], Callable[..., Any]]


def floats(*shape: int, dtype: str = F32) -> Any:
    return RANDOM.normal(size=shape).astype(dtype)


def integers(*shape: int, low: int = -20, high: int = 20, dtype: str = "int32") -> Any:
    return RANDOM.integers(low, high, shape).astype(dtype)


X, IMAGE, ROWS = floats(3, 5), floats(1, 4, 9, 8), floats(2, 3, 4)
BOOLS, INDICES = RANDOM.random((3, 5)) < 0.5, integers(4, low=-3, high=3, dtype="int64")
WEIGHT, BIAS = floats(6, 4, 3, 3), floats(4)

ELEMENTWISE: dict[str, Case] = {
    name: ([abs(X) + 1.5 if name == "acosh" else abs(X) / 4 + 0.1], getattr(relax, name))
    for name in (
        "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log negative round rsqrt sigmoid sign "
        "sin sinh sqrt square tan tanh trunc isnan isfinite isinf"
    ).split()
} | {
    name: ([X, X[::-1].copy()], getattr(relax, name))
    for name in "add subtract multiply divide maximum minimum floor_divide mod equal less greater_equal".split()
}

INTEGERS: dict[str, Case] = {
    f"{name}_{dtype}": ([integers(4, 6, dtype=dtype), integers(4, 6, low=1, dtype=dtype)], getattr(relax, name))
    for name in "add subtract multiply floor_divide mod maximum bitwise_and bitwise_xor left_shift right_shift".split()
    for dtype in ("int8", "int32", "int64", "uint8")
    if not (name.endswith("shift") and dtype == "int8")
}

SHAPES: dict[str, Case] = {
    "clip": ([X], lambda x: relax.clip(x, min=-0.5, max=0.5)),
    "where": ([BOOLS, X, -X], relax.where),
    "astype": ([X * 10], lambda x: relax.astype(x, dtype="int32")),
    "reshape": ([X], lambda x: relax.reshape(x, (5, 3))),
    "permute": ([ROWS], lambda x: relax.permute_dims(x, axes=(2, 0, 1))),
    "concat": ([X, X], lambda x, y: relax.concat([x, y], axis=1)),
    "split": ([ROWS], lambda x: relax.split(x, 2, axis=2)),
    "take": ([X, INDICES], lambda x, i: relax.take(x, i, axis=0)),
    "slice": ([X], lambda x: relax.strided_slice(x, axes=[1], begin=[3], end=[0], strides=[-1])),
    "flip": ([X], lambda x: relax.flip(x, axis=0)),
    "tile": ([X], lambda x: relax.tile(x, (2, 1))),
    "pad": ([X], lambda x: relax.nn.pad(x, (0, 1, 2, 0), pad_mode="reflect")),
    "cumsum": ([X], lambda x: relax.cumsum(x, axis=1)),
    "broadcast": ([X[:1]], lambda x: relax.broadcast_to(x, (3, 5))),
    "one_hot": ([abs(INDICES)], lambda i: relax.one_hot(i, 1.0, 0.0, depth=4, axis=-1)),
    "gather": ([X, integers(3, 2, low=0, high=5, dtype="int64")], lambda x, i: relax.gather_elements(x, i, axis=1)),
    "scatter": (
        [X, integers(3, 2, low=0, high=3, dtype="int64"), floats(3, 2)],
        lambda x, i, u: relax.scatter_elements(x, i, u, axis=1, reduction="add"),
    ),
    "sort": ([X], lambda x: relax.sort(x, axis=1)),
    "argsort": ([X], lambda x: relax.argsort(x, axis=0)),
    "topk": ([X], lambda x: relax.topk(x, k=2, axis=1)),
    "topk_of_many": ([floats(2, 70)], lambda x: relax.topk(x, k=30, axis=1)),
    "topk_of_many_integers": ([integers(2, 70, dtype="int64")], lambda x: relax.topk(x, k=40, largest=False)),
    "topk_of_many_columns": ([floats(60, 3, dtype="float64")], lambda x: relax.topk(x, k=29, axis=0)),
    "resize": ([IMAGE], lambda x: relax.image.resize2d(x, (5, 12), method="linear")),
}

SUMS: dict[str, Case] = {
    "sum": ([ROWS], lambda x: relax.sum(x, axis=[0])),
    "mean": ([ROWS], lambda x: relax.mean(x, axis=[1])),
    "max": ([ROWS], lambda x: relax.max(x, axis=[2])),
    "sum_of_all": ([ROWS], relax.sum),
    "prod": ([X], lambda x: relax.prod(x, axis=[0])),
    "variance": ([X], lambda x: relax.variance(x, axis=[1])),
    "argmax": ([X], lambda x: relax.argmax(x, axis=1)),
    "softmax": ([ROWS], lambda x: relax.nn.softmax(x, axis=1)),
    "log_softmax": ([ROWS], lambda x: relax.nn.log_softmax(x, axis=-1)),
    "layer_norm": ([ROWS, BIAS, BIAS], lambda x, g, b: relax.nn.layer_norm(x, g, b, axes=[-1])),
    "gelu": ([X], relax.nn.gelu),
    "silu": ([X], relax.nn.silu),
    "leaky_relu": ([X], lambda x: relax.nn.leakyrelu(x, alpha=0.1)),
    "matmul": ([ROWS, floats(4, 5)], relax.matmul),
    "conv2d": ([IMAGE, WEIGHT], lambda x, w: relax.nn.conv2d(x, w, strides=(2, 1), padding=(1, 0, 2, 1))),
    "depthwise": ([IMAGE, floats(4, 1, 3, 3)], lambda x, w: relax.nn.relu(relax.nn.conv2d(x, w, groups=4))),
    "conv2d_transpose": ([IMAGE, floats(4, 2, 3, 3)], lambda x, w: relax.nn.conv2d_transpose(x, w, strides=(2, 2))),
    "max_pool2d": ([IMAGE], lambda x: relax.nn.max_pool2d(x, pool_size=(3, 2), strides=(2, 2), padding=(1, 0, 1, 0))),
    "avg_pool2d": ([IMAGE], lambda x: relax.nn.avg_pool2d(x, pool_size=(2, 2), padding=(1, 1, 0, 0))),
    "sum_of_products": ([X, X], lambda x, y: relax.sum(relax.multiply(x, y), axis=[1])),
    "bias_relu": ([X, floats(5, 6), floats(6)], lambda x, w, b: relax.nn.relu(relax.add(relax.matmul(x, w), b))),
    "quantize": (
        [X, numpy.float32(0.1), numpy.int8(3)],
        lambda x, s, z: relax.quantize(x, s, z, axis=0, out_dtype="int8"),
    ),
}


def requantizations() -> dict[str, Case]:
    """Return requantizations by each form and rounding, with numbers of all magnitudes."""
    cases: dict[str, Case] = {}
    sums = RANDOM.integers(-(2**31), 2**31, (64, 8)) >> RANDOM.integers(0, 31, (64, 8))
    reals = 2.0 ** RANDOM.uniform(-14, 4, 8) * [1, 1, 1, 1, 0, 0, 0, 0] + [0, 0, 0, 0, 1, 0.5, 0.25, 2.0**-9]
    for form, rounding in itertools.product([*FORMS, "double"], ROUNDINGS):
        is_double = form == "double"
        how = rx.Requantize("q31>>shift" if is_double else form, rounding, rounding != "up", is_double)
        dtype = "uint8" if rounding == "half_up" else "int16" if rounding == "down" else "int8"
        zero = integers(8, low=0, high=99, dtype=dtype)
        cases[f"{how.form}_{rounding}{'_twice' * is_double}"] = (
            [sums.astype("int32"), *how.parameters(reals), zero],
            partial(relax.requantize, out_dtype=dtype, **how.attributes()),
        )
    return cases


def module_of(cases: dict[str, Case]) -> rx.Module:
    """Return a module with a function for each case."""
    module = rx.Module()
    for name, (arrays, body) in cases.items():
        infos = [rx.tensor(numpy.shape(each), numpy.asarray(each).dtype.name) for each in arrays]
        with module.function(name, infos) as f:
            made = body(*f)
            f.returns(*(made if isinstance(made, (tuple, list)) or hasattr(made, "__len__") else (made,)))
    return module


@pytest.mark.parametrize(
    "cases", [ELEMENTWISE, INTEGERS, SHAPES, SUMS], ids=["elementwise", "integers", "shapes", "sums"]
)
def test_operators(cases: dict[str, Case]) -> None:
    check(cases, atol=1e-6)


def test_requantization() -> None:
    """The C code has the bits of rx.Requantize.apply."""
    cases = requantizations()
    program = CProgram(module_of(cases))
    for name, ((sums, multiplier, shift, zero), body) in cases.items():
        (given,) = program(sums, multiplier, shift, zero, function=name)
        settings = body.keywords  # type: ignore[attr-defined]
        spelling = next(each for each, form in FORMS.items() if form == settings["form"])
        how = rx.Requantize(spelling, *(settings[each] for each in ("rounding", "saturate", "double_rounding")))
        expected = how.apply(sums, Multiplier(multiplier, shift), zero, settings["out_dtype"])
        numpy.testing.assert_array_equal(given, expected, err_msg=name, strict=True)


def check(cases: dict[str, Case], atol: float) -> None:
    program = CProgram(module_of(cases))
    for name, (arrays, _) in cases.items():
        given, expected = program(*arrays, function=name), program.expected(*arrays, function=name)
        for one, other in zip(given, expected, strict=True):
            numpy.testing.assert_allclose(one, other, rtol=2e-5, atol=atol, err_msg=name)
            assert one.dtype == other.dtype, name


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16"])
def test_floats_of_other_widths(dtype: str) -> None:
    import ml_dtypes  # noqa: F401  # numpy knows its names then

    x, w = (floats(*shape).astype(numpy.dtype(dtype)) for shape in ((3, 5), (5, 4)))
    cases: dict[str, Case] = {
        "chain": ([x, x], lambda x, y: relax.multiply(relax.exp(x), relax.add(y, relax.const(0.3, dtype)))),
        "product": ([x, w], lambda x, w: relax.nn.softmax(relax.matmul(x, w), axis=-1)),
        "to_integers": ([x], lambda x: relax.astype(x, dtype="int16")),
        "most": ([x], lambda x: relax.max(x, axis=[0])),
    }
    program = CProgram(module_of(cases))
    for name, (arrays, _) in cases.items():
        (given,), (expected,) = (each(*arrays, function=name) for each in (program.__call__, program.expected))
        step = {"float64": 1e-12, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
        numpy.testing.assert_allclose(given.astype("float64"), expected.astype("float64"), rtol=step, err_msg=name)


#: Products with remainders of tiles: rows and columns, batches, strides, groups, epilogues that read the overwritten
#: operand. No size is a multiple of a tile.
TILED: dict[str, Case] = {
    "left_over": ([floats(13, 20), floats(20, 50)], relax.matmul),
    "one_row": ([floats(1, 20), floats(20, 64)], relax.matmul),
    "vector": ([floats(20), floats(20, 70)], relax.matmul),
    "batches": ([floats(2, 3, 9, 20), floats(3, 20, 33)], relax.matmul),
    "shared_batches": ([floats(3, 9, 20), floats(20, 24)], relax.matmul),
    "in_place": (
        [floats(9, 33), floats(33, 33)],
        lambda x, w: relax.add(relax.exp(relax.add(relax.matmul(relax.nn.relu(x), w), x)), relax.matmul(x, w)),
    ),
    "conv": (
        [floats(2, 9, 11, 9), floats(40, 9, 3, 3), floats(40, 1, 1)],
        lambda x, w, b: relax.nn.relu(relax.add(relax.nn.conv2d(x, w, strides=(2, 1), padding=(1, 1)), b)),
    ),
    "conv_dilated": (
        [floats(1, 9, 12, 12), floats(20, 9, 3, 2)],
        lambda x, w: relax.nn.conv2d(x, w, dilation=(2, 3), padding=(2, 0, 1, 3)),
    ),
    "depthwise": ([floats(1, 36, 7, 9), floats(36, 1, 3, 3)], lambda x, w: relax.nn.conv2d(x, w, groups=36)),
    "groups": ([floats(1, 8, 7, 9), floats(40, 4, 3, 3)], lambda x, w: relax.nn.conv2d(x, w, groups=2)),
    "doubles": ([floats(9, 20).astype("float64"), floats(20, 40).astype("float64")], relax.matmul),
    "halves": ([floats(9, 20).astype("float16"), floats(20, 40).astype("float16")], relax.matmul),
    "integers": ([integers(9, 20), integers(20, 40)], relax.matmul),
    "transposed": ([floats(9, 20), floats(40, 20)], lambda x, w: relax.matmul(x, relax.permute_dims(w))),
}


@pytest.mark.slow
def test_products_in_tiles() -> None:
    """Compare sums of up to 81 products around 0, in two orders."""
    check(TILED, atol=1e-5)


def test_products_of_nan_and_infinity() -> None:
    """Keep NaN and infinities in their own rows and columns, in any tile."""
    x, w = floats(13, 20), floats(20, 50)
    x[3, 5], x[12, 0], w[7, 33], w[0, 49] = numpy.nan, numpy.inf, -numpy.inf, numpy.nan
    cases: dict[str, Case] = {
        "product": ([x, w], relax.matmul),
        "clipped": ([x, w], lambda x, w: relax.nn.relu(relax.matmul(x, w))),
    }
    program = CProgram(module_of(cases))
    with numpy.errstate(invalid="ignore"):
        expected = x @ w
    numpy.testing.assert_allclose(program(x, w, function="product")[0], expected, rtol=1e-4, atol=1e-5)
    clipped = numpy.maximum(expected, 0)
    numpy.testing.assert_allclose(program(x, w, function="clipped")[0], clipped, rtol=1e-4, atol=1e-5)
