# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection: a scan assigns rows to valid boxes, then all boxes are written at once."""

from __future__ import annotations

import operator

from ...bindings.ir import Value
from ...emit.loops import size, store, when
from ...emit.numbers import Number
from ...emit.parallel import share_places
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ..default.legalize_vision import ValidBoxes
from .emit.scanning import Scan, scan_rows


@register_legalize("relax.vision.get_valid_counts", target="gpu")
def get_valid_counts(call: LegalizeCall) -> Legalized:
    def body(data: Value, counts: Value, out: Value, places: Value) -> None:
        batches, anchors, valid = size(data, 0), size(data, 1), ValidBoxes(call.op, data, out, places)

        def write(batch: Number, anchor: Number, before: Number, _: Number) -> None:
            when(valid.has(batch, anchor), lambda: valid.put(batch, anchor, before.to("index")))

        share_places([batches, anchors], valid.clear)
        is_valid = lambda batch, anchor: valid.has(batch, anchor).to("i32")  # noqa: E731
        finish = lambda batch, total: store(total, counts, batch)  # noqa: E731
        scan_rows(batches, anchors, Scan("i32", operator.add, 0, is_valid, write, finish))

    return call.loops(body)
