# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing and sampling of images, legalized by the default rules and run, against onnxruntime and fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from layout_arrays import in_layout
from onnx_oracle import run_onnx
from prim_jit import run_op

import relax_mlir as rx
from relax_mlir import relax

TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-5}
MODES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
METHODS = {"nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic"}
SYMBOLS = {2: [("n", "c", "h", "w")], 3: [("n", "c", "d", "h", "w")]}


def ran(name: str, *arguments: Any, **options: Any) -> Any:
    return run_op(f"relax.image.{name}", *arguments, **options)


def close(actual: Any, expected: Any, dtype: str = "float32") -> None:
    assert actual.shape == expected.shape
    actual, expected = actual.astype("float64"), expected.astype("float64")
    numpy.testing.assert_allclose(actual, expected, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])


def random(shape: Sequence[int], dtype: str = "float32", seed: int = 0) -> Any:
    values = numpy.random.default_rng(seed).normal(size=shape)
    return values.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


# ---- resize ----
def resized(x: Any, size: Sequence[int], **options: Any) -> Any:
    """Return onnxruntime's result in f32."""
    names = {"method": "mode", "rounding_method": "nearest_mode", "cubic_alpha": "cubic_coeff_a",
             "cubic_exclude": "exclude_outside"}  # fmt: skip
    roi = options.pop("roi", None)
    attributes = {names.get(key, key): METHODS.get(value, value) for key, value in options.items()}
    is_old = attributes.get("coordinate_transformation_mode") == "tf_half_pixel_for_nn"
    if roi is not None:
        half, outer = len(roi) // 2, [0.0, 0.0]
        roi = numpy.array([*outer, *roi[:half], 1.0, 1.0, *roi[half:]], "float32")
    elif is_old:
        roi = numpy.zeros(0, "float32")
    scales = numpy.zeros(0, "float32") if is_old else None
    return run_onnx(
        "Resize", x, roi, scales, numpy.array([*x.shape[:2], *size]), opset=11 if is_old else 19, **attributes
    )[0]


@draws(15)
@given(st.data())
def test_interpolation_as_onnxruntime(data: Any) -> None:
    sizes = data.draw(st.tuples(*[st.integers(1, 6)] * 4), label="sizes")
    options: dict[str, Any] = {
        "method": data.draw(st.sampled_from(("linear", "cubic"))),
        "coordinate_transformation_mode": data.draw(st.sampled_from([mode for mode in MODES if mode[:3] != "tf_"])),
    }
    if options["method"] == "cubic":
        options["cubic_alpha"] = data.draw(st.sampled_from((-0.75, -0.5)))
        options["cubic_exclude"] = data.draw(st.integers(0, 1))
    x = random((2, 3, *sizes[:2]))
    close(ran("resize2d", x, size=sizes[2:], **options), resized(x, sizes[2:], **options))


ROIS = [(0.0, 0.0, 1.0, 1.0), (0.25, 0.5, 0.75, 1.0), (-0.3, 0.1, 0.6, 1.4), (0.9, 0.8, 0.2, 0.1)]


@pytest.mark.parametrize("roi", ROIS)
@pytest.mark.parametrize("method", METHODS)
def test_cropping(method: str, roi: Any) -> None:
    x = random((1, 2, 5, 7))
    options = {"method": method, "coordinate_transformation_mode": "tf_crop_and_resize", "roi": roi}
    for size in [(4, 6), (1, 9)]:
        rounding = {"rounding_method": "round_prefer_floor"} if method == "nearest_neighbor" else {}
        actual = ran("resize2d", x, size=size, extrapolation_value=9.5, **options, **rounding)
        close(actual, resized(x, size, extrapolation_value=9.5, **options, **rounding))
        assert (actual == 9.5).any() == (roi == ROIS[2])


def coordinate(mode: str, x: int, size: int, count: int) -> Fraction:
    """Return the coordinate by ONNX's definitions."""
    scale = Fraction(count, size)
    if mode == "align_corners":
        return Fraction(x * (size - 1), count - 1) if count > 1 else Fraction(0)
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_half_pixel_for_nn":
        return (x + Fraction(1, 2)) / scale
    if mode == "pytorch_half_pixel" and count == 1:
        return Fraction(0)
    return (x + Fraction(1, 2)) / scale - Fraction(1, 2)


ROUNDINGS = {
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda x: math.ceil(x - Fraction(1, 2)),
    "round_prefer_ceil": lambda x: math.floor(x + Fraction(1, 2)),
}


def places(mode: str, rounding: str, size: int, count: int) -> list[int]:
    chosen = ROUNDINGS[rounding or ("round" if mode == "align_corners" else "floor")]
    return [min(max(chosen(coordinate(mode, x, size, count)), 0), size - 1) for x in range(count)]


EXACT = [
    *((mode, "round_prefer_floor") for mode in MODES if mode != "tf_crop_and_resize"),
    *(("half_pixel", rounding) for rounding in ROUNDINGS),
    *((mode, "") for mode in ("align_corners", "asymmetric")),
]


@pytest.mark.parametrize(("mode", "rounding"), EXACT)
def test_nearest_is_exact(mode: str, rounding: str) -> None:
    options = {"method": "nearest_neighbor", "coordinate_transformation_mode": mode, "rounding_method": rounding}
    for height, width in [(3, 7), (6, 49), (10, 21), (1, 98), (14, 1), (30, 50)]:
        x = numpy.arange(height * width, dtype="int32").reshape(1, 1, height, width)
        actual = ran("resize2d", x, size=(14, 49), **options, symbols=SYMBOLS[2])
        expected = x[:, :, places(mode, rounding, height, 14)][..., places(mode, rounding, width, 49)]
        numpy.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("rounding", ["", *ROUNDINGS])
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "tf_crop_and_resize"])
def test_several_times_as_large(mode: str, rounding: str) -> None:
    """Resize images of known sizes: each element is repeated in its place, or as the rounding says."""
    options = {"method": "nearest_neighbor", "coordinate_transformation_mode": mode, "rounding_method": rounding}
    x = numpy.arange(2 * 3 * 5 * 4, dtype="int32").reshape(2, 3, 5, 4)
    for height, width in [(10, 12), (5, 8), (15, 4)]:
        expected = x[:, :, places(mode, rounding, 5, height)][..., places(mode, rounding, 4, width)]
        numpy.testing.assert_array_equal(ran("resize2d", x, size=(height, width), **options), expected)


@pytest.mark.parametrize(("mode", "rounding", "is_copied"), [("asymmetric", "floor", True), ("half_pixel", "", False),
                                                             ("half_pixel", "round_prefer_ceil", True)])  # fmt: skip
def test_copies_need_no_coordinates(mode: str, rounding: str, is_copied: bool) -> None:
    settings = {"method": "nearest_neighbor", "coordinate_transformation_mode": mode, "rounding_method": rounding}
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 2, 5, 4))]) as f:
        f.returns(relax.image.resize2d(*f, size=(10, 12), **settings))
    rx.Pipeline(["relax-legalize-ops"]).run(module)
    assert ("arith.mulf" not in str(module) and "arith.divf" not in str(module)) == is_copied


def test_copies_are_converted_and_keep_their_layout() -> None:
    x = random((1, 4, 5, 3)) * 9
    options = {"layout": "NHWC", "coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"}
    actual = ran("resize2d", x, size=(8, 15), method="nearest_neighbor", out_dtype="float16", **options)
    expected = x.repeat(2, 1).repeat(3, 2).astype("float16")
    numpy.testing.assert_array_equal(actual, expected, strict=True)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64"])
@pytest.mark.parametrize("width", [24, 22, 9])
def test_copies_side_by_side(width: int, dtype: str) -> None:
    """Copy elements side by side, with rows of whole and partial vectors."""
    x = (random((2, 3, 4, width)) * 99).astype(dtype)
    options = {"coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"}
    for times in (2, 3, 4):
        actual = ran("resize2d", x, size=(8, width * times), method="nearest_neighbor", **options)
        numpy.testing.assert_array_equal(actual, x.repeat(2, 2).repeat(times, 3), strict=True)


def test_one_element_wide() -> None:
    for mode in MODES[:5]:
        options = {"coordinate_transformation_mode": mode, "rounding_method": "round_prefer_floor"}
        x = numpy.arange(10).reshape(1, 1, 1, 10)
        actual = ran("resize2d", x, size=(1, 1), method="nearest_neighbor", **options)
        assert actual.item() == places(mode, "round_prefer_floor", 10, 1)[0]


@pytest.mark.parametrize("rounding", ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"))
def test_nearest_as_onnxruntime(rounding: str) -> None:
    for mode in ("half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"):
        options = {"method": "nearest_neighbor", "coordinate_transformation_mode": mode, "rounding_method": rounding}
        x = random((1, 2, 4, 8))
        close(ran("resize2d", x, size=(8, 2), **options), resized(x, (8, 2), **options))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float64"))
def test_resizing_other_floats(dtype: str, method: str) -> None:
    x = random((2, 3, 4, 5), dtype)
    actual = ran("resize2d", x, size=(8, 3), method=method, rounding_method="round_prefer_floor")
    assert actual.dtype == x.dtype
    close(actual, resized(x.astype("float32"), (8, 3), method=method), dtype)


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int16", "uint32", "int64"))
def test_resizing_integers(dtype: str) -> None:
    limits = numpy.iinfo(dtype)
    x = numpy.random.default_rng(1).integers(limits.min, limits.max, (1, 2, 4, 5), dtype, endpoint=True)
    options = {"coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"}
    nearest = ran("resize2d", x, size=(8, 10), method="nearest_neighbor", **options)
    numpy.testing.assert_array_equal(nearest, x.repeat(2, 2).repeat(2, 3))
    # Overshooting ends at the limits, fractions go.
    small = numpy.where(x > limits.max // 2, min(limits.max, 1000), max(limits.min, -1000)).astype(dtype)
    expected = resized(small.astype("float32"), (7, 9), method="cubic")
    actual = ran("resize2d", small, size=(7, 9), method="cubic")
    expected = numpy.trunc(numpy.clip(expected, limits.min, limits.max))
    numpy.testing.assert_allclose(actual.astype("float64"), expected, atol=1)
    assert (actual == expected).mean() > 0.95


def test_out_dtype() -> None:
    x = numpy.array([[0, 100], [200, 255]], "uint8").reshape(1, 1, 2, 2)
    actual = ran("resize2d", x, size=(3, 3), out_dtype="float32")
    close(actual, resized(x.astype("float32"), (3, 3), method="linear"))
    halves = random((1, 1, 2, 2)) * 300
    as_bytes = ran("resize2d", halves, size=(2, 2), out_dtype="uint8", method="nearest_neighbor")
    numpy.testing.assert_array_equal(as_bytes, numpy.trunc(numpy.clip(halves, 0, 255)))


@pytest.mark.parametrize("layout", ("NHWC", "NCHW2c", "NHCW3n", "NCHW3h"))
@pytest.mark.parametrize("method", ("nearest_neighbor", "linear"))
def test_layouts(method: str, layout: str) -> None:
    x = random((3, 4, 6, 5))
    expected = resized(x, (9, 4), method=method)
    actual = ran(
        "resize2d", in_layout(x, layout), size=(9, 4), method=method, layout=layout,
        rounding_method="round_prefer_floor",
    )  # fmt: skip
    close(actual, in_layout(expected, layout))


@pytest.mark.parametrize("method", METHODS)
def test_volumes(method: str) -> None:
    x = random((2, 3, 3, 4, 5))
    size = (5, 3, 7)
    options = {"method": method, **({"rounding_method": "round_prefer_floor"} if method[0] == "n" else {})}
    actual = ran("resize3d", x, size=size, **options)
    # Dimension by dimension: onnxruntime has no cubic interpolation of volumes.
    planes = resized(x.reshape(-1, 1, 4, 5), size[1:], **options).reshape(-1, 1, 3, 21)
    close(actual, resized(planes, (5, 21), **options).reshape(2, 3, *size))
    if method != "cubic":
        close(actual, resized(x, size, **options))


@pytest.mark.parametrize("method", METHODS)
def test_resizing_with_sizes_known_at_run_time(method: str) -> None:
    options = {"method": method, **({"rounding_method": "round_prefer_floor"} if method[0] == "n" else {})}
    for shape in [(1, 2, 4, 6), (2, 1, 1, 3), (0, 2, 5, 5), (1, 1, 9, 2)]:
        x = random(shape)
        actual = ran("resize2d", x, ("2*h", "w + 3"), **options, symbols=SYMBOLS[2])
        size = (shape[2] * 2, shape[3] + 3)
        assert actual.shape == (*shape[:2], *size)
        if x.size:
            close(actual, resized(x, size, **options))


def test_sizes_that_types_leave_open() -> None:
    x = random((1, 2, 4, 6))
    actual = ran("resize2d", x, size=(3, 9), symbols=[(None, 2, None, "w")])
    close(actual, resized(x, (3, 9), method="linear"))


def test_blocks_of_another_size() -> None:
    with pytest.raises(ValueError, match="blocks of C in layout NCHW4c: sizes 3 and 4 differ"):
        ran("resize2d", random((1, 1, 4, 4, 3)), size=(2, 2), layout="NCHW4c", symbols=[("n", "c", "h", "w", "b")])


def test_images_without_elements() -> None:
    with pytest.raises(ValueError, match="the image is empty: a size is 0"):
        ran("resize2d", random((1, 1, 0, 3)), size=(4, 4), symbols=SYMBOLS[2])
    with pytest.raises(rx.RelaxError, match="the image is empty"):
        ran("resize2d", random((1, 1, 0, 3)), size=(4, 4))
    assert ran("resize2d", random((1, 1, 0, 3)), size=(0, 4), symbols=SYMBOLS[2]).shape == (1, 1, 0, 4)
    with pytest.raises(ValueError, match="the image is empty: a size is 0"):
        ran("grid_sample", random((1, 1, 3, 0)), random((1, 2, 2, 2)), symbols=[*SYMBOLS[2], (1, 2, 2, 2)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bound", (float("nan"), float("inf"), -1e300))
def test_regions_that_are_nowhere(bound: float, method: str) -> None:
    options = {"method": method, "coordinate_transformation_mode": "tf_crop_and_resize"}
    actual = ran("resize2d", random((1, 1, 3, 3)), size=(2, 2), roi=(bound, 0.0, bound, 1.0), **options)
    assert (actual == 0).all()


# ---- grid_sample ----
def sampled(x: Any, grid: Any, method: str, padding_mode: str, align_corners: bool) -> Any:
    """Return onnxruntime's result, for which the grid has the coordinates last."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(method, method)
    last = numpy.moveaxis(grid, 1, -1).copy()
    options = {"mode": mode, "padding_mode": padding_mode, "align_corners": int(align_corners)}
    return run_onnx("GridSample", x, last, **options)[0]


SAMPLINGS = [
    (method, padding, align)
    for method in ("bilinear", "nearest", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for align in (False, True)
]


@pytest.mark.parametrize(("method", "padding", "align"), SAMPLINGS)
def test_sampling_images(method: str, padding: str, align: bool) -> None:
    options = {"method": method, "padding_mode": padding, "align_corners": align}
    for shape, out in [((2, 3, 4, 5), (3, 7)), ((1, 1, 1, 6), (5, 2)), ((1, 2, 8, 2), (1, 1)), ((2, 1, 3, 3), (0, 4))]:
        x = random(shape)
        grid = numpy.random.default_rng(3).uniform(-2.6, 2.6, (shape[0], 2, *out)).astype("float32")
        actual = ran("grid_sample", x, grid, **options, symbols=[*SYMBOLS[2], ("n", 2, "p", "q")])
        # With one row and corners aligned there is nothing to mirror at; onnxruntime divides by zero.
        if grid.size and not (padding == "reflection" and align and 1 in shape[2:]):
            close(actual, sampled(x, grid, **options))
        assert numpy.isfinite(actual).all()
        assert actual.shape == (*shape[:2], *out)


@pytest.mark.parametrize(("method", "padding", "align"), [each for each in SAMPLINGS if each[0] != "bicubic"])
def test_sampling_volumes(method: str, padding: str, align: bool) -> None:
    x = random((2, 3, 3, 4, 5))
    grid = numpy.random.default_rng(4).uniform(-1.6, 1.6, (2, 3, 4, 2, 3)).astype("float32")
    options = {"method": method, "padding_mode": padding, "align_corners": align}
    close(ran("grid_sample", x, grid, **options, layout="NCDHW"), sampled(x, grid, **options))


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float64"))
def test_sampling_other_floats(dtype: str) -> None:
    grid = numpy.random.default_rng(5).uniform(-1.2, 1.2, (2, 2, 3, 4)).astype("float32")
    for method in ("bilinear", "bicubic"):
        x = random((2, 3, 4, 5), dtype)
        expected = sampled(x.astype("float32"), grid, method, "zeros", False)
        close(ran("grid_sample", x, grid, method=method), expected, dtype)
    wide = grid.astype("float64")
    close(
        ran("grid_sample", random((2, 3, 4, 5)), wide), sampled(random((2, 3, 4, 5)), grid, "bilinear", "zeros", False)
    )


@pytest.mark.parametrize(("method", "padding", "align"), SAMPLINGS)
def test_positions_that_are_nowhere(method: str, padding: str, align: bool) -> None:
    """Read nothing outside of the image, and pad alike at any distance."""
    x = numpy.full((1, 1, 3, 4), 2, "float32")
    far = [numpy.nan, numpy.inf, -numpy.inf, 1e30, -1e30, 3e38, 1e10]
    grid = numpy.array([far, far[::-1]], "float32").reshape(1, 2, 1, -1)
    actual = ran("grid_sample", x, grid, method=method, padding_mode=padding, align_corners=align)[0, 0, 0]
    known = actual[1:-1]
    if padding == "zeros":
        assert (known == 0).all()
    if padding == "border":
        numpy.testing.assert_allclose(known, 2, rtol=1e-6)


@pytest.mark.parametrize("layout", ("NHWC", "NCHW2c", "CNHW2h", "HWNC", "NHCW"))
def test_sampling_in_layouts(layout: str) -> None:
    x = random((2, 4, 6, 5))
    grid = numpy.random.default_rng(6).uniform(-1.2, 1.2, (2, 2, 4, 7)).astype("float32")
    actual = ran("grid_sample", in_layout(x, layout), grid, layout=layout)
    close(actual, in_layout(sampled(x, grid, "bilinear", "zeros", False), layout))


def test_grids_that_do_not_fit() -> None:
    symbols = [("n", 1, 3, 3), ("m", "k", 2, 2)]
    with pytest.raises(ValueError, match="batches of data and grid: sizes 1 and 2 differ"):
        ran("grid_sample", random((1, 1, 3, 3)), random((2, 2, 2, 2)), symbols=symbols)
    with pytest.raises(ValueError, match="coordinates of the grid: sizes 3 and 2 differ"):
        ran("grid_sample", random((1, 1, 3, 3)), random((1, 3, 2, 2)), symbols=symbols)


# ---- affine_grid ----
@pytest.mark.parametrize("align", (False, True))
@pytest.mark.parametrize("size", [(4, 5), (2, 7), (3, 2, 4)])
def test_affine_grid(size: Any, align: bool) -> None:
    count = len(size)
    x = random((2, count, count + 1))
    expected = run_onnx("AffineGrid", x, numpy.array([2, 1, *size]), align_corners=int(align))[0]
    actual = ran("affine_grid", x, size=size, align_corners=align)
    close(actual, numpy.moveaxis(expected, -1, 1))
    dynamic = ran("affine_grid", x, size=size, align_corners=align, symbols=[("n", count, count + 1)])
    numpy.testing.assert_array_equal(dynamic, actual)


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float64"))
def test_affine_grids_of_other_floats(dtype: str) -> None:
    x = random((2, 2, 3), dtype)
    expected = run_onnx("AffineGrid", x.astype("float32"), numpy.array([2, 1, 3, 4]))[0]
    actual = ran("affine_grid", x, size=(3, 4), align_corners=False)
    assert actual.dtype == x.dtype
    close(actual, numpy.moveaxis(expected, -1, 1), dtype)


def test_a_single_place_is_in_the_middle() -> None:
    identity = numpy.array([[[1, 0, 0], [0, 1, 0]]], "float32")
    for align in (False, True):
        assert ran("affine_grid", identity, size=(1, 1), align_corners=align).ravel().tolist() == [0, 0]
    assert ran("affine_grid", identity, size=(1, 2)).ravel().tolist() == [-1, 1, 0, 0]


def test_an_identity_grid_samples_the_image() -> None:
    x = random((2, 3, 4, 5))
    matrices = numpy.tile(numpy.eye(2, 3, dtype="float32"), (2, 1, 1))
    for align in (False, True):
        grid = ran("affine_grid", matrices, size=(4, 5), align_corners=align)
        close(ran("grid_sample", x, grid, align_corners=align), x)
