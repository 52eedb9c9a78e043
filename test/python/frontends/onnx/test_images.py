# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images: resizing by scales and by sizes, known or not, and sampling."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared, one_node
from compiling import array
from fixed_inputs import with_constants, with_one_input
from node_suite import Case, cases, check
from onnx.reference import ReferenceEvaluator

import relax_mlir as rx

_COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric")
rng = numpy.random.default_rng(4)


def real(*sizes: int) -> Any:
    return rng.standard_normal(sizes).astype("float32")


def resize(
    x: Any,
    scales: Any = None,
    sizes: Any = None,
    symbolic: bool = True,
    fixed: bool = True,
    opset: int = 19,
    **attributes: Any,
) -> None:
    inputs = {"x": x, "roi": None, "scales": None if scales is None else numpy.array(scales, "float32")}
    if sizes is not None:
        inputs["sizes"] = numpy.array(sizes, "int64")
    model = one_node("Resize", inputs, opset=opset, symbolic=symbolic, **attributes)
    given = {name: value for name, value in inputs.items() if value is not None}
    if not fixed:
        Compared(model)(*given.values())
        return
    Compared(with_constants(model, {name: value for name, value in given.items() if name != "x"}))(x)


def _resizing() -> list[Case]:
    """Return cases of Resize.

    In the suite all inputs but the image come at run time. Here this holds for every third case, and the other cases
    have constants like published models.
    """
    found = cases("Resize")
    slow = ("cubic", "antialias")
    comes_late = [index % 3 == 0 and not any(each in case.name for each in slow) for index, case in enumerate(found)]
    return [case if late else with_one_input(case) for case, late in zip(found, comes_late, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("case", _resizing(), ids=lambda case: case.name)
def test_node_suite_of_resizing(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases("Upsample", "GridSample", "AffineGrid"), ids=lambda case: case.name)
def test_node_suite(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("mode, coordinates", list(itertools.product(("nearest", "linear", "cubic"), _COORDINATES)))
def test_coordinates(mode: str, coordinates: str) -> None:
    settings = {"mode": mode, "coordinate_transformation_mode": coordinates}
    resize(real(1, 2, 5, 6), [1, 1, 2, 3], **settings)
    if coordinates != "align_corners":  # of a scale that is not the ratio of sizes runtimes disagree with ONNX
        resize(real(1, 2, 5, 6), [1, 1, 0.5, 1.5], symbolic=False, nearest_mode="floor", **settings)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_corners_of_lengths_that_are_fractions(mode: str, symbolic: bool) -> None:
    """Align by scale times size like ONNX's reference, not by the number of elements."""
    x, scales = real(1, 2, 5, 7), numpy.array([1, 1, 1.5, 0.7], "float32")
    settings = {"mode": mode, "coordinate_transformation_mode": "align_corners"}
    model = one_node("Resize", {"x": x, "roi": None, "scales": scales}, opset=19, symbolic=symbolic, **settings)
    model = with_constants(model, {"scales": scales})
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    numpy.testing.assert_allclose(array(rx.compile(rx.from_onnx(model))["main"](x)), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("sizes", [[1, 2, 1, 1], [1, 2, 1, 3], [1, 2, 4, 1]])
def test_a_single_element_of_a_crop_is_its_middle(sizes: list[int], symbolic: bool) -> None:
    x, roi = real(1, 2, 5, 7), numpy.array([0, 0, 0.2, 0.1, 1, 1, 0.8, 0.7], "float32")
    inputs = {"x": x, "roi": roi, "scales": None, "sizes": numpy.array(sizes)}
    settings = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    model = with_constants(
        one_node("Resize", inputs, opset=19, symbolic=symbolic, **settings), {"roi": roi, "sizes": inputs["sizes"]}
    )
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    numpy.testing.assert_allclose(array(rx.compile(rx.from_onnx(model))["main"](x)), expected, rtol=1e-4, atol=1e-5)


def test_scales_of_symbolic_sizes() -> None:
    settings = {"mode": "linear"}
    resize(real(1, 2, 7, 6), [1, 1, 0.5, 0.5], **settings)
    resize(real(1, 2, 7, 6), [1, 1, 0.6, 0.5], **settings)
    resize(real(1, 2, 7, 6), [1, 1, 0.6, 0.5], fixed=False, **settings)
    resize(real(1, 2, 7), [1, 1, 1.7], **settings)
    resize(real(7, 6), [0.6, 1.7], mode="nearest")


def test_sizes_that_only_the_run_tells() -> None:
    resize(real(1, 2, 7, 6), sizes=[1, 2, 4, 11], mode="linear", symbolic=False, fixed=False)
    settings: dict[str, Any] = {"axes": [2, 3], "mode": "linear", "symbolic": False}
    resize(real(1, 2, 7, 6), sizes=[9, 4], keep_aspect_ratio_policy="not_larger", fixed=False, **settings)
    resize(real(1, 2, 7, 6), sizes=[9, 4], keep_aspect_ratio_policy="not_smaller", **settings)


def test_antialiasing() -> None:
    for mode, outside in itertools.product(("linear", "cubic"), (0, 1)):
        settings = {"mode": mode, "antialias": 1, "exclude_outside": outside if mode == "cubic" else 0}
        resize(real(1, 2, 17, 16), [1, 1, 0.3, 0.5], symbolic=False, **settings)


def test_antialiasing_with_many_weights_agrees() -> None:
    resize(real(1, 1, 4200, 3), sizes=[1, 1, 4100, 2], mode="linear", antialias=1, symbolic=False)


@pytest.mark.parametrize("antialias", [0, 1])
def test_results_without_elements(antialias: int) -> None:
    """Return empty results, which onnxruntime refuses but the standard allows."""
    x = real(1, 2, 4, 4)
    for more in ({"sizes": numpy.array([1, 2, 0, 2])}, {"scales": numpy.array([1, 1, 0.1, 0.5], "float32")}):
        inputs = {"x": x, "r": None, "s": more.get("scales"), "z": more.get("sizes")}
        model = one_node("Resize", inputs, opset=19, symbolic=False, mode="linear", antialias=antialias)
        constants = {"s" if name == "scales" else "z": value for name, value in more.items()}
        result = rx.compile(rx.from_onnx(with_constants(model, constants)))["main"](x)
        assert array(result).shape == (1, 2, 0, 2)


@pytest.mark.parametrize(
    "shape, name, given, settings, expected",
    [
        ((1, 1, 0, 4), "z", [1, 1, 3, 2], {}, "axis 2 of size 0 cannot be resized to 3"),
        ((1, 1, 4, 4), "z", [1, 1, -3, 2], {}, "axis 2 of size 4 cannot be resized to -3"),
        ((1, 1, 4, 4), "s", [1, 1, 0, 2], {}, "scales must be positive, got 1, 1, 0, 2"),
        ((1, 1, 4, 4), "s", [1, 1, math.nan, 2], {}, "scales must be positive, got 1, 1, nan, 2"),
        ((1, 1, 4, 4), "s", [1, 1, math.inf, 2], {}, "scales must be positive, got 1, 1, inf, 2"),
        ((1, 1, 0, 4), "z", [1, 1, 3, 2], {"keep_aspect_ratio_policy": "not_larger"}, "has no aspect ratio"),
        ((), "z", [3, 2], {"axes": [0, 1]}, "axis 0 is out of range for 0 dimensions"),
        ((1, 4), "z", [3, 2], {"axes": [0, 2]}, "axis 2 is out of range for 2 dimensions"),
    ],
)
def test_sizes_that_cannot_be(
    shape: tuple[int, ...], name: str, given: list[float], settings: dict[str, Any], expected: str
) -> None:
    constant = {name: numpy.array(given, "float32" if name == "s" else "int64")}
    inputs = {"x": real(*shape), "r": None, "s": None, "z": None, **constant}
    model = one_node("Resize", inputs, opset=19, symbolic=False, mode="linear", **settings)
    with pytest.raises(rx.RelaxError, match=expected):
        rx.from_onnx(with_constants(model, constant))


def test_antialiasing_with_scales_of_the_run() -> None:
    """Resize with scales above and below 1, from one compilation."""
    x, scales = real(1, 2, 17, 16), numpy.array([1, 1, 0.25, 0.5], "float32")
    inputs = {"x": x, "r": None, "s": scales}
    compared = Compared(one_node("Resize", inputs, opset=19, symbolic=False, mode="linear", antialias=1))
    for factors in (scales, numpy.array([1, 1, 2, 0.5], "float32")):
        compared(x, factors)


@pytest.mark.parametrize("outside", [0, 1])
def test_antialiasing_of_images_of_any_size(outside: int) -> None:
    inputs = {"x": real(1, 2, 17, 16), "r": None, "s": numpy.array([1, 1, 1, 0.4], "float32")}
    model = one_node("Resize", inputs, opset=19, mode="cubic", antialias=1, exclude_outside=outside)
    compared = Compared(with_constants(model, {"s": inputs["s"]}))
    for x in (inputs["x"], real(2, 1, 3, 9)):
        compared(x)


def test_first_versions() -> None:
    for scale, mode in itertools.product((2.0, 0.6), ("nearest", "linear")):
        scales = numpy.array([1, 1, scale, scale], "float32")
        model = one_node("Resize", {"x": real(1, 2, 4, 4), "s": scales}, opset=10, symbolic=False, mode=mode)
        Compared(with_constants(model, {"s": scales}))(real(1, 2, 4, 4))
    Compared(one_node("Upsample", {"x": real(1, 2, 4, 4)}, opset=7, scales=[1.0, 1.0, 2.0, 3.0], mode="linear"))(
        real(1, 2, 4, 4)
    )
    model = one_node("Upsample", {"x": real(1, 2, 2, 2)}, opset=1, height_scale=2.0, width_scale=1.0)
    x = real(1, 2, 2, 2)
    found = numpy.from_dlpack(rx.compile(rx.from_onnx(model))["main"](x))
    numpy.testing.assert_array_equal(found, x.repeat(2, 2))


def test_volumes_and_bytes() -> None:
    settings = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    resize(real(1, 2, 4, 5, 6), [1, 1, 2, 2, 2], **settings)
    resize(rng.integers(0, 256, (1, 2, 7, 6)).astype("uint8"), [1, 1, 2, 2], symbolic=False, mode="linear")


def test_grids_of_symbolic_images() -> None:
    for mode, padding in itertools.product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection")):
        inputs = {"x": real(2, 3, 5, 6), "grid": real(2, 4, 4, 2)}
        settings = {"mode": mode, "padding_mode": padding, "align_corners": 1}
        Compared(one_node("GridSample", inputs, opset=20, **settings), rtol=1e-3)(*inputs.values())
    for corners, (theta, sizes) in enumerate(((real(2, 2, 3), [2, 3, 4, 5]), (real(2, 3, 4), [2, 3, 4, 5, 3]))):
        inputs = {"theta": theta, "size": numpy.array(sizes)}
        Compared(one_node("AffineGrid", inputs, opset=20, align_corners=corners, symbolic=False))(*inputs.values())


def test_refusals() -> None:
    inputs = {"x": real(1, 1, 2, 2), "roi": real(8), "scales": real(4)}
    model = one_node("Resize", inputs, coordinate_transformation_mode="tf_crop_and_resize", symbolic=False)
    with pytest.raises(rx.RelaxError, match="with tf_crop_and_resize give 'sizes'"):
        rx.from_onnx(model)
    with pytest.raises(rx.RelaxError, match="either input 'scales' or input 'sizes'"):
        rx.from_onnx(one_node("Resize", {"x": real(1, 1, 2, 2)}))
    with pytest.raises(rx.RelaxError, match="decoded before a model runs"):
        rx.from_onnx(one_node("ImageDecoder", {"x": numpy.zeros(3, "uint8")}, opset=20))
