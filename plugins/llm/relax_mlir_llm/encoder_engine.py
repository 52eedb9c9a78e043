# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engine of a model that has embeddings only, for a scheduler without requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import relax_mlir as rx

if TYPE_CHECKING:
    from numpy import ndarray

    from .description import Description
    from .engine import Step


class EncoderEngine:
    """Engine without logits. An `Engine`."""

    page_count = 1
    adapters: tuple[str, ...] = ()

    def __init__(self, description: Description) -> None:
        self.vocabulary, self.context = description.vocabulary, description.context
        self.page_size = description.page_size
        self._name = description.name

    def step(self, step: Step) -> ndarray:
        raise no_logits(self._name)

    def copy_page(self, source: int, target: int) -> None:
        """Do nothing: there are no keys and values."""


def no_logits(name: str) -> rx.RefusalError:
    """Return the error of a use that needs logits."""
    return rx.RefusalError(f"{name} is an encoder: it has embeddings, and neither logits nor answers")
