# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Suppression of overlapping boxes per class, with one block of threads per class and image.

The threads visit the boxes in descending order of their scores. Each selected box removes the later boxes that overlap
it.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...emit.boxes import Box, load_box, load_wide, overlap
from ...emit.conversions import accumulator
from ...emit.indices import as_position
from ...emit.linalg import product
from ...emit.loops import for_range, load, repeat_while, scratch, scratches, size, sizes, store, when
from ...emit.numbers import Number, constant, select
from ...emit.parallel import share_places
from ...emit.sorting import precedes
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ..default.legalize_all_class_non_max_suppression import check_boxes, clear_pairs, only, rows_of_boxes
from .emit.scanning import Scan, scan_row, scan_rows
from .emit.sorting import MergeSorter, with_merge_sorter


@register_legalize("relax.vision.all_class_non_max_suppression", target="gpu")
def all_class_non_max_suppression(call: LegalizeCall) -> Legalized:
    limit_dtype = call.dtype(call.operands[2])
    return _as_onnx(call, limit_dtype) if call.op.output_format == "onnx" else _as_tensorflow(call, limit_dtype)


def _as_onnx(call: LegalizeCall, limit_dtype: str) -> list[Value]:
    def select_boxes(boxes: Value, scores: Value, *rest: Value) -> None:
        *limits, taken, before, counts, total = rest
        _Selection(boxes, scores, limits, limit_dtype).run(taken, counts)
        classes = sizes(scores)[1]
        at = lambda place: [place // classes, place % classes]  # noqa: E731
        scan = Scan(
            "i64",
            operator.add,
            0,
            lambda _, place: load(counts, *at(place)),
            lambda _, place, found, __: store(found, before, *at(place)),
            lambda _, found: store(found, total, 0),
        )
        scan_rows(1, product(sizes(scores)[:2]), scan)

    def list_rows(taken: Value, before: Value, counts: Value, out: Value) -> None:
        def write(batch: Number, class_: Number, place: Number) -> None:
            def put() -> None:
                row = (load(before, batch, class_) + place.to("i64")).to("index")
                values = [batch.to("i64"), class_.to("i64"), load(taken, batch, class_, place)]
                for column, value in enumerate(values):
                    store(value, out, row, column)

            when(place.to("i64") < load(counts, batch, class_), put)

        share_places(sizes(taken), write)

    return rows_of_boxes(call, select_boxes, list_rows, numbers=2)


def _as_tensorflow(call: LegalizeCall, limit_dtype: str) -> list[Value]:
    """Return the pairs (class, box) of each batch, their scores and their number, padded with zeros."""

    def body(boxes: Value, scores: Value, *rest: Value) -> None:
        *limits, pairs, pair_scores, totals = rest
        batches, classes, _ = sizes(scores)

        def write_all(taken: Value, before: Value, counts: Value) -> None:
            def write(batch: Number, class_: Number, place: Number) -> None:
                def put() -> None:
                    anchor, row = load(taken, batch, class_, place), load(before, batch, class_).to("index") + place
                    for column, value in enumerate([class_.to("i64"), anchor]):
                        store(value, pairs, batch, row, column)
                    score = load_wide(scores, batch, class_, anchor.to("index"))
                    store(score.to("f32"), pair_scores, batch, row)

                when(place.to("i64") < load(counts, batch, class_), put)

            _Selection(boxes, scores, limits, limit_dtype).run(taken, counts)
            scan = Scan(
                "i64",
                operator.add,
                0,
                lambda batch, class_: load(counts, batch, class_),
                lambda batch, class_, found, __: store(found, before, batch, class_),
                lambda batch, found: store(found, totals, batch),
            )
            scan_rows(batches, classes, scan)
            share_places(sizes(scores), write)

        clear_pairs(scores, pairs, pair_scores)
        i64 = ir.IntegerType.get_signless(64)
        of_all = lambda taken: scratches([batches, classes], [i64] * 2, lambda *each: write_all(taken, *each))  # noqa: E731
        scratch(sizes(scores), i64, of_all)

    return call.loops(body)


@dataclass(frozen=True)
class _Selection:
    """Selection of the boxes of each class and image, best first."""

    boxes: Value
    scores: Value
    #: Maximum number of boxes, overlap threshold and score threshold.
    limits: list[Value]
    limit_dtype: str

    def run(self, taken: Value, counts: Value) -> None:
        """Write the selected boxes, and their number per class."""
        check_boxes(self.boxes, self.scores)
        place, anchors = ir.IndexType.get(), size(self.scores, 2)

        def of_class(batch: Number, class_: Number) -> None:
            def select_boxes(sorter: MergeSorter, candidates: Value, is_alive: Value) -> None:
                count = self._select(batch, class_, sorter, candidates, is_alive, taken)
                store(count.to("i64"), counts, batch, class_)

            def with_candidates(candidates: Value, is_alive: Value) -> None:
                elements = [place, self.scores.type.element_type]
                with_merge_sorter(anchors, elements, lambda sorter: select_boxes(sorter, candidates, is_alive))

            flag = ir.IntegerType.get_signless(1)
            scratch([anchors], place, lambda each: scratch([anchors], flag, lambda own: with_candidates(each, own)))

        share_places(sizes(self.scores)[:2], of_class)

    def _select(
        self, batch: Number, class_: Number, sorter: MergeSorter, candidates: Value, is_alive: Value, taken: Value
    ) -> Number:
        """Select the boxes of a class. Return their number."""
        dtype = str(self.scores.type.element_type)
        computed = accumulator(str(self.boxes.type.element_type))
        most, iou_threshold, score_threshold = (only(limit) for limit in self.limits)
        iou, score = (value.to(computed) for value in (iou_threshold, score_threshold))
        limit = select(iou > 0.0, as_position(most, self.limit_dtype), 0)
        count = self._collect(batch, class_, score, candidates)

        def record(place: Number) -> list[Number]:
            anchor = load(candidates, place)
            return [anchor, load(self.scores, batch, class_, anchor)]

        best_first = sorter.sort(count, record, lambda a, b: precedes(a[1], b[1], dtype, descending=True))
        for_range(0, count, lambda place: store(constant(True, "i1"), is_alive, place), grain=1)

        def goes_on(place: Number, found: Number) -> Number:
            return (place < count) & (found < limit)

        def step(place: Number, found: Number) -> list[Number]:
            is_taken = load(is_alive, place)

            def take() -> None:
                anchor, _ = best_first(place)
                store(anchor.to("i64"), taken, batch, class_, found)
                for_range(place + 1, count, lambda other: cover(load_box(self.boxes, batch, anchor), other), grain=1)

            def cover(box: Box, other: Number) -> None:
                goes = overlap(box, load_box(self.boxes, batch, best_first(other)[0])) >= iou
                when(goes, lambda: store(constant(False, "i1"), is_alive, other))

            when(is_taken, take)
            return [place + 1, found + is_taken.to("index")]

        return repeat_while([0, 0], goes_on, step)[1]

    def _collect(self, batch: Number, class_: Number, threshold: Number, candidates: Value) -> Number:
        """Collect the boxes with scores above the threshold as candidates. Return their number."""

        def is_candidate(_: Number, anchor: Number) -> Number:
            return (load_wide(self.scores, batch, class_, anchor) > threshold).to("i64")

        def write(_: Number, anchor: Number, before: Number, behind: Number) -> None:
            when(before != behind, lambda: store(anchor, candidates, before.to("index")))

        scan = Scan("i64", operator.add, 0, is_candidate, write)
        return scan_row(batch, size(self.scores, 2), scan).to("index")
