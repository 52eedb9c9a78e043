# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout transformations that are not block moves. All elements move at once; the last of several writes wins."""

from __future__ import annotations

from collections.abc import Callable

from ...bindings.ir import Value
from ...emit.linalg import indices_at, place_at, product
from ...emit.loops import load, sizes, store
from ...emit.numbers import Number
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ..default.legalize_layout import blocks_moved, fill_around, place_of
from .emit.placing import Writes


@register_legalize("relax.layout_transform", target="gpu", by_types=True)
def layout_transform(call: LegalizeCall) -> Legalized:
    if blocks_moved(call) is not None:
        return call.decline("the map moves blocks of dimensions, which a copy can do")

    def write(x: Value, output: Value) -> None:
        given, taken = sizes(x), sizes(output)

        def place(element: Number) -> tuple[Number, Callable[[], None]]:
            return place_at(place_of(call.op, indices_at(element, given)), taken), lambda: None

        def put(element: Number, at: Number) -> None:
            store(load(x, *indices_at(element, given)), output, *indices_at(at, taken))

        fill_around(call.op, output)
        Writes(product(given), product(taken), place).last_stays([], put)

    return call.loops(write)
