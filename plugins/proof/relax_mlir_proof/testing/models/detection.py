# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection models, in which the number of boxes is known only at run time."""

from __future__ import annotations

import numpy
from relax_mlir.bindings.ir import Value
from relax_mlir.dialects import relax

from ..core.networks import Weights, model

_PLACES, _CLASSES = 16, 3


@model("detector", "1,3,8,8:f32")
def detector(w: Weights, x: Value) -> tuple[Value, ...]:
    """A head for boxes and classes over a grid, and the boxes left after suppression."""
    x = relax.nn.relu(relax.nn.conv2d(x, w(8, 3, 3, 3), strides=2, padding=1))
    maps = relax.nn.conv2d(x, w(4 + _CLASSES, 8, 1, 1))
    places = relax.permute_dims(relax.reshape(maps, (1, 4 + _CLASSES, _PLACES)), (0, 2, 1))
    offsets, scores = relax.split(places, [4], axis=2)
    rows, columns = numpy.divmod(numpy.arange(_PLACES), 4)
    centers = relax.const(numpy.stack([rows, columns], 1).astype("float32"))
    at, sizes = relax.split(relax.sigmoid(offsets), 2, axis=2)
    at, half = relax.add(at, centers), relax.multiply(sizes, relax.const(1.5))
    boxes = relax.concat([relax.subtract(at, half), relax.add(at, half)], axis=2)
    scores = relax.permute_dims(relax.sigmoid(scores), (0, 2, 1))
    limits = (
        relax.const(numpy.array([3], "int64")),
        *(relax.const(numpy.array([each], "float32")) for each in (0.4, 0.5)),
    )
    selected, count = relax.vision.all_class_non_max_suppression(boxes, scores, *limits)
    return boxes, scores, selected, count


@model("regions", "1,4,12,12:f32")
def regions(w: Weights, x: Value) -> tuple[Value, Value]:
    """A second stage: features of given regions, by interpolation."""
    x = relax.nn.relu(relax.nn.conv2d(x, w(6, 4, 3, 3), padding=1))
    rois = numpy.array([[0, 1, 1, 8, 9], [0, 0, 2, 11, 7], [0, 4, 4, 6, 6]], "float32")
    found = relax.vision.roi_align(x, relax.const(rois), pooled_size=(3, 3), spatial_scale=1.0, sample_ratio=2)
    flat = relax.reshape(found, (3, 54))
    return relax.nn.softmax(relax.matmul(flat, w(54, 5))), relax.matmul(flat, w(54, 4))


@model("chosen_rows", "rows,6:f32", rows=(8, 3))
def chosen_rows(w: Weights, x: Value) -> tuple[Value, Value]:
    """Rows with a positive score, in a dynamic number, and a layer for them."""
    places = relax.squeeze(relax.nonzero(relax.greater(relax.matmul(x, w(6)), relax.const(0.0))), axis=[0])
    return relax.nn.relu(relax.matmul(relax.take(x, places, axis=0), w(6, 4))), places
