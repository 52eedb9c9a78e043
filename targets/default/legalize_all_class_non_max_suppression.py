# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Suppression of overlapping boxes per class.

Boxes are visited in descending order of their scores. A box is selected unless it overlaps a selected one. As in TOPI,
boxes overlap from the threshold on, and a threshold of 0 selects none.
"""

from __future__ import annotations

from collections.abc import Callable

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...dialects.core.infos import TensorInfo
from ...emit.boxes import any_of, load_box, load_wide, overlap
from ...emit.conversions import accumulator, widened
from ...emit.indices import as_position
from ...emit.loops import Body, for_range, load, nest, repeat_while, require_same, scratches, size, sizes, store, when
from ...emit.numbers import Number, select
from ...emit.parallel import share_places
from ...emit.sorting import Sorter, precedes, with_sorter
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

#: `take(place, anchor, score)` is called for each selected box.
_Take = Callable[[Number, Number, Number], None]


@register_legalize("relax.vision.all_class_non_max_suppression")
def all_class_non_max_suppression(call: LegalizeCall) -> Legalized:
    limit_dtype = call.dtype(call.operands[2])
    return _as_onnx(call, limit_dtype) if call.op.output_format == "onnx" else _as_tensorflow(call, limit_dtype)


def rows_of_boxes(call: LegalizeCall, select: Body, list_rows: Body, *, numbers: int) -> list[Value]:
    """Return the rows (batch, class, box) of all selected boxes, and their number.

    `select(boxes, scores, *limits, taken, *numbers, total)` writes the boxes of each class, `numbers` values per class,
    and the total number of boxes. `list_rows(taken, *numbers, out)` writes the rows.
    """
    shape = call.shape(call.operands[1])
    outputs = [TensorInfo(number, "i64") for number in (shape, *[shape[:2]] * numbers, (1,))]
    *found, total = call.loops(select, outputs=outputs, name="select_boxes")
    (rows,) = call.define_sizes(total, 1)
    listed = call.loops(list_rows, found, [TensorInfo((rows, 3), "i64")], name="list_boxes")
    return [call.cast(listed[0], call.result_infos[0]), total]


def _as_onnx(call: LegalizeCall, limit_dtype: str) -> list[Value]:
    def select(boxes: Value, scores: Value, *rest: Value) -> None:
        *attributes, taken, counts, total = rest

        def of_all(classes: _Classes) -> None:
            def of_class(batch: Number, class_: Number, found: Number) -> Number:
                def take(place: Number, anchor: Number, _: Number) -> None:
                    store(anchor.to("i64"), taken, batch, class_, place)

                chosen = lambda place: load(taken, batch, class_, place).to("index")  # noqa: E731
                count = classes.select(batch, class_, take, chosen)
                store(count.to("i64"), counts, batch, class_)
                return found + count

            (found,) = nest(sizes(scores)[:2], of_class, 0)
            store(found.to("i64"), total, 0)

        _with_classes(boxes, scores, attributes, limit_dtype, of_all)

    def list_rows(taken: Value, counts: Value, out: Value) -> None:
        def of_class(batch: Number, class_: Number, first: Number) -> Number:
            count = load(counts, batch, class_).to("index")

            def write(place: Number) -> None:
                row = first + place
                values = [batch.to("i64"), class_.to("i64")]
                for column, value in enumerate([*values, load(taken, batch, class_, place)]):
                    store(value, out, row, column)

            for_range(0, count, write)
            return first + count

        nest(sizes(taken)[:2], of_class, 0)

    return rows_of_boxes(call, select, list_rows, numbers=1)


def clear_pairs(scores: Value, pairs: Value, pair_scores: Value) -> None:
    """Write zeros to results that have room for all boxes of all classes."""
    room = size(scores, 1) * size(scores, 2)
    for result in (pairs, pair_scores):
        require_same(size(result, 0), size(scores, 0), "batches of results and scores")
        require_same(size(result, 1), room, "number of results and of scores in a batch")

    def clear(batch: Number, row: Number) -> None:
        for column in range(2):
            store(0, pairs, batch, row, column)
        store(0, pair_scores, batch, row)

    share_places([size(pairs, 0), size(pairs, 1)], clear)


def _as_tensorflow(call: LegalizeCall, limit_dtype: str) -> list[Value]:
    """Return the pairs (class, box) of each batch, their scores and their number, padded with zeros."""

    def body(boxes: Value, scores: Value, *rest: Value) -> None:
        *attributes, pairs, pair_scores, totals = rest

        def of_class(classes: _Classes, batch: Number, class_: Number, first: Number) -> Number:
            def take(place: Number, anchor: Number, score: Number) -> None:
                row = first + place
                for column, value in enumerate([class_, anchor]):
                    store(value.to("i64"), pairs, batch, row, column)
                store(score.to("f32"), pair_scores, batch, row)

            def chosen(place: Number) -> Number:
                return load(pairs, batch, first + place, 1).to("index")

            return first + classes.select(batch, class_, take, chosen)

        def of_all(classes: _Classes) -> None:
            def of_batch(batch: Number) -> None:
                step = lambda class_, first: of_class(classes, batch, class_, first)  # noqa: E731
                found = for_range(0, size(scores, 1), step, 0)[0]
                store(found.to("i64"), totals, batch)

            for_range(0, size(scores, 0), of_batch)

        clear_pairs(scores, pairs, pair_scores)
        _with_classes(boxes, scores, attributes, limit_dtype, of_all)

    return call.loops(body)


class _Classes:
    """Selection of boxes, one class after the other, in the same memory."""

    def __init__(
        self, boxes: Value, scores: Value, limits: tuple[Number, Number, Number], candidates: Value, sorter: Sorter
    ):
        self._boxes = boxes
        self._scores = scores
        self._most, self._iou_threshold, self._score_threshold = limits
        self._candidates = candidates
        self._sorter = sorter

    def select(self, batch: Number, class_: Number, take: _Take, chosen: Callable[[Number], Number]) -> Number:
        """Call `take` for each selected box, and return their number.

        `chosen(place)` returns the box that was selected at a place.
        """
        dtype = str(self._scores.type.element_type)
        count = self._collect(batch, class_)

        def record(place: Number) -> list[Number]:
            anchor = load(self._candidates, place)
            return [anchor, load(self._scores, batch, class_, anchor)]

        best_first = self._sorter.sort(count, record, lambda a, b: precedes(a[1], b[1], dtype, descending=True))

        def goes_on(place: Number, taken: Number) -> Number:
            return (place < count) & (taken < self._most)

        def step(place: Number, taken: Number) -> list[Number]:
            anchor, score = best_first(place)
            box = load_box(self._boxes, batch, anchor)

            def covers(before: Number) -> Number:
                return overlap(load_box(self._boxes, batch, chosen(before)), box) >= self._iou_threshold

            is_taken = ~any_of(taken, covers)
            when(is_taken, lambda: take(taken, anchor, widened(score)))
            return [place + 1, taken + is_taken.to("index")]

        return repeat_while([0, 0], goes_on, step)[1]

    def _collect(self, batch: Number, class_: Number) -> Number:
        """Collect the boxes with scores above the threshold as candidates. Return their number."""

        def step(anchor: Number, count: Number) -> Number:
            is_candidate = load_wide(self._scores, batch, class_, anchor) > self._score_threshold
            when(is_candidate, lambda: store(anchor, self._candidates, count))
            return count + is_candidate.to("index")

        return for_range(0, size(self._scores, 2), step, 0)[0]


def _with_classes(
    boxes: Value, scores: Value, attributes: list[Value], limit_dtype: str, use: Callable[[_Classes], None]
) -> None:
    check_boxes(boxes, scores)
    most, iou_threshold, score_threshold = (only(buffer) for buffer in attributes)
    computed = accumulator(str(boxes.type.element_type))
    iou, score = (value.to(computed) for value in (iou_threshold, score_threshold))
    limit = select(iou > 0.0, as_position(most, limit_dtype), 0)
    anchors, place = size(scores, 2), ir.IndexType.get()

    def with_candidates(candidates: Value) -> None:
        elements = [place, scores.type.element_type]
        limits = limit, iou, score
        with_sorter(anchors, elements, lambda sorter: use(_Classes(boxes, scores, limits, candidates, sorter)))

    scratches([anchors], [place], with_candidates)


def check_boxes(boxes: Value, scores: Value) -> None:
    """Check sizes that the types do not state."""
    of_boxes, of_scores = sizes(boxes), sizes(scores)
    require_same(of_boxes[0], of_scores[0], "batches of boxes and scores")
    require_same(of_boxes[1], of_scores[2], "numbers of boxes and scores")
    require_same(of_boxes[2], 4, "coordinates of a box")


def only(buffer: Value) -> Number:
    """Return the only element of a buffer."""
    for each in sizes(buffer):
        require_same(each, 1, "elements of a limit")
    return load(buffer, *[0] * len(buffer.type.shape))
