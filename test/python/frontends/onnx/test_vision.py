# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection, regions, deformable convolutions and sums of blocks."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared, one_node
from fixed_inputs import with_constants, with_one_input
from node_suite import Case, cases, check

rng = numpy.random.default_rng(5)


def real(*sizes: int) -> Any:
    return rng.standard_normal(sizes).astype("float32")


def compare(
    op: str, constants: dict[str, Any], opset: int, symbolic: bool = True, /, x: Any = None, **attributes: Any
) -> None:
    """Compare with onnxruntime. `x` are the dynamic inputs."""
    inputs = {f"x{index}": value for index, value in enumerate(x)}
    model = one_node(op, {**inputs, **constants}, opset=opset, symbolic=symbolic, **attributes)
    given = {name: value for name, value in constants.items() if value is not None}
    Compared(with_constants(model, given), rtol=1e-3)(*x)


_FAMILY = cases("NonMaxSuppression", "RoiAlign", "DeformConv", "Col2Im")


@pytest.mark.parametrize("case", _FAMILY, ids=lambda case: case.name)
def test_node_suite(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases("Col2Im"), ids=lambda case: case.name)
def test_node_suite_with_shapes_as_constants(case: Case) -> None:
    check(with_one_input(case))


def test_boxes() -> None:
    corners = numpy.ascontiguousarray(numpy.sort(rng.random((2, 9, 2, 2)), 2).reshape(2, 9, 4), "float32")
    scores = rng.random((2, 3, 9)).astype("float32")
    most, half = {"m": numpy.array(4)}, numpy.array([0.3], "float32")
    compare("NonMaxSuppression", {**most, "i": half, "s": half}, 11, x=(corners, scores))
    compare("NonMaxSuppression", most, 11, x=(corners, scores), center_point_box=1)
    some_negative = corners * numpy.where(rng.random((2, 9, 4)) < [0, 0, 0.3, 0.3], -1, 1).astype("float32")
    compare("NonMaxSuppression", most, 11, x=(some_negative, scores), center_point_box=1)
    compare("NonMaxSuppression", {}, 11, x=(corners, scores))


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ("half_pixel", "output_half_pixel"))
def test_regions(coordinates: str) -> None:
    corners = numpy.sort(rng.random((4, 2, 2)) * 9, 1).reshape(4, 4).astype("float32")
    images = numpy.array([0, 1, 1, 0])
    size = {"output_height": 3, "output_width": 4}
    for samples in (0, 2):
        settings = {**size, "coordinate_transformation_mode": coordinates, "sampling_ratio": samples}
        compare("RoiAlign", {}, 16, x=(real(2, 3, 10, 9), corners, images), spatial_scale=0.7, **settings)
        compare("RoiAlign", {}, 16, x=(real(2, 3, 10, 9), corners, images), mode="max", **settings)
    compare("RoiAlign", {}, 10, x=(real(2, 3, 10, 9), corners, images), sampling_ratio=2, **size)
    rows = numpy.concatenate([images[:, None], corners.round()], 1).astype("float32")
    compare("MaxRoiPool", {}, 16, x=(real(2, 3, 10, 9), rows), pooled_shape=[3, 4], spatial_scale=0.5)


def test_moved_taps_in_groups() -> None:
    constants = {"w": real(6, 2, 3, 2)}
    inputs = (real(2, 4, 6, 7), constants["w"], real(2, 24, 3, 7), real(6), rng.random((2, 12, 3, 7)).astype("float32"))
    settings = {"group": 2, "offset_group": 2, "pads": [1, 0, 0, 1], "strides": [2, 1]}
    compare("DeformConv", {}, 19, False, x=inputs, **settings)


@pytest.mark.slow
def test_blocks_added_up() -> None:
    for image, block in (([6, 5], [2, 2]), ([5, 5], [2, 2])):
        constants = {"i": numpy.array(image), "b": numpy.array(block)}
        pads = [0, 0, 6 - image[0], 0]
        x, settings = real(2, 12, 10), {"strides": [1, 2], "pads": pads}
        compare("Col2Im", constants, 18, False, x=(x,), **settings)
        model = one_node("Col2Im", {"x": x, **constants}, opset=18, symbolic=False, **settings)
        Compared(model, shapes={"x": (None, None, None)})(x, *constants.values())
