# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection: boxes that count, and boxes and scores from what a network predicts."""

from __future__ import annotations

from typing import Any

from ...dialects.relax import dialect as relax
from ...dialects.tir import dialect as tir
from ...dialects.tir.prim_func import OpPattern
from ...emit import linalg, scalar
from ...emit.boxes import load_wide
from ...emit.conversions import widened
from ...emit.loops import for_range, index, load, nest, size, sizes, store, when
from ...emit.numbers import Number, number, select, to_float
from ...emit.size_checks import require_at_most, require_same
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize


@register_legalize("relax.vision.get_valid_counts")
def get_valid_counts(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    """Boxes that score above the threshold, and are of a class, to the front; -1 follows."""

    def body(data: Any, counts: Any, out: Any, places: Any) -> None:
        anchors, values = size(data, 1), size(data, 2)
        require_at_most(max(op.score_index, op.id_index) + 1, sizes(data)[2], "values of a box that attributes name")
        type_ = data.type.element_type
        threshold = widened(scalar.constant(op.score_threshold, type_))

        def is_valid(batch: Any, anchor: Any) -> Any:
            scores = (load_wide(data, batch, anchor, op.score_index) > threshold).value
            if op.id_index < 0:
                return scores
            has_class = (load_wide(data, batch, anchor, op.id_index) >= 0.0).value
            return scalar.create("arith.andi", scores, has_class)

        def put(batch: Any, anchor: Any, count: Any) -> None:
            for_range(0, values, lambda i: store(load(data, batch, anchor, i), out, batch, count, i))
            store(scalar.from_index(anchor, "i32"), places, batch, count)

        def clear(batch: Any, row: Any) -> None:
            for_range(0, values, lambda i: store(scalar.constant(-1, type_), out, batch, row, i))
            store(scalar.constant(-1, places.type.element_type), places, batch, row)

        def of_image(batch: Any) -> None:
            def step(anchor: Any, count: Any) -> Any:
                valid = is_valid(batch, anchor)
                when(valid, lambda: put(batch, anchor, count))
                return scalar.incremented_if(valid, count)

            count = for_range(0, anchors, step, index(0))[0]
            for_range(count, anchors, lambda row: clear(batch, row))
            store(scalar.from_index(count, "i32"), counts, batch)

        for_range(0, size(data, 0), of_image)

    return builder.loops(body)


@register_legalize("relax.vision.multibox_transform_loc")
def multibox_transform_loc(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    classes, locations, anchors = operands
    boxes_info, scores_info = builder.result_infos
    boxes = _decoded_boxes(op, builder, [classes, locations, anchors], boxes_info)
    scores = relax.ops["nn.softmax"](classes, axis=1) if op.apply_softmax else classes
    return [boxes, _kept_scores(op, builder, scores, scores_info)]


def _decoded_boxes(op: Any, builder: RuleBuilder, inputs: list[Any], info: Any) -> Any:
    """Corners (top, left, bottom, right) from anchors' corners and what is predicted relative to them."""

    def body(classes: Any, locations: Any, anchors: Any, out: Any) -> None:
        count = size(out, 1)
        require_same(sizes(classes)[0], sizes(locations)[0], "batches of classes and locations")
        require_same(sizes(out)[0], sizes(locations)[0], "batches of results and locations")
        require_same(sizes(out)[1], sizes(anchors)[1], "numbers of results and anchors")
        require_same(sizes(anchors)[0], 1, "batches of anchors")
        require_same(sizes(anchors)[2], 4, "coordinates of an anchor")
        values = scalar.multiply(count, index(4), "index")
        require_same(sizes(locations)[1], values, "predicted coordinates and four for each anchor")

        def decode(batch: Any, anchor: Any) -> None:
            left, top, right, bottom = (load_wide(anchors, 0, anchor, corner) for corner in range(4))
            first = scalar.multiply(anchor, index(4), "index")
            x, y, width, height = (
                load_wide(locations, batch, scalar.add(first, index(place), "index")) * op.variances[place]
                for place in range(4)
            )
            x1, x2 = _extent(left, right, x, width)
            y1, y2 = _extent(top, bottom, y, height)
            for place, value in enumerate((y1, x1, y2, x2)):
                limited = _clipped(value) if op.clip else value
                store(to_float(limited, str(out.type.element_type)).value, out, batch, anchor, place)

        nest([size(out, 0), count], decode)

    return builder.loops(body, inputs, [info], name="multibox_boxes")[0]


def _extent(low: Number, high: Number, shift: Number, scale: Number) -> tuple[Number, Number]:
    """Where an anchor's side begins and ends after shifting and scaling."""
    length = high - low
    center = shift * length + (low + high) * 0.5
    half = number(tir.ops["exp"](scale.value)) * 0.5 * length
    return center - half, center + half


def _clipped(x: Number) -> Number:
    low = scalar.minimum(x.value, x.constant(1).value, x.dtype)
    return number(scalar.maximum(low, x.constant(0).value, x.dtype))


def _kept_scores(op: Any, builder: RuleBuilder, scores: Any, info: Any) -> Any:
    """Scores below the threshold become 0, and those of the background where it is not kept."""

    def kept(value: Any, _: Any) -> Any:
        x = number(value)
        threshold = widened(scalar.constant(op.threshold, value.type))
        zero = scalar.constant(0, value.type)
        result = select(widened(value) < threshold, number(zero), x).value
        if op.keep_background:
            return result
        is_background = scalar.compare("==", linalg.index(1), linalg.constant_index(0), "index")
        return scalar.select(is_background, zero, result)

    def body(given: Any, out: Any) -> Any:
        maps = [linalg.identity(3)] * 2
        return linalg.generic([given], [out], maps, [linalg.PARALLEL] * 3, kept)[0]

    return builder.prim(body, [scores], [info], pattern=OpPattern.ELEMWISE, name="multibox_scores")[0]
