# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Suppression of overlapping boxes with a block of threads per image: each kept box removes the later ones."""

from __future__ import annotations

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...emit.loops import for_range, load, repeat_while, scratch, store, when
from ...emit.numbers import Number, constant, select
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ..default.legalize_non_max_suppression import Image, suppressed
from .emit.sorting import with_merge_sorter

#: Threads that search for the best score.
_THREADS = 256


@register_legalize("relax.vision.non_max_suppression", target="gpu")
def non_max_suppression(call: LegalizeCall) -> Legalized:
    return suppressed(call, _Image, with_merge_sorter)


class _Image(Image):
    """Boxes of an image, which the threads of a block process together."""

    def suppress(self, batch: Number, looked_at: Number) -> Number:
        def goes_on(place: Number, count: Number) -> Number:
            return (place < looked_at) & self.has_room(count)

        def step(place: Number, count: Number) -> list[Number]:
            stays = load(self.is_alive, place) & (self.score(place) > 0.0)

            def keep() -> None:
                store(place, self.places, count)
                for_range(place + 1, looked_at, lambda other: self._suppress_one(batch, place, other), grain=1)

            when(stays, keep)
            return [place + 1, count + stays.to("index")]

        return repeat_while([0, 0], goes_on, step)[1]

    def _suppress_one(self, batch: Number, place: Number, other: Number) -> None:
        goes = self.are_rivals(batch, place, other) & (self.shared(batch, place, other) >= self.op.iou_threshold)
        when(goes, lambda: store(constant(False, "i1"), self.is_alive, other))

    def best(self, start: Number, end: Number) -> Number:
        """Return the best box: each thread searches for its own, then the threads compare theirs in pairs."""
        dtype = self.scores.type.element_type
        found: list[Number] = []
        indices = ir.IndexType.get()

        def look(places: Value, scores: Value) -> None:
            def own(thread: Number) -> None:
                place, score = self.best_of(start + thread, end, _THREADS)
                store(place, places, thread)
                store(score, scores, thread)

            def compare(one: Number, distance: int) -> None:
                other = one + distance
                first, second = load(places, one), load(places, other)
                score, rival = load(scores, one), load(scores, other)
                # Place -1 means no box; its score is the initial value of the comparison.
                comes_first = (second >= 0) & ((first < 0) | (rival > score) | ((rival == score) & (second < first)))
                store(select(comes_first, second, first), places, one)
                store(select(comes_first, rival, score), scores, one)

            for_range(0, _THREADS, own, grain=1)
            distance = _THREADS // 2
            while distance:
                for_range(0, distance, lambda one: compare(one, distance), grain=1)  # noqa: B023
                distance //= 2
            found.append(load(places, 0))

        scratch([_THREADS], indices, lambda places: scratch([_THREADS], dtype, lambda scores: look(places, scores)))
        return found[0]
