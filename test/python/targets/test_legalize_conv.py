# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Direct and transposed convolutions, legalized by default rules and compiled for llvm, against onnxruntime."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import ml_dtypes
import numpy
import pytest
import scipy.signal
from example_counts import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx_oracle import run_onnx
from prim_jit import run_op
from relax_mlir.dialects.tir.prim_func import is_prim_func

import relax_mlir as rx

ROUNDING = {"float16": 5e-4, "bfloat16": 4e-3, "float32": 1e-5}


def ran(name: str, *arrays: Any, **options: Any) -> Any:
    return run_op(f"relax.nn.{name}", *arrays, **options)


def normal(*shape: int, dtype: Any = "float32", seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype(dtype)


def of_onnx(name: str, data: Any, weight: Any, **attributes: Any) -> Any:
    """Return onnxruntime's result for a relax operator's attributes, in the default layouts."""
    rank = data.ndim - 2
    padding = attributes.get("padding", (0,))
    renamed = {
        "strides": _all(attributes.get("strides", (1,)), rank),
        "dilations": _all(attributes.get("dilation", (1,)), rank),
        "pads": padding * (2 * rank // len(padding)),
        "group": attributes.get("groups", 1),
    }
    if name.endswith("transpose"):
        renamed["output_padding"] = _all(attributes.get("output_padding", (0,)), rank)
    return run_onnx("ConvTranspose" if name.endswith("transpose") else "Conv", data, weight, **renamed)[0]


def _all(values: tuple[int, ...], count: int) -> tuple[int, ...]:
    return values if len(values) == count else values * count


def close(actual: Any, expected: Any, dtype: str = "float32", products: int = 1) -> None:
    assert actual.shape == expected.shape
    rtol, atol = ROUNDING[dtype], ROUNDING[dtype] * max(1.0, products**0.5 / 4)
    numpy.testing.assert_allclose(actual.astype("float64"), expected, rtol=rtol, atol=atol)


def check(name: str, data: Any, weight: Any, symbols: Any = (), **attributes: Any) -> None:
    expected, sums = of_onnx(name, data, weight, **attributes), int(numpy.prod(weight.shape[1:]))
    close(ran(name, data, weight, symbols=symbols, **attributes), expected, products=sums)


# ---- convolutions ----

CASES: list[dict[str, Any]] = [
    {},
    {"strides": (2, 1)},
    {"strides": (3,), "padding": (1,)},
    {"padding": (1, 2)},
    {"padding": (1, 0, 2, 3), "dilation": (2, 1)},
    {"groups": 2, "padding": (1,)},
    {"groups": 6, "strides": (2, 2), "dilation": (1, 2)},
]


@pytest.mark.parametrize("attributes", CASES, ids=str)
def test_conv2d(attributes: Any) -> None:
    data, weight = normal(2, 6, 9, 8), normal(12, 6 // attributes.get("groups", 1), 3, 2, seed=4)
    check("conv2d", data, weight, **attributes)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("rank", [1, 3])
def test_other_ranks(rank: int, groups: int) -> None:
    data, weight = normal(2, 4, 7, 6, 5)[..., : 5 if rank == 3 else 0], normal(6, 4 // groups, 3, 2, 2, seed=4)
    if rank == 1:
        data, weight = normal(2, 4, 7), weight[..., 0, 0].copy()
    befores, afters = (1, 0, 2)[:rank], (0, 2, 1)[:rank]
    options = {"strides": (2, 1, 3)[:rank], "dilation": (2, 1, 1)[:rank], "groups": groups}
    check(f"conv{rank}d", data, weight, padding=befores + afters, **options)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("data_layout", "kernel_layout", "out_layout"),
    [("NHWC", "HWIO", None), ("NHWC", "OHWI", "NCHW"), ("NCHW", "HWOI", "WNHC"), ("CHWN", "IOWH", "NHWC")],
)
def test_layouts(data_layout: str, kernel_layout: str, out_layout: str | None, groups: int) -> None:
    data, weight = normal(2, 4, 5, 6), normal(6, 4 // groups, 3, 2, seed=4)
    options: dict[str, Any] = {"padding": (1, 0), "groups": groups}
    expected = moved(of_onnx("conv2d", data, weight, **options), "NCHW", out_layout or data_layout)
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    arrays = moved(data, "NCHW", data_layout), moved(weight, "OIHW", kernel_layout)
    close(ran("conv2d", *arrays, **options, **layouts), expected)


def moved(array: Any, source: str, target: str) -> Any:
    return numpy.ascontiguousarray(array.transpose([source.index(letter) for letter in target]))


def blocked(array: Any, axis: int, block: int) -> Any:
    """Return the array with a dimension in blocks, which become the last dimension. Zeros fill the last block."""
    missing = -array.shape[axis] % block
    full = numpy.pad(array, [(0, missing if each == axis else 0) for each in range(array.ndim)])
    split = full.reshape(*full.shape[:axis], -1, block, *full.shape[axis + 1 :])
    return numpy.ascontiguousarray(numpy.moveaxis(split, axis + 1, -1))


@pytest.mark.parametrize("groups", [1, 2])
def test_blocked_layouts(groups: int) -> None:
    data, weight = normal(2, 8, 5, 6), normal(6, 8 // groups, 3, 2, seed=4)
    expected = of_onnx("conv2d", data, weight, groups=groups, padding=(1,))
    options: dict[str, Any] = {"groups": groups, "padding": (1,), "kernel_layout": "OIHW2i2o"}
    kernel = blocked(blocked(weight, 1, 2), 0, 2)
    actual = ran("conv2d", blocked(data, 1, 4), kernel, data_layout="NCHW4c", **options)
    close(actual, blocked(expected, 1, 4))
    actual = ran("conv2d", blocked(data, 1, 4), kernel, data_layout="NCHW4c", out_layout="NHWC", **options)
    close(actual, moved(expected, "NCHW", "NHWC"))


@pytest.mark.parametrize("symbols", [(), (("n", "c", "h", "w", 4), ("o", "c", 3, 2, 4, 2))], ids=["known", "symbolic"])
def test_blocks_of_channels_have_loops_of_their_own(symbols: Any) -> None:
    data, weight = normal(2, 8, 5, 6), normal(6, 8, 3, 2, seed=4)
    options: dict[str, Any] = {"strides": (2, 1), "padding": (1,)}
    layouts = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i2o", "out_layout": "NCHW2c"}
    arrays = blocked(data, 1, 4), blocked(blocked(weight, 1, 4), 0, 2)
    actual = ran("conv2d", *arrays, symbols=symbols, **layouts, **options)
    close(actual, blocked(of_onnx("conv2d", data, weight, **options), 1, 2))
    module = rx.Module()
    with module.function("main", [rx.tensor(array.shape) for array in arrays]) as f:
        f.returns(rx.relax.nn.conv2d(*f, **layouts, **options))
    rx.LegalizeOps()(module)
    assert str(module).count("relax.call_tir") == 1


@pytest.mark.parametrize("symbols", [(), (("n", "c", "h", "w", 4), (3, 1, 3, 2, 4))], ids=["known", "symbolic"])
@pytest.mark.parametrize("attributes", [{}, {"strides": (2, 1), "padding": (1, 2, 0, 1)}, {"dilation": (12,)}], ids=str)
def test_blocks_of_channels_with_kernels_of_their_own(attributes: Any, symbols: Any) -> None:
    data, weight, options = (
        normal(2, 12, 7, 6),
        normal(12, 1, 3, 2, seed=4),
        {"padding": (12,), "groups": 12, **attributes},
    )
    arrays, layouts = (blocked(data, 1, 4), blocked(weight, 0, 4)), {"data_layout": "NCHW4c", "kernel_layout": "OIHW4o"}
    actual = ran("conv2d", *arrays, symbols=symbols, **layouts, **options)
    close(actual, blocked(of_onnx("conv2d", data, weight, **options), 1, 4))
    if symbols:
        with pytest.raises(ValueError, match="channels of the data and the weight: sizes 2 and 3 differ"):
            ran("conv2d", arrays[0][:, :2].copy(), arrays[1], symbols=symbols, **layouts, **options)


INTEGERS = [("uint8", "uint8", "int32"), ("int8", "int8", "int32"), ("uint8", "int8", "int32"), ("int8", "int8", None)]


@pytest.mark.parametrize(("dtype", "weight_dtype", "out_dtype"), INTEGERS)
def test_integers(dtype: str, weight_dtype: str, out_dtype: Any) -> None:
    random = numpy.random.default_rng(3)
    shapes = (((2, 4, 5, 5), dtype), ((6, 4, 3, 3), weight_dtype))
    limits = {kind: (numpy.iinfo(kind).min, numpy.iinfo(kind).max) for _, kind in shapes}
    data, weight = (random.integers(*limits[kind], shape, kind, endpoint=True) for shape, kind in shapes)
    # onnxruntime has no kernel for weights with a sign next to data with one: of data that are 128 larger.
    shifted = (data.astype("int16") + 128).astype("uint8") if dtype == "int8" else data
    zero = numpy.array(128 if dtype == "int8" else 0, "uint8")
    (expected,) = run_onnx("ConvInteger", shifted, weight, zero, pads=(1, 1, 1, 1))
    actual = ran("conv2d", data, weight, padding=(1,), out_dtype=out_dtype)
    assert actual.dtype == (out_dtype or dtype)
    numpy.testing.assert_array_equal(actual, expected.astype(actual.dtype))


@pytest.mark.parametrize("out_dtype", [None, "float32", "float16"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_floats_are_summed_wide(dtype: str, out_dtype: Any) -> None:
    """Sum thousands of terms, for which narrow sums would stop growing."""
    kind = getattr(ml_dtypes, dtype, dtype)
    data, weight = positive(1, 300, 3, 4).astype(kind), positive(2, 300, 3, 3).astype(kind)
    expected = of_onnx("conv2d", data.astype("float32"), weight.astype("float32"))
    actual = ran("conv2d", data, weight, out_dtype=out_dtype)
    assert actual.dtype.name == (out_dtype or dtype)
    close(actual, expected, out_dtype or dtype)


def positive(*shape: int) -> Any:
    """Return positive numbers, so that sums have no cancellation."""
    return numpy.abs(normal(*shape)) + 0.5


@pytest.mark.parametrize("name", ["conv2d", "conv2d_transpose"])
def test_doubles(name: str) -> None:
    data, weight = normal(1, 1, 6, 7, dtype="float64"), normal(1, 1, 3, 2, dtype="float64", seed=4)
    if name == "conv2d":
        expected = scipy.signal.correlate2d(data[0, 0], weight[0, 0], "valid")
    else:
        expected = scipy.signal.convolve2d(data[0, 0], weight[0, 0])
    numpy.testing.assert_allclose(ran(name, data, weight)[0, 0], expected, rtol=1e-13, atol=1e-13)


def test_nothing_to_sum_and_nothing_to_compute() -> None:
    numpy.testing.assert_array_equal(ran("conv1d", normal(2, 0, 5), normal(3, 0, 2)), numpy.zeros((2, 3, 4)))
    assert ran("conv1d", normal(0, 4, 5), normal(3, 4, 2)).shape == (0, 3, 4)
    assert ran("conv1d", normal(2, 4, 5), normal(0, 4, 2)).shape == (2, 0, 4)


@pytest.mark.parametrize("name", ["conv2d", "conv2d_transpose"])
def test_sizes_without_names(name: str) -> None:
    data, weight = normal(2, 3, 5, 6), normal(3, 3, 3, 2, seed=4)
    check(name, data, weight, ((None, 3, None, None), (None, None, None, 2)), strides=(2, 1), padding=(1,))


DYNAMIC = (("n", "c", "h", "w"), ("o", "c", "kh", "kw"))
sizes = st.integers(1, 7)


@draws(40)
@given(st.integers(0, 2), sizes, sizes, sizes, sizes, st.integers(1, 4), st.integers(1, 3))
def test_symbolic_sizes(batch: int, inner: int, outer: int, height: int, width: int, kh: int, kw: int) -> None:
    """Run one kernel for all sizes."""
    height, width = height + 2 * kh, width + kw
    data, weight = normal(batch, inner, height, width), normal(outer, inner, kh, kw, seed=4)
    actual = ran("conv2d", data, weight, symbols=DYNAMIC, strides=(1, 2), padding=(2, 1, 0, 1), dilation=(2, 1))
    expected = scipy_conv(data, weight, ((2, 0), (1, 1)), (1, 2), (2, 1))
    close(actual, expected)


def scipy_conv(data: Any, weight: Any, padding: Any, strides: Any, dilation: Any) -> Any:
    """Return scipy's result, for sizes that onnxruntime refuses, such as an empty batch."""
    kernel = numpy.zeros(
        [*weight.shape[:2], *((k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilation, strict=True))]
    )
    kernel[:, :, :: dilation[0], :: dilation[1]] = weight
    data = numpy.pad(data, ((0, 0), (0, 0), *padding))
    places = [(size - k) // s + 1 for size, k, s in zip(data.shape[2:], kernel.shape[2:], strides, strict=True)]
    result = numpy.zeros([data.shape[0], weight.shape[0], *places])
    for n, o, c in numpy.ndindex(*result.shape[:2], data.shape[1]):
        full = scipy.signal.correlate2d(data[n, c].astype("float64"), kernel[o, c], "valid")
        result[n, o] += full[:: strides[0], :: strides[1]]
    return result


def test_symbolic_groups() -> None:
    symbols = (("n", "c", "h", "w"), ("o", "i", 3, 2))
    check("conv2d", normal(2, 6, 5, 5), normal(4, 3, 3, 2, seed=4), symbols, groups=2)
    with pytest.raises(ValueError, match="channels of the data and the weight: sizes 6 and 8 differ"):
        run_op("relax.nn.conv2d", normal(2, 6, 5, 5), normal(4, 4, 3, 2), symbols=symbols, groups=2)
    with pytest.raises(ValueError, match="2 groups do not divide 3 channels"):
        run_op("relax.nn.conv2d", normal(2, 6, 5, 5), normal(3, 3, 3, 2), symbols=symbols, groups=2)


# ---- more padding than taps ----


class Case(NamedTuple):
    data: tuple[int, ...]
    weight: tuple[int, ...]
    attributes: dict[str, Any]


@st.composite
def padded_cases(draw: Any) -> Case:
    """Draw windows that lie mostly in the padding, or may do so."""
    rank, groups = draw(st.integers(1, 3)), draw(st.sampled_from([1, 1, 2, 3]))
    along = [
        (
            draw(st.integers(1, 9)),
            draw(st.integers(1, 3)),
            draw(st.integers(1, 7)),
            *draw(st.tuples(*[st.integers(0, 9)] * 2)),
        )
        for _ in range(rank)
    ]
    for size, taps, gap, before, after in along:
        assume(size + before + after > (taps - 1) * gap)
    spatial, taps, gaps, befores, afters = zip(*along, strict=True)
    # One product for each result, some, and so many that they are always added tap by tap.
    inner, outer = draw(st.sampled_from([1, 3, 16, 17])), draw(st.sampled_from([1, 2, 7]))
    strides = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    attributes = {"padding": befores + afters, "strides": strides, "dilation": gaps, "groups": groups}
    data = (draw(st.integers(1, 2)), groups * inner, *spatial)
    return Case(data, (groups * outer, inner, *taps), attributes)


@draws(25)
@given(padded_cases(), st.booleans())
def test_taps_in_the_padding(case: Case, is_symbolic: bool) -> None:
    data, weight = normal(*case.data), normal(*case.weight, seed=4)
    places = ("d", "h", "w")[: data.ndim - 2]
    symbols = (("n", data.shape[1], *places), weight.shape) if is_symbolic else ()
    check(f"conv{data.ndim - 2}d", data, weight, symbols, **case.attributes)


WIDE: dict[str, Any] = {"padding": (6, 5), "dilation": (6, 5)}


@pytest.mark.parametrize("symbols", [(), (("n", "c", "h", "w"), ("o", "c", 3, 2))], ids=["known", "symbolic"])
@pytest.mark.parametrize("channels", [1, 20])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_taps_in_the_padding_of_other_floats(dtype: str, channels: int, symbols: Any) -> None:
    kind = getattr(ml_dtypes, dtype, dtype)
    data, weight = positive(2, channels, 5, 4).astype(kind), positive(3, channels, 3, 2).astype(kind)
    expected = of_onnx("conv2d", data.astype("float32"), weight.astype("float32"), **WIDE)
    close(ran("conv2d", data, weight, symbols=symbols, **WIDE), expected, dtype)


@pytest.mark.parametrize("channels", [1, 20])
def test_taps_in_the_padding_of_integers(channels: int) -> None:
    random = numpy.random.default_rng(3)
    data, weight = (
        random.integers(-128, 128, (2, channels, 5, 4), "int8"),
        random.integers(0, 256, (3, channels, 3, 2), "uint8"),
    )
    expected = of_onnx("conv2d", data.astype("float32"), weight.astype("float32"), **WIDE)
    numpy.testing.assert_array_equal(ran("conv2d", data, weight, out_dtype="int32", **WIDE), expected)


@pytest.mark.parametrize("is_symbolic", [False, True], ids=["known", "symbolic"])
def test_taps_in_the_padding_of_other_layouts(is_symbolic: bool) -> None:
    data, weight = normal(2, 40, 5, 4), normal(6, 20, 3, 2, seed=4)
    expected = of_onnx("conv2d", data, weight, groups=2, **WIDE)
    for layouts in (("NHWC", "HWIO", "NHWC"), ("CHWN", "IOWH", "NCHW")):
        arrays = moved(data, "NCHW", layouts[0]), moved(weight, "OIHW", layouts[1])
        symbols = (tuple("NHWC"), arrays[1].shape) if is_symbolic and layouts[0] == "NHWC" else ()
        options = dict(zip(("data_layout", "kernel_layout", "out_layout"), layouts, strict=True))
        actual = ran("conv2d", *arrays, symbols=symbols, groups=2, **options, **WIDE)
        close(actual, moved(expected, "NCHW", layouts[2]))
    weight = normal(6, 40, 3, 2, seed=4)
    arrays = blocked(data, 1, 4), blocked(blocked(weight, 1, 4), 0, 2)
    layouts = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i2o", "out_layout": "NCHW2c"}
    close(ran("conv2d", *arrays, **layouts, **WIDE), blocked(of_onnx("conv2d", data, weight, **WIDE), 1, 2))


def test_nothing_in_the_padding() -> None:
    wide: dict[str, Any] = {"padding": (7,), "dilation": (3,)}
    numpy.testing.assert_array_equal(ran("conv1d", normal(2, 0, 5), normal(3, 0, 2), **wide), numpy.zeros((2, 3, 16)))
    numpy.testing.assert_array_equal(ran("conv1d", normal(2, 20, 0), normal(3, 20, 2), **wide), numpy.zeros((2, 3, 11)))
    assert ran("conv1d", normal(0, 20, 5), normal(3, 20, 2), **wide).shape == (0, 3, 16)
    assert ran("conv1d", normal(2, 20, 5), normal(0, 20, 2), **wide).shape == (2, 0, 16)
    symbols = (("n", 20, "w"), (3, 20, 2))
    for shape in ((0, 20, 5), (2, 20, 0)):
        actual = ran("conv1d", normal(*shape), normal(3, 20, 2), symbols=symbols, **wide)
        numpy.testing.assert_array_equal(actual, numpy.zeros((shape[0], 3, shape[2] + 11)))


@pytest.mark.parametrize("size", [(4, 6), ("h", "w")], ids=str)
def test_memory_does_not_grow_with_the_padding(size: Any) -> None:
    """Check that neither memory nor work grows with the padding: each tap reads at most the data."""
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 32, *size)), rx.tensor((8, 32, 3, 3))]) as f:
        f.returns(rx.relax.nn.conv2d(*f, padding=500, dilation=500))
    rx.LegalizeOps()(module)
    (prim,) = [op.operation for op in module.body.operations if is_prim_func(op) and "reduction" in str(op)]
    assert "tensor.empty" not in str(prim) and "tensor.extract_slice" in str(prim)


# ---- short rows ----


@st.composite
def short_rows(draw: Any) -> Case:
    """Draw rows that fill vectors badly, with enough products to sum."""
    rank, groups = draw(st.sampled_from([2, 2, 3])), draw(st.sampled_from([1, 1, 3]))
    along = [(draw(st.integers(2, 3)), 2, 1, 1, 0)] * (rank - 2)
    along.append((draw(st.integers(2, 6)), draw(st.integers(1, 3)), draw(st.integers(1, 2)), *draw(_BORDER)))
    along.append((draw(st.sampled_from([5, 7, 9, 17, 18, 35])), draw(st.integers(1, 3)), 1, *draw(_BORDER)))
    for size, taps, gap, before, after in along:
        assume(size + before + after > (taps - 1) * gap)
    spatial, taps, gaps, befores, afters = zip(*along, strict=True)
    strides = (draw(st.integers(1, 2)),) * (rank - 2) + (1, 1)
    attributes = {"padding": befores + afters, "strides": strides, "dilation": gaps, "groups": groups}
    inner = -(-128 // math.prod(taps))
    return Case((draw(st.integers(1, 2)), groups * inner, *spatial), (groups * 5, inner, *taps), attributes)


_BORDER = st.tuples(st.integers(0, 1), st.integers(0, 1))


@draws(20)
@given(short_rows(), st.booleans())
def test_short_rows_are_joined(case: Case, is_symbolic: bool) -> None:
    data, weight = normal(*case.data), normal(*case.weight, seed=4)
    symbols = (("n", *case.data[1:]), case.weight) if is_symbolic else ()
    check(f"conv{data.ndim - 2}d", data, weight, symbols, **case.attributes)


def reads_of(*shapes: tuple[int | str, ...], **attributes: Any) -> str:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes]) as f:
        f.returns(rx.relax.nn.conv2d(*f, **attributes))
    rx.LegalizeOps()(module)
    return str(module)


def test_where_rows_are_joined() -> None:
    joined = "(d0, d3, d2 + d4 * 19 + d5)"
    assert joined in reads_of((1, 64, 17, 17), (8, 64, 3, 3), padding=1)
    # A few products, rows of whole vectors, strides and dynamic sizes stay unchanged.
    assert joined not in reads_of((1, 4, 17, 17), (8, 4, 3, 3), padding=1)
    for width, others in ((16, {}), (62, {}), (17, {"strides": 2})):
        text = reads_of((1, 64, 17, width), (8, 64, 3, 3), padding=1, **others)
        assert "tensor.collapse_shape" not in text
    assert "tensor.collapse_shape" not in reads_of((1, 64, "h", "w"), (8, 64, 3, 3), padding=1)


@pytest.mark.parametrize(("dtype", "out_dtype"), [("float16", None), ("bfloat16", "float32"), ("int8", "int32")])
def test_short_rows_of_other_types(dtype: str, out_dtype: Any) -> None:
    kind = getattr(ml_dtypes, dtype, dtype)
    scale = 9 if dtype == "int8" else 1
    data, weight = ((positive(*shape) * scale).astype(kind) for shape in ((2, 64, 7, 7), (3, 64, 3, 3)))
    expected = of_onnx("conv2d", data.astype("float32"), weight.astype("float32"), padding=(1,))
    actual = ran("conv2d", data, weight, padding=(1,), out_dtype=out_dtype)
    close(actual, expected, dtype if out_dtype is None else "float32")


# ---- transposed convolutions ----

TRANSPOSED: list[dict[str, Any]] = [
    {},
    {"strides": (2, 3)},
    {"strides": (2,), "padding": (1, 0), "output_padding": (1, 0)},
    {"strides": (2, 1), "padding": (1, 2, 3, 0), "dilation": (1, 2)},
    {"padding": (3, 2)},
    {"groups": 2, "strides": (3, 2), "output_padding": (2, 1)},
    {"groups": 6},
]


@pytest.mark.parametrize("symbolic", [False, True], ids=["known", "symbolic"])
@pytest.mark.parametrize("attributes", TRANSPOSED, ids=str)
def test_conv2d_transpose(attributes: Any, symbolic: bool) -> None:
    data, weight = normal(2, 6, 5, 6), normal(6, 2, 3, 2, seed=4)
    symbols = (("n", "c", "h", "w"), ("c", "o", "kh", "kw")) if symbolic else ()
    check("conv2d_transpose", data, weight, symbols, **attributes)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("rank", [1, 3])
def test_other_ranks_transposed(rank: int, groups: int) -> None:
    data, weight = normal(2, 4, *(4, 3, 5)[:rank]), normal(4, 3, *(3, 2, 2)[:rank], seed=4)
    options = {"strides": (2, 1, 3)[:rank], "dilation": (2, 1, 1)[:rank], "groups": groups}
    check(f"conv{rank}d_transpose", data, weight, padding=((1, 0, 1) * 2)[:rank] * 2, **options)


def test_layouts_transposed() -> None:
    data, weight = normal(2, 4, 5, 6), normal(4, 3, 3, 2, seed=4)
    options: dict[str, Any] = {"padding": (1, 0), "strides": (2, 1), "groups": 2}
    expected = of_onnx("conv2d_transpose", data, weight, **options)
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWOI"}
    arrays = moved(data, "NCHW", "NHWC"), moved(weight, "IOHW", "HWOI")
    close(ran("conv2d_transpose", *arrays, **options, **layouts), moved(expected, "NCHW", "NHWC"))
    arrays = blocked(data, 1, 2), blocked(weight, 0, 4)
    actual = ran("conv2d_transpose", *arrays, **options, data_layout="NCHW2c", kernel_layout="IOHW4i")
    close(actual, blocked(expected, 1, 2))
    plain = of_onnx("conv2d_transpose", data, weight, strides=(2,))
    arrays = blocked(data, 1, 2), blocked(blocked(weight, 0, 2), 1, 3)
    layouts = {"data_layout": "NCHW2c", "kernel_layout": "IOHW2i3o", "out_layout": "NCHW3c"}
    close(ran("conv2d_transpose", *arrays, strides=(2,), **layouts), blocked(plain, 1, 3))


def test_narrow_floats_transposed() -> None:
    data, weight = positive(1, 300, 3, 4).astype("float16"), positive(300, 2, 3, 3).astype("float16")
    expected = of_onnx("conv2d_transpose", data.astype("float32"), weight.astype("float32"))
    close(ran("conv2d_transpose", data, weight, out_dtype="float32"), expected)
    close(ran("conv2d_transpose", data, weight), expected, "float16")


def test_integers_transposed() -> None:
    data, weight = (normal(2, 3, 4, 5) * 9).astype("int8"), (normal(3, 2, 2, 3, seed=4) * 9).astype("int8")
    expected = of_onnx("conv2d_transpose", data.astype("float32"), weight.astype("float32"), strides=(2,))
    actual = ran("conv2d_transpose", data, weight, strides=(2,), out_dtype="int32")
    numpy.testing.assert_array_equal(actual, expected)


def test_a_kernel_without_taps() -> None:
    symbols = ((1, 2, "w"), (2, 3, "k"))
    check("conv1d_transpose", normal(1, 2, 4), normal(2, 3, 2), symbols, padding=(1,))
    with pytest.raises(ValueError, match="the weight is empty along W"):
        run_op("relax.nn.conv1d_transpose", normal(1, 2, 9), normal(2, 3, 0), symbols=symbols, padding=(1,))


# ---- form ----


def test_a_convolution_is_a_contraction_over_windows() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 4, 9, 9)), rx.tensor((8, 4, 3, 3))]) as f:
        f.returns(rx.relax.nn.conv2d(*f, strides=2, dilation=(1, 2)))
    rx.LegalizeOps()(module)
    (prim,) = [op.operation for op in module.body.operations if is_prim_func(op)]
    text = str(prim)
    assert "(d0, d4, d2 * 2 + d5, d3 * 2 + d6 * 2)" in str(module)
    assert '["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]' in text
    assert "tensor.empty" not in text and "slice" not in text and "tir.assert" not in text
