# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of upstream's operations: by segments, and numbers of which some stand in attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from ...bindings.mlir import DYNAMIC
from ..sites import Site


def segments(site: Site) -> Callable[[Sequence[Any]], list[Sequence[Any]]]:
    """Splits operands as the operation's attribute says."""
    counts = [int(count) for count in site.attributes["operandSegmentSizes"]]
    ends = list(accumulate(counts))
    places = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    return lambda operands: [operands[place] for place in places]


def mixed(static: Iterable[Any], dynamic: int = DYNAMIC) -> Callable[[Iterator[Any]], list[int]]:
    """The numbers of an attribute; those that it does not have are taken of the operands."""
    known = [None if int(number) == dynamic else int(number) for number in static]
    if None not in known:
        return lambda given: known  # type: ignore[return-value]
    return lambda given: [int(next(given)) if number is None else number for number in known]


def sizes_of(site: Site) -> Callable[[Iterator[Any]], list[int]]:
    """The sizes of a result."""
    return mixed(site.result_type().shape)
