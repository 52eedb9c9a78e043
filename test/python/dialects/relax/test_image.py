# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Image operators: inferred types against numpy and scipy, layouts, symbolic sizes, the builder's refusals."""

from __future__ import annotations

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from relax_mlir.dialects.core.infos import ShapeInfo
from scipy import ndimage
from shorthand import refusal, tensor, unranked

SIZES = st.integers(1, 5)
FLOATS = st.sampled_from(["f16", "bf16", "f32", "f64"])
SPATIAL = st.sampled_from([2, 3])


def laid_out(sizes, layout):
    """Return the shape of a tensor [batch, channels, spatial...] in another layout."""
    plain = "NCDHW" if len(sizes) == 5 else "NCHW"
    return numpy.einsum(f"{plain}->{layout}", numpy.zeros(sizes)).shape


@st.composite
def images(draw, spatial=SPATIAL):
    """Draw the number of spatial dimensions, sizes [batch, channels, spatial...] and a layout."""
    count = draw(spatial)
    letters = "NCDHW" if count == 3 else "NCHW"
    sizes = draw(st.tuples(*[SIZES] * (count + 2)))
    return count, sizes, "".join(draw(st.permutations(letters)))


@draws(50)
@given(images(), st.data(), FLOATS, st.sampled_from([None, "float16", "uint8"]))
def test_resize_changes_the_spatial_sizes(image, data, dtype, out_dtype):
    spatial, sizes, layout = image
    target = data.draw(st.tuples(*[SIZES] * spatial))
    expected = laid_out((*sizes[:2], *target), layout)
    result = {None: dtype, "float16": "f16", "uint8": "ui8"}[out_dtype]
    operand = tensor(*laid_out(sizes, layout), dtype=dtype)
    assert infer(f"relax.image.resize{spatial}d", operand, target, layout=layout, out_dtype=out_dtype) == [
        tensor(*expected, dtype=result)
    ]


@draws(50)
@given(images(), st.data(), FLOATS)
def test_grid_sample_is_shaped_as_scipy_samples(image, data, dtype):
    spatial, sizes, layout = image
    target = data.draw(st.tuples(*[SIZES] * spatial))
    array, grid = numpy.zeros(sizes), numpy.zeros((sizes[0], spatial, *target))
    sampled = numpy.stack(
        [
            numpy.stack([ndimage.map_coordinates(channel, positions, order=1) for channel in one])
            for one, positions in zip(array, grid, strict=True)
        ]
    )
    operands = tensor(*laid_out(sizes, layout), dtype=dtype), tensor(*grid.shape)
    expected = [tensor(*laid_out(sampled.shape, layout), dtype=dtype)]
    assert infer("relax.image.grid_sample", *operands, layout=layout) == expected


@draws(30)
@given(SPATIAL, st.data(), SIZES, FLOATS)
def test_affine_grid_is_shaped_as_numpy_multiplies(spatial, data, batch, dtype):
    target = data.draw(st.tuples(*[SIZES] * spatial))
    positions = numpy.concatenate([numpy.indices(target), numpy.ones((1, *target))])
    matrices = numpy.zeros((batch, spatial, spatial + 1))
    expected = numpy.tensordot(matrices, positions, axes=1).shape
    operand = tensor(*matrices.shape, dtype=dtype)
    assert infer("relax.image.affine_grid", operand, target) == [tensor(*expected, dtype=dtype)]


def test_symbolic_sizes_stay():
    assert infer("relax.image.resize2d", tensor("n", 3, "h", "w"), ("2*h", "w//2")) == [tensor("n", 3, "2*h", "w//2")]
    assert infer("relax.image.grid_sample", tensor(None, "h", "w", 3), tensor("n", 2, 7, "k"), layout="NHWC") == [
        tensor("n", 7, "k", 3)
    ]
    assert infer("relax.image.affine_grid", tensor("n", 3, 4), ("d", 4, 5)) == [tensor("n", 3, "d", 4, 5)]


@pytest.mark.parametrize(("size", "edge"), [(4, 4), ([4], 4), ("n", "n"), (("n",), "n")])
def test_a_single_size_stands_for_all(size, edge):
    assert infer("relax.image.resize2d", tensor(1, 3, 8, 8), size) == [tensor(1, 3, edge, edge)]
    assert infer("relax.image.resize3d", tensor(1, 3, 8, 8, 8), size) == [tensor(1, 3, edge, edge, edge)]
    assert infer("relax.image.affine_grid", tensor(1, 2, 3), size) == [tensor(1, 2, edge, edge)]


def test_blocked_channels_stay_blocked():
    assert infer("relax.image.resize2d", tensor(1, 2, 6, 6, 4), (3, 3), layout="NCHW4c") == [tensor(1, 2, 3, 3, 4)]


def test_unknown_sizes_of_images_are_propagated():
    assert infer("relax.image.resize2d", unranked(), (4, 4)) == [tensor(None, None, 4, 4)]
    assert infer("relax.image.resize3d", tensor(1, 2, 3, 4, 5), ShapeInfo(None)) == [tensor(1, 2, None, None, None)]
    assert infer("relax.image.resize2d", tensor(1, 2, 3, 4), ShapeInfo((None, 8))) == [tensor(1, 2, None, 8)]
    assert infer("relax.image.grid_sample", tensor(1, 3, 8, 8), unranked()) == [tensor(1, 3, None, None)]
    assert infer("relax.image.grid_sample", unranked(), tensor(1, 2, 4, 5)) == [tensor(1, None, 4, 5)]
    # The matrices tell how many spatial dimensions there are, the size does, or nothing does.
    assert infer("relax.image.affine_grid", tensor(1, 2, None), ShapeInfo(None)) == [tensor(1, 2, None, None)]
    assert infer("relax.image.affine_grid", unranked(), (4, 5, 6)) == [tensor(None, 3, 4, 5, 6)]
    assert infer("relax.image.affine_grid", unranked(), ShapeInfo(None)) == [unranked()]


def test_attributes_are_kept():
    arguments = {
        "roi": (0.0, 0.0, 1.0, 1.0),
        "method": "cubic",
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "rounding_method": "",
        "cubic_alpha": -0.5,
        "cubic_exclude": 1,
        "extrapolation_value": 1.0,
    }
    assert infer("relax.image.resize2d", tensor(1, 3, 8, 8), (4, 4), **arguments) == [tensor(1, 3, 4, 4)]
    assert infer("relax.image.resize3d", tensor(1, 3, 8, 8, 8), (4, 4, 4), roi=0.5) == [tensor(1, 3, 4, 4, 4)]


@pytest.mark.parametrize("layout", ["NCH", "NCHWW", "NCHWX", "NCH4W", "", "NCHW4", "NCDHW"])
def test_a_layout_of_other_dimensions_is_refused(layout):
    assert f"attribute 'layout' ({layout})" in refusal(
        "relax.image.resize2d", tensor(1, 3, 8, 8), (4, 4), layout=layout
    )


def test_the_builder_names_what_is_wrong():
    data = tensor(1, 3, 8, 8)
    assert "operand 'size' (!relax.shape<[4, 4, 4]>) must have 2 entries" in refusal(
        "relax.image.resize2d", data, (4, 4, 4)
    )
    assert "did you mean 'nearest_neighbor'?" in refusal(
        "relax.image.resize2d", data, (4, 4), method="Nearest-Neighbor"
    )
    assert "must have size 2 in dimension 1 (coordinates), got 3" in refusal(
        "relax.image.grid_sample", data, tensor(1, 3, 4, 4)
    )
