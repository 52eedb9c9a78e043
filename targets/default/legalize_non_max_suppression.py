# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Non-maximum suppression of overlapping boxes, by default within each class.

Boxes are visited in descending order of their scores. A box is kept unless it overlaps a kept one. With soft_nms_sigma,
overlap reduces scores instead, and the best remaining box is always next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...bindings.ir import OpView, Type, Value
from ...bindings.mlir import ir
from ...emit.arithmetic import element
from ...emit.boxes import any_of, load_box, load_wide, overlap
from ...emit.conversions import accumulator
from ...emit.loops import (
    for_range,
    load,
    repeat_while,
    require_at_most,
    require_same,
    scratches,
    size,
    sizes,
    store,
    when,
)
from ...emit.numbers import Number, constant, intrinsic, maximum, minimum, select
from ...emit.parallel import share_places
from ...emit.sorting import Records, precedes, with_sorter
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

#: As in emit.sorting: `use(sorter)` with memory for a number of records of these types.
WithSorter = Callable[[Number, Sequence[Type], Callable[[Any], object]], None]


@register_legalize("relax.vision.non_max_suppression")
def non_max_suppression(call: LegalizeCall) -> Legalized:
    return suppressed(call, Image, with_sorter)


def suppressed(call: LegalizeCall, image_of: type[Image], with_sorter: WithSorter) -> list[Value]:
    """Return the operator's results, for a class of images and a sorter."""
    dtype = call.dtype(call.operands[0])
    is_soft = call.op.soft_nms_sigma > 0

    def body(data: Value, valid_count: Value, indices: Value, *outs: Value) -> None:
        _check(data, valid_count, indices, call.op, outs)
        anchors, place = size(data, 1), ir.IndexType.get()

        def order(left: Sequence[Number], right: Sequence[Number]) -> Number:
            return precedes(left[1], right[1], dtype, descending=True)

        def of_image(image: Image, sorter: Any, batch: Number) -> None:
            valid = maximum(minimum(load(valid_count, batch).to("index"), anchors), 0)
            in_order = sorter.sort(valid, lambda i: [i, load(data, batch, i, call.op.score_index)], order)
            looked_at = minimum(valid, call.op.top_k) if call.op.top_k > 0 else valid
            image.start(looked_at, in_order)
            count = image.lower(batch, looked_at) if is_soft else image.suppress(batch, looked_at)
            _write(call.op, image, batch, count, indices, outs)

        def with_scratch(batch: Number, *memories: Value) -> None:
            image = image_of(call.op, data, *memories)
            with_sorter(anchors, [place, data.type.element_type], lambda sorter: of_image(image, sorter, batch))

        flag = ir.IntegerType.get_signless(1)
        elements = [place, element(accumulator(dtype)), flag, place]
        share_places([size(data, 0)], lambda batch: scratches([anchors], elements, partial(with_scratch, batch)))

    return call.loops(body)


def _check(data: Value, valid_count: Value, indices: Value, op: OpView, outs: Sequence[Value]) -> None:
    """Check sizes that the types do not state."""
    batches, anchors, values = sizes(data)
    of_boxes = [indices, *(outs[:-1] if op.return_indices else outs)]
    for buffer in (valid_count, indices, *outs):
        require_same(sizes(buffer)[0], batches, "batches of data and of others")
    for buffer in of_boxes:
        require_same(sizes(buffer)[1], anchors, "numbers of boxes of data and of others")
    last = max(op.coord_start + 3, op.score_index, op.id_index)
    require_at_most(last + 1, values, "values of a box that attributes name")


class Image:
    """Suppression in one image, with memory for the visited boxes, best score first, and for the surviving boxes."""

    def __init__(self, op: OpView, data: Value, order: Value, scores: Value, is_alive: Value, places: Value):
        self.op = op
        self.data = data
        self._type = accumulator(str(data.type.element_type))
        #: By place: the box, its score, lowered by earlier boxes, and True if the box may still be kept.
        self.order, self.scores, self.is_alive = order, scores, is_alive
        #: Places of the surviving boxes.
        self.places = places

    def start(self, count: Number, in_order: Records) -> None:
        def step(place: Number) -> None:
            box, score = in_order(place)
            store(box, self.order, place)
            store(score.to(self._type), self.scores, place)
            store(constant(True, "i1"), self.is_alive, place)

        share_places([count], step)

    def score(self, place: Number) -> Number:
        return load(self.scores, place)

    def shared(self, batch: Number, one: Number, other: Number) -> Number:
        """Return the overlap of the boxes at two places."""
        first, second = (load_box(self.data, batch, self.box(number), self.op.coord_start) for number in (one, other))
        return overlap(first, second)

    def box(self, place: Number) -> Number:
        return load(self.order, place)

    def are_rivals(self, batch: Number, one: Number, other: Number) -> Number:
        """Check whether boxes have the same class, or classes do not matter."""
        class_ = self.op.id_index
        if self.op.force_suppress or class_ < 0:
            return constant(True, "i1")
        first, second = (load_wide(self.data, batch, self.box(number), class_) for number in (one, other))
        return first == second

    def has_room(self, count: Number) -> Number:
        most = self.op.max_output_size
        return count < most if most > 0 else constant(True, "i1")

    # ---- hard suppression ----

    def suppress(self, batch: Number, looked_at: Number) -> Number:
        """Store the places of the surviving boxes in ascending order, and return their number."""

        def goes_on(place: Number, count: Number) -> Number:
            return (place < looked_at) & self.has_room(count)

        def step(place: Number, count: Number) -> list[Number]:
            stays = (self.score(place) > 0.0) & ~any_of(count, lambda i: covers(i, place))
            when(stays, lambda: store(place, self.places, count))
            return [place + 1, count + stays.to("index")]

        def covers(before: Number, place: Number) -> Number:
            earlier = load(self.places, before)
            overlaps = self.shared(batch, earlier, place) >= self.op.iou_threshold
            return self.are_rivals(batch, earlier, place) & overlaps

        return repeat_while([0, 0], goes_on, step)[1]

    # ---- soft suppression ----

    def lower(self, batch: Number, looked_at: Number) -> Number:
        """Move the surviving boxes to the first places, and return their number."""

        def goes_on(count: Number, goes: Number) -> Number:
            return goes & (count < looked_at) & self.has_room(count)

        def step(count: Number, _: Number) -> list[Number]:
            best = self.best(count, looked_at)
            found = best >= 0
            when(found, lambda: take(count, best))
            return [count + found.to("index"), found]

        def take(count: Number, best: Number) -> None:
            for memory in (self.order, self.scores, self.is_alive):
                first, second = load(memory, count), load(memory, best)
                store(second, memory, count)
                store(first, memory, best)
            store(count, self.places, count)
            following = count + 1
            share_places([looked_at - following], lambda i: self._lower_one(batch, count, following + i))

        return repeat_while([0, constant(True, "i1")], goes_on, step)[0]

    def best(self, start: Number, end: Number) -> Number:
        """Return the first place with the best score above the threshold, or -1."""
        return self.best_of(start, end)[0]

    def best_of(self, start: Number, end: Number, stride: int = 1) -> list[Number]:
        """Return the best of places with a stride, and its score."""

        def step(place: Number, best: Number, best_score: Number) -> list[Number]:
            score = self.score(place)
            is_better = load(self.is_alive, place) & (score > best_score)
            return [select(is_better, place, best), select(is_better, score, best_score)]

        threshold = constant(self.op.score_threshold, self._type)
        return for_range(start, end, step, -1, threshold, step=stride)

    def _lower_one(self, batch: Number, taken: Number, other: Number) -> None:
        op = self.op

        def lower() -> None:
            shared, score = self.shared(batch, taken, other), self.score(other)
            factor = intrinsic("exp", shared * shared * (-0.5 / op.soft_nms_sigma))
            # Comparisons with NaN are false, so that such an overlap changes nothing.
            lowered = select(shared < op.iou_threshold, score * factor, score)
            goes = (shared >= op.iou_threshold) | (lowered <= op.score_threshold)
            store(lowered, self.scores, other)
            store(~goes, self.is_alive, other)

        is_left = load(self.is_alive, other) & (self.score(other) > op.score_threshold)
        when(is_left & self.are_rivals(batch, taken, other), lower)


# ---- results ----


def _write(op: OpView, image: Image, batch: Number, count: Number, indices: Value, outs: Sequence[Value]) -> None:
    """Write the results that the attributes request, with -1 for missing boxes."""
    if not op.return_indices:
        _write_data(op, image, batch, count, outs[0], are_moved=op.invalid_to_bottom)
        return
    *data, places, counts = outs
    for out in data:
        _write_data(op, image, batch, count, out, are_moved=True)
    share_places([size(places, 1)], lambda i: store(-1, places, batch, i))
    box = lambda number: load(image.order, load(image.places, number))  # noqa: E731
    share_places([count], lambda i: store(load(indices, batch, box(i)), places, batch, i))
    store(count.to("i32"), counts, batch, 0)


def _write_data(op: OpView, image: Image, batch: Number, count: Number, out: Value, *, are_moved: bool) -> None:
    """Write the surviving boxes with their scores, at the front if `are_moved`."""
    dtype, values = str(out.type.element_type), size(image.data, 2)
    share_places([size(out, 1), values], lambda row, value: store(-1, out, batch, row, value))

    def write(number_: Number) -> None:
        place = load(image.places, number_)
        row = number_ if are_moved else place
        box = load(image.order, place)
        for_range(0, values, lambda i: store(load(image.data, batch, box, i), out, batch, row, i))
        store(load(image.scores, place).to(dtype), out, batch, row, op.score_index)

    share_places([count], write)
