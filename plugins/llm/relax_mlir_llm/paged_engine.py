# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engine on a compiled program: arrays of pages, and calls that write to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
import relax_mlir as rx

from .description import ADAPTED, LOGITS

if TYPE_CHECKING:
    from numpy import ndarray

    from .description import Description
    from .engine import Step


class PagedEngine:
    """Model with pages of keys and values. An `Engine`.

    The pages are where the program computes: a call of a device's program copies a `Step` there, and logits back.
    Several engines may share a program. One engine serves one call at a time.
    """

    def __init__(
        self, program: rx.runtime.Executable, description: Description, page_count: int, function: str = LOGITS
    ) -> None:
        """`function` is the function of the program that computes a step: `main`, or `hidden` for embeddings."""
        self._device = program.device
        self._memory = program.memory
        functions = program.copying()
        self._plain = functions[function]
        self.adapters = description.adapters if function == LOGITS else ()
        self._adapted = functions[ADAPTED] if self.adapters else None
        self._layout = description.pages
        self.vocabulary = description.vocabulary
        self.page_size = description.pages.page_size
        self.context = description.context
        self.page_count = 0
        self._pages: list[rx.runtime.ArrayOrTensor] = []
        self.grow(page_count)

    def grow(self, page_count: int) -> None:
        """Enlarge the number of pages. Existing pages keep their numbers and contents."""
        if page_count <= self.page_count:
            return
        try:
            arrays = [self._memory.zeros((page_count, *each), dtype) for each, dtype in self._layout.arrays().values()]
        except MemoryError as error:
            raise rx.OptionError(
                f"{self._device} has no room for {page_count} pages of keys and values: {error}; use fewer pages, a "
                "shorter context, or a smaller type of keys and values (kv)"
            ) from None
        for old, new in zip(self._pages, arrays, strict=False):
            self._memory.copy_rows(new, 0, old, 0, self.page_count)
        self._pages, self.page_count = arrays, page_count

    def step(self, step: Step) -> ndarray:
        """Write keys and values of the tokens to their slots. Return logits f32 [results, vocabulary].

        With the function `hidden`, the results are hidden states f32 [results, width].
        """
        *arrays, adapters = step
        plans: ndarray
        used = numpy.unique(adapters[adapters > 0])
        if self._adapted is not None and used.size:
            plans = self._adapted(*arrays, adapters, used, *self._pages)
        else:
            plans = self._plain(*arrays, *self._pages)
        return plans

    def copy_page(self, source: int, target: int) -> None:
        """Copy keys and values of a page, for sequences that share a part of it."""
        for page in self._pages:
            self._memory.copy_rows(page, target, page, source, 1)
