# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection, regions, moved convolutions and Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared, one_node
from fixed_inputs import with_constants, with_one_input
from node_suite import Case, cases, check

import relax_mlir as rx

rng = numpy.random.default_rng(5)


def real(*sizes: int) -> Any:
    return rng.standard_normal(sizes).astype("float32")


def compare(
    op: str, constants: dict[str, Any], opset: int, symbolic: bool = True, /, x: Any = None, **attributes: Any
) -> None:
    """`x` are the inputs that the run tells."""
    inputs = {f"x{index}": value for index, value in enumerate(x)}
    model = one_node(op, {**inputs, **constants}, opset=opset, symbolic=symbolic, **attributes)
    given = {name: value for name, value in constants.items() if value is not None}
    Compared(with_constants(model, given), rtol=1e-3)(*x)


@pytest.mark.parametrize("case", cases("NonMaxSuppression", "RoiAlign", "DeformConv"), ids=lambda case: case.name)
def test_node_suite(case: Case) -> None:
    if case.name == "test_roialign_mode_max":
        with pytest.raises(rx.RelaxError, match="only 'avg' is there"):
            check(case)
    else:
        check(case)


@pytest.mark.parametrize("case", cases("Col2Im", "DFT", "STFT"), ids=lambda case: case.name)
def test_node_suite_with_sizes_and_axes_as_constants(case: Case) -> None:
    check(with_one_input(case)._replace(atol=1e-5))


def test_mel_weights_are_a_constant() -> None:
    (case,) = cases("MelWeightMatrix")
    names = [each.name for each in case.model.graph.input]
    check(case._replace(model=with_constants(case.model, dict(zip(names, case.inputs, strict=True))), inputs=[]))


def test_boxes() -> None:
    corners = numpy.ascontiguousarray(numpy.sort(rng.random((2, 9, 2, 2)), 2).reshape(2, 9, 4), "float32")
    scores = rng.random((2, 3, 9)).astype("float32")
    most, half = {"m": numpy.array(4)}, numpy.array([0.3], "float32")
    compare("NonMaxSuppression", {**most, "i": half, "s": half}, 11, x=(corners, scores))
    compare("NonMaxSuppression", most, 11, x=(corners, scores), center_point_box=1)
    compare("NonMaxSuppression", {}, 11, x=(corners, scores))


@pytest.mark.parametrize("coordinates", ("half_pixel", "output_half_pixel"))
def test_regions(coordinates: str) -> None:
    corners = numpy.sort(rng.random((4, 2, 2)) * 9, 1).reshape(4, 4).astype("float32")
    images = numpy.array([0, 1, 1, 0])
    size = {"output_height": 3, "output_width": 4}
    for samples in (0, 2):
        settings = {**size, "coordinate_transformation_mode": coordinates, "sampling_ratio": samples}
        compare("RoiAlign", {}, 16, x=(real(2, 3, 10, 9), corners, images), spatial_scale=0.7, **settings)
    compare("RoiAlign", {}, 10, x=(real(2, 3, 10, 9), corners, images), sampling_ratio=2, **size)
    rows = numpy.concatenate([images[:, None], corners.round()], 1).astype("float32")
    compare("MaxRoiPool", {}, 16, x=(real(2, 3, 10, 9), rows), pooled_shape=[3, 4], spatial_scale=0.5)


def test_moved_taps_in_groups() -> None:
    constants = {"w": real(6, 2, 3, 2)}
    inputs = (real(2, 4, 6, 7), constants["w"], real(2, 24, 3, 7), real(6), rng.random((2, 12, 3, 7)).astype("float32"))
    settings = {"group": 2, "offset_group": 2, "pads": [1, 0, 0, 1], "strides": [2, 1]}
    compare("DeformConv", {}, 19, False, x=inputs, **settings)


def test_blocks_added_up() -> None:
    for image, block in (([6, 5], [2, 2]), ([5, 5], [2, 2])):
        constants = {"i": numpy.array(image), "b": numpy.array(block)}
        pads = [0, 0, 6 - image[0], 0]
        compare("Col2Im", constants, 18, False, x=(real(2, 12, 10),), strides=[1, 2], pads=pads)


def test_fourier_transforms() -> None:
    for length in (8, 12):
        constants = {"n": numpy.array(length), "axis": numpy.array(1)}
        compare("DFT", constants, 20, False, x=(real(2, 10, 3, 2),))
    compare("DFT", {}, 17, False, x=(real(2, 9, 1),), axis=1, onesided=1)
    compare("DFT", {}, 17, False, x=(real(2, 10, 2),), axis=1, inverse=1)
    constants = {"step": numpy.array(4), "w": None, "length": numpy.array(15)}
    compare("STFT", constants, 17, False, x=(real(2, 40, 2),), onesided=0)
    constants = {"step": numpy.array(4), "w": real(16)}
    compare("STFT", constants, 17, False, x=(real(2, 40, 1),))
    with pytest.raises(rx.RelaxError, match="the signal's length must be known"):
        rx.from_onnx(one_node("DFT", {"x": real(2, 9, 1)}, opset=17))
