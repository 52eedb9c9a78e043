# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engine on a compiled program: arrays of pages, and calls that write to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
import relax_mlir as rx

from .description import LOGITS

if TYPE_CHECKING:
    from numpy import ndarray

    from .description import Description
    from .engine import Step


class PagedEngine:
    """Model with pages of keys and values. An `Engine`.

    Several engines may share a program. One engine serves one call at a time.
    """

    def __init__(
        self, program: rx.runtime.Executable, description: Description, page_count: int, function: str = LOGITS
    ) -> None:
        """`function` is the function of the program that computes a step: `main`, or `hidden` for embeddings."""
        # On a device, a call copies the pages to the device and back.
        self._function = program.copying()[function]
        self._layout = description.pages
        self.vocabulary = description.vocabulary
        self.page_size = description.pages.page_size
        self.context = description.context
        self.page_count = 0
        self._pages = [numpy.zeros((0, *shape), type_) for shape, type_ in self._layout.arrays().values()]
        self.grow(page_count)

    def grow(self, page_count: int) -> None:
        """Enlarge the number of pages. Existing pages keep their numbers and contents."""
        if page_count <= self.page_count:
            return
        for number, old in enumerate(self._pages):
            # The system maps zeros at their first use: pages without tokens take no memory.
            new = numpy.zeros((page_count, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            self._pages[number] = new
        self.page_count = page_count

    def step(self, step: Step) -> ndarray:
        """Write keys and values of the tokens to their slots. Return logits f32 [results, vocabulary].

        With the function `hidden`, the results are hidden states f32 [results, width].
        """
        found: ndarray = self._function(*step, *self._pages)
        return found

    def copy_page(self, source: int, target: int) -> None:
        """Copy keys and values of a page, for sequences that share a part of it."""
        for each in self._pages:
            each[target] = each[source]
