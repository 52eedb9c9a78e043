# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interface between the scheduler, which decides what to compute, and a model, which computes it.

Keys and values of all sequences are in pages. A page has room for some tokens of one sequence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from numpy import ndarray


class Step(NamedTuple):
    """Tokens of one call, of any number of sequences: whole prompts, parts of prompts, or one token of each."""

    #: i32 [tokens]: the tokens. Tokens of one sequence are in the order of their positions.
    tokens: ndarray
    #: i32 [tokens]: the positions in their sequences. A token sees the tokens of its sequence up to its own position.
    positions: ndarray
    #: i32 [tokens]: the row of `table` of each token's sequence.
    sequences: ndarray
    #: i32 [tokens]: where keys and values of a token go: page * page size + place in the page; negative: nowhere.
    slots: ndarray
    #: i32 [sequences, most pages of a sequence]: pages of each sequence in the order of positions. The rest is 0.
    table: ndarray
    #: i32 [results]: tokens of this call with wanted logits.
    selected: ndarray
    #: i32 [sequences]: the adapter of each sequence, numbered from 1 as in `Engine.adapters`, or 0 for none.
    adapters: ndarray


class Engine(Protocol):
    """Model with pages of keys and values."""

    #: Tokens in the vocabulary, tokens in a page, pages, and positions of the longest sequence.
    vocabulary: int
    page_size: int
    page_count: int
    context: int
    #: Names of the adapters (LoRA) that sequences may have.
    adapters: tuple[str, ...]

    def step(self, step: Step) -> ndarray:
        """Write keys and values of the tokens to their slots. Return logits f32 [results, vocabulary]."""

    def copy_page(self, source: int, target: int) -> None:
        """Copy keys and values of a page, for sequences that share a part of it."""
