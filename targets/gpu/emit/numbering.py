# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits stream compaction: the numbers of places that are found, by a prefix sum of whether each is."""

from __future__ import annotations

import operator
from collections.abc import Callable

from ....bindings.ir import Value
from ....emit.loops import store
from ....emit.numbers import Number
from .scanning import Scan

#: Of a place: how many were found before it, and with it. Both are i64.
Write = Callable[[Number, Number, Number], object]


def numbering(is_found: Callable[[Number], Number], write: Write, total: Value) -> Scan:
    """The scan of one row of places; how many are found goes into the first element of `total`."""
    return Scan(
        "i64",
        operator.add,
        0,
        lambda _, place: is_found(place).to("i64"),
        lambda _, place, before, behind: write(place, before, behind),
        lambda _, count: store(count, total, 0),
    )
