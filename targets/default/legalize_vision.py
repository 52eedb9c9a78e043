# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection: selection of valid boxes, and decoding of predicted boxes and scores."""

from __future__ import annotations

from ...bindings.ir import OpView, Value
from ...dialects import relax
from ...dialects.core.infos import TensorInfo
from ...dialects.relax.values import tensor_info
from ...emit import linalg
from ...emit.boxes import load_wide
from ...emit.conversions import widened
from ...emit.loops import for_range, load, require_at_most, require_same, size, sizes, store, when
from ...emit.numbers import Number, constant, intrinsic, maximum, minimum, select
from ...emit.parallel import share_places
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


@register_legalize("relax.vision.get_valid_counts")
def get_valid_counts(call: LegalizeCall) -> Legalized:
    """Move boxes with a score above the threshold and a valid class to the front, followed by -1."""

    def body(data: Value, counts: Value, out: Value, places: Value) -> None:
        valid, anchors = ValidBoxes(call.op, data, out, places), size(data, 1)

        def of_image(batch: Number) -> None:
            def step(anchor: Number, count: Number) -> Number:
                is_valid = valid.has(batch, anchor)
                when(is_valid, lambda: valid.put(batch, anchor, count))
                return count + is_valid.to("index")

            count = for_range(0, anchors, step, 0)[0]
            for_range(count, anchors, lambda row: valid.clear(batch, row))
            store(count.to("i32"), counts, batch)

        for_range(0, size(data, 0), of_image)

    return call.loops(body)


class ValidBoxes:
    """Test of valid boxes, and writes of their results."""

    def __init__(self, op: OpView, data: Value, out: Value, places: Value):
        self._op, self._data, self._out, self._places = op, data, out, places
        self._values = size(data, 2)
        require_at_most(max(op.score_index, op.id_index) + 1, sizes(data)[2], "values of a box that attributes name")
        self._threshold = widened(constant(op.score_threshold, data.type.element_type))

    def has(self, batch: Number, anchor: Number) -> Number:
        scores = load_wide(self._data, batch, anchor, self._op.score_index) > self._threshold
        if self._op.id_index < 0:
            return scores
        return scores & (load_wide(self._data, batch, anchor, self._op.id_index) >= 0.0)

    def put(self, batch: Number, anchor: Number, row: Number) -> None:
        copy = lambda i: store(load(self._data, batch, anchor, i), self._out, batch, row, i)  # noqa: E731
        for_range(0, self._values, copy)
        store(anchor.to("i32"), self._places, batch, row)

    def clear(self, batch: Number, row: Number) -> None:
        for_range(0, self._values, lambda i: store(-1, self._out, batch, row, i))
        store(-1, self._places, batch, row)


@register_legalize("relax.vision.multibox_transform_loc")
def multibox_transform_loc(call: LegalizeCall) -> Legalized:
    classes, locations, anchors = call.operands
    boxes_info, scores_info = map(tensor_info, call.op.results)
    boxes = _decoded_boxes(call, [classes, locations, anchors], boxes_info)
    scores = relax.nn.softmax(classes, axis=1) if call.op.apply_softmax else classes
    return [boxes, _kept_scores(call, scores, scores_info)]


def _decoded_boxes(call: LegalizeCall, inputs: list[Value], info: TensorInfo) -> Value:
    """Decode the corners (top, left, bottom, right) from anchors and predicted offsets."""

    def body(classes: Value, locations: Value, anchors: Value, out: Value) -> None:
        count = size(out, 1)
        require_same(sizes(classes)[0], sizes(locations)[0], "batches of classes and locations")
        require_same(sizes(out)[0], sizes(locations)[0], "batches of results and locations")
        require_same(sizes(out)[1], sizes(anchors)[1], "numbers of results and anchors")
        require_same(sizes(anchors)[0], 1, "batches of anchors")
        require_same(sizes(anchors)[2], 4, "coordinates of an anchor")
        require_same(sizes(locations)[1], count * 4, "predicted coordinates and four for each anchor")

        def decode(batch: Number, anchor: Number) -> None:
            left, top, right, bottom = (load_wide(anchors, 0, anchor, corner) for corner in range(4))
            first = anchor * 4
            x, y, width, height = (
                load_wide(locations, batch, first + place) * call.op.variances[place] for place in range(4)
            )
            x1, x2 = _extent(left, right, x, width)
            y1, y2 = _extent(top, bottom, y, height)
            for place, value in enumerate((y1, x1, y2, x2)):
                limited = maximum(minimum(value, 1.0), 0.0) if call.op.clip else value
                store(limited.to(str(out.type.element_type)), out, batch, anchor, place)

        share_places([size(out, 0), count], decode)

    return call.loops(body, inputs, [info], name="multibox_boxes")[0]


def _extent(low: Number, high: Number, shift: Number, scale: Number) -> tuple[Number, Number]:
    """Return the begin and end of an anchor's side after shifting and scaling."""
    length = high - low
    center = shift * length + (low + high) * 0.5
    half = intrinsic("exp", scale) * 0.5 * length
    return center - half, center + half


def _kept_scores(call: LegalizeCall, scores: Value, info: TensorInfo) -> Value:
    """Replace scores below the threshold by 0, and scores of the background unless it is kept."""

    def kept(x: Number) -> Number:
        result = select(widened(x) < widened(x.constant(call.op.threshold)), 0.0, x)
        return result if call.op.keep_background else select(linalg.index(1) == 0, 0.0, result)

    body = lambda given, out: linalg.parallel([given], out, kept)  # noqa: E731
    return call.prim(body, [scores], [info], pattern="elemwise", name="multibox_scores")[0]
