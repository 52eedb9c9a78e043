# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Suppression of overlapping boxes, and of none but the class of each box unless told otherwise.

Boxes are gone through from the best score on, and one stays unless it overlaps one that stays. With soft_nms_sigma
overlap lowers scores instead, and always the best of the others is next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...bindings.mlir import ir
from ...dialects.tir import dialect as tir
from ...emit import scalar
from ...emit.boxes import any_of, load_box, load_wide, overlap
from ...emit.conversions import accumulator, element
from ...emit.loops import for_range, index, load, nest, repeat_while, scratches, size, sizes, store, when
from ...emit.numbers import Number, number, to_float
from ...emit.size_checks import require_at_most, require_same
from ...emit.sorting import Records, precedes, with_sorter
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize


class _Stays(NamedTuple):
    """Memory for the boxes of one image that are looked at, best score first, and for those that stay."""

    #: Which box it is, by its place.
    order: Any
    #: Its score, lowered by those before it.
    scores: Any
    #: Whether it may still stay.
    is_alive: Any
    #: The places of those that stay.
    places: Any


@register_legalize("relax.vision.non_max_suppression")
def non_max_suppression(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    dtype = builder.dtype(operands[0])
    is_soft = op.soft_nms_sigma > 0

    def body(data: Any, valid_count: Any, indices: Any, *outs: Any) -> None:
        _check(data, valid_count, indices, op, outs)
        anchors, place = size(data, 1), ir.IndexType.get()

        def order(left: Any, right: Any) -> Any:
            return precedes(left[1], right[1], dtype, descending=True)

        def of_image(image: _Image, sorter: Any, batch: Any) -> None:
            valid = _between_0_and(anchors, scalar.to_index(load(valid_count, batch), "i32"))
            in_order = sorter.sort(valid, lambda i: [i, load(data, batch, i, op.score_index)], order)
            looked_at = scalar.minimum(valid, index(op.top_k), "index") if op.top_k > 0 else valid
            image.start(looked_at, in_order)
            count = image.lower(batch, looked_at) if is_soft else image.suppress(batch, looked_at)
            _write(op, image, batch, count, indices, outs)

        def with_scratch(*memories: Any) -> None:
            image = _Image(op, data, _Stays(*memories))
            elements = [place, data.type.element_type]
            batches = size(data, 0)
            with_sorter(anchors, elements, lambda sorter: for_range(0, batches, lambda b: of_image(image, sorter, b)))

        flag = ir.IntegerType.get_signless(1)
        scratches([anchors], [place, element(accumulator(dtype)), flag, place], with_scratch)

    return builder.loops(body)


def _check(data: Any, valid_count: Any, indices: Any, op: Any, outs: Sequence[Any]) -> None:
    """Sizes that types do not tell."""
    batches, anchors, values = sizes(data)
    of_boxes = [indices, *(outs[:-1] if op.return_indices else outs)]
    for buffer in (valid_count, indices, *outs):
        require_same(sizes(buffer)[0], batches, "batches of data and of others")
    for buffer in of_boxes:
        require_same(sizes(buffer)[1], anchors, "numbers of boxes of data and of others")
    last = max(op.coord_start + 3, op.score_index, op.id_index)
    require_at_most(last + 1, values, "values of a box that attributes name")


def _between_0_and(limit: Any, value: Any) -> Any:
    return scalar.maximum(scalar.minimum(value, limit, "index"), index(0), "index")


class _Image:
    """Which of the boxes of one image stay."""

    def __init__(self, op: Any, data: Any, stays: _Stays):
        self._op = op
        self.data = data
        self._type = accumulator(str(data.type.element_type))
        self.stays = stays

    def start(self, count: Any, in_order: Records) -> None:
        def step(place: Any) -> None:
            box, score = in_order(place)
            store(box, self.stays.order, place)
            store(to_float(number(score), self._type).value, self.stays.scores, place)
            store(_flag(True), self.stays.is_alive, place)

        for_range(0, count, step)

    def _score(self, place: Any) -> Number:
        return number(load(self.stays.scores, place))

    def _shared(self, batch: Any, one: Any, other: Any) -> Number:
        """How far the boxes at two places overlap."""
        first, second = (load_box(self.data, batch, self._box(each), self._op.coord_start) for each in (one, other))
        return overlap(first, second)

    def _box(self, place: Any) -> Any:
        return load(self.stays.order, place)

    def _are_rivals(self, batch: Any, one: Any, other: Any) -> Any:
        """Whether boxes are of one class, or classes do not matter."""
        class_ = self._op.id_index
        if self._op.force_suppress or class_ < 0:
            return _flag(True)
        first, second = (load_wide(self.data, batch, self._box(each), class_) for each in (one, other))
        return (first == second).value

    def _has_room(self, count: Any) -> Any:
        most = self._op.max_output_size
        return scalar.compare("<", count, index(most), "index") if most > 0 else _flag(True)

    # ---- boxes that overlap go ----

    def suppress(self, batch: Any, looked_at: Any) -> Any:
        """How many boxes stay; their places go up."""

        def goes_on(place: Any, count: Any) -> Any:
            return _both(scalar.compare("<", place, looked_at, "index"), self._has_room(count))

        def step(place: Any, count: Any) -> list[Any]:
            stays = _both((self._score(place) > 0.0).value, scalar.inverted(any_of(count, lambda i: covers(i, place))))
            when(stays, lambda: store(place, self.stays.places, count))
            return [scalar.add(place, index(1), "index"), scalar.incremented_if(stays, count)]

        def covers(before: Any, place: Any) -> Any:
            earlier = load(self.stays.places, before)
            overlaps = (self._shared(batch, earlier, place) >= self._op.iou_threshold).value
            return _both(self._are_rivals(batch, earlier, place), overlaps)

        return repeat_while([index(0), index(0)], goes_on, step)[1]

    # ---- overlap lowers scores ----

    def lower(self, batch: Any, looked_at: Any) -> Any:
        """How many boxes stay; they have been moved to the first places."""

        def goes_on(count: Any, goes: Any) -> Any:
            return _both(goes, _both(scalar.compare("<", count, looked_at, "index"), self._has_room(count)))

        def step(count: Any, _: Any) -> list[Any]:
            best = self._best(count, looked_at)
            found = scalar.compare(">=", best, index(0), "index")
            when(found, lambda: take(count, best))
            return [scalar.incremented_if(found, count), found]

        def take(count: Any, best: Any) -> None:
            self._swap(count, best)
            store(count, self.stays.places, count)
            following = scalar.add(count, index(1), "index")
            for_range(following, looked_at, lambda other: self._lower_one(batch, count, other))

        return repeat_while([index(0), _flag(True)], goes_on, step)[0]

    def _best(self, start: Any, end: Any) -> Any:
        """The first place of the best score above the threshold; -1 where there is none."""

        def step(place: Any, best: Any, best_score: Any) -> list[Any]:
            score = self._score(place)
            is_better = _both(load(self.stays.is_alive, place), (score > number(best_score)).value)
            return [scalar.select(is_better, place, best), scalar.select(is_better, score.value, best_score)]

        threshold = scalar.constant(self._op.score_threshold, element(self._type))
        return for_range(start, end, step, index(-1), threshold)[0]

    def _swap(self, one: Any, other: Any) -> None:
        for memory in (self.stays.order, self.stays.scores, self.stays.is_alive):
            first, second = load(memory, one), load(memory, other)
            store(second, memory, one)
            store(first, memory, other)

    def _lower_one(self, batch: Any, taken: Any, other: Any) -> None:
        op = self._op

        def lower() -> None:
            shared, score = self._shared(batch, taken, other), self._score(other)
            factor = number(tir.ops["exp"]((shared * shared * (-0.5 / op.soft_nms_sigma)).value))
            # Comparisons with NaN are false: such an overlap changes nothing.
            lowered = scalar.select((shared < op.iou_threshold).value, (score * factor).value, score.value)
            goes = scalar.create(
                "arith.ori", (shared >= op.iou_threshold).value, (number(lowered) <= op.score_threshold).value
            )
            store(lowered, self.stays.scores, other)
            store(scalar.inverted(goes), self.stays.is_alive, other)

        is_left = _both(load(self.stays.is_alive, other), (self._score(other) > op.score_threshold).value)
        when(_both(is_left, self._are_rivals(batch, taken, other)), lower)


# ---- results ----


def _write(op: Any, image: _Image, batch: Any, count: Any, indices: Any, outs: Sequence[Any]) -> None:
    """What the attributes ask for; -1 where no box is left."""
    if not op.return_indices:
        _write_data(op, image, batch, count, outs[0], are_moved=op.invalid_to_bottom)
        return
    *data, places, counts = outs
    for out in data:
        _write_data(op, image, batch, count, out, are_moved=True)
    minus_one = scalar.constant(-1, places.type.element_type)
    for_range(0, size(places, 1), lambda i: store(minus_one, places, batch, i))
    for_range(0, count, lambda i: store(load(indices, batch, _box_at(image, i)), places, batch, i))
    store(scalar.from_index(count, "i32"), counts, batch, 0)


def _box_at(image: _Image, number: Any) -> Any:
    return load(image.stays.order, load(image.stays.places, number))


def _write_data(op: Any, image: _Image, batch: Any, count: Any, out: Any, *, are_moved: bool) -> None:
    """The boxes that stay, with their scores; `are_moved`: at the front."""
    type_ = out.type.element_type
    values = size(image.data, 2)
    nest([size(out, 1), values], lambda row, value: store(scalar.constant(-1, type_), out, batch, row, value))

    def write(number_: Any) -> None:
        place = load(image.stays.places, number_)
        row = number_ if are_moved else place
        box = load(image.stays.order, place)
        for_range(0, values, lambda i: store(load(image.data, batch, box, i), out, batch, row, i))
        score = number(load(image.stays.scores, place))
        store(to_float(score, str(type_)).value, out, batch, row, op.score_index)

    for_range(0, count, write)


def _flag(value: bool) -> Any:
    return scalar.constant(value, ir.IntegerType.get_signless(1))


def _both(one: Any, other: Any) -> Any:
    return scalar.create("arith.andi", one, other)
