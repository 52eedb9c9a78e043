# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engine on a compiled program: arrays of pages, and calls of `step`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
import relax_mlir as rx

from .description import KINDS

if TYPE_CHECKING:
    from numpy import ndarray

    from .description import Description
    from .engine import Step


class PagedEngine:
    """Model with pages of keys and values. An `Engine`.

    Several engines may share a program. One engine serves one call at a time.
    """

    def __init__(self, program: rx.runtime.Executable, description: Description, page_count: int) -> None:
        self._function = program["step"]
        self._description = description
        self.vocabulary = description.vocabulary
        self.page_size = description.page_size
        self.context = description.context
        self.page_count = 0
        self._pages: list[ndarray] = [numpy.zeros(self._shape(0), KINDS[description.kv])] * (2 * description.layers)
        self.grow(page_count)

    def _shape(self, page_count: int) -> tuple[int, ...]:
        found = self._description
        return (page_count, found.page_size, found.kv_heads, found.head_size)

    def grow(self, page_count: int) -> None:
        """Enlarge the number of pages. Existing pages keep their numbers and contents."""
        if page_count <= self.page_count:
            return
        for number, old in enumerate(self._pages):
            new = numpy.zeros(self._shape(page_count), old.dtype)
            new[: len(old)] = old
            self._pages[number] = new
        self.page_count = page_count

    def step(self, step: Step) -> ndarray:
        """Write keys and values of the tokens to their slots. Return logits f32 [results, vocabulary]."""
        found, *pages = self._function(*step, *self._pages)
        self._pages = pages
        result: ndarray = found
        return result

    def copy_page(self, source: int, target: int) -> None:
        """Copy keys and values of a page, for sequences that share a part of it."""
        for each in self._pages:
            each[target] = each[source]
