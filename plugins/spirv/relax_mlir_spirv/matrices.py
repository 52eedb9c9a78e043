# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cooperative matrices that a device multiplies: their types and sizes, as in the target's option and in plans."""

from __future__ import annotations

import re
from typing import NamedTuple

#: Prefix of the instruction's name in plans: cooperative_f16_16x16x16_32.
INSTRUCTION = "cooperative"
#: Sums are f32 for f16, and i32 for signed and unsigned bytes.
FACTORS = ("f16", "i8", "ui8")
LEAST, MOST = 4, 128
#: Most adjacent elements of a row per thread.
_MOST_LANES = 4


class Matrices(NamedTuple):
    """Product of a rows x steps matrix and a steps x columns matrix, by a subgroup of `threads` threads."""

    factors: str
    rows: int
    columns: int
    steps: int
    threads: int

    def __str__(self) -> str:
        return f"{self.factors}:{self.rows}x{self.columns}x{self.steps}"

    @property
    def instruction(self) -> str:
        return f"{INSTRUCTION}_{self.factors}_{self.rows}x{self.columns}x{self.steps}_{self.threads}"

    # ---- owners of results, after threads have read them from memory ----

    @property
    def lanes(self) -> int:
        """Number of adjacent elements in a row of the result per thread, so that all threads have some."""
        lanes = min(_MOST_LANES, self.columns)
        while lanes > 1 and (self.columns // lanes) * self.rows < self.threads:
            lanes //= 2
        return max(lanes, self.columns // self.threads)

    @property
    def threads_across(self) -> int:
        return self.columns // self.lanes

    @property
    def threads_down(self) -> int:
        return self.threads // self.threads_across

    @property
    def rows_of_thread(self) -> int:
        return self.rows // self.threads_down


def matrices_of_text(text: str, threads: int) -> Matrices | None:
    """Parse a text such as f16:16x16x16, for subgroups of `threads`.

    None for other texts, and for matrices with fewer results than threads.
    """
    match = re.fullmatch(rf"({'|'.join(FACTORS)}):(\d+)x(\d+)x(\d+)", text)
    if match is None:
        return None
    rows, columns, steps = map(int, match.groups()[1:])
    fits = all(LEAST <= size <= MOST and not size & (size - 1) for size in (rows, columns, steps))
    return Matrices(match[1], rows, columns, steps, threads) if fits and rows * columns >= threads else None


def matrices_of_instruction(name: str) -> Matrices | None:
    """Parse an instruction's name. Return None for other instructions."""
    _, factors, sizes, threads = [*name.split("_"), *[""] * 3][:4]
    matrices = matrices_of_text(f"{factors}:{sizes}", int(threads)) if threads.isdigit() and int(threads) else None
    return matrices if matrices is not None and matrices.instruction == name else None
