# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cooperative matrices that a device multiplies: their types and sizes, as the target's option and plans name them."""

from __future__ import annotations

import re
from typing import NamedTuple

#: Of plans: cooperative_f16_16x16x16_32.
INSTRUCTION = "cooperative"
#: Sums of f16 are f32, of bytes, with sign or without, i32.
FACTORS = ("f16", "i8", "ui8")
LEAST, MOST = 4, 128
#: Of neighbours in a row, which are a thread's.
_MOST_LANES = 4


class Matrices(NamedTuple):
    """A subgroup of so many threads multiplies a matrix of rows and steps with one of steps and columns."""

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

    # ---- whose a result is, where threads have read it from memory ----

    @property
    def lanes(self) -> int:
        """How many neighbours in a row of the result are one thread's: all threads have some."""
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
    """Of f16:16x16x16, for subgroups of `threads`; None for what is none, or has less results than threads."""
    found = re.fullmatch(rf"({'|'.join(FACTORS)}):(\d+)x(\d+)x(\d+)", text)
    if found is None:
        return None
    rows, columns, steps = map(int, found.groups()[1:])
    fits = all(LEAST <= size <= MOST and not size & (size - 1) for size in (rows, columns, steps))
    return Matrices(found[1], rows, columns, steps, threads) if fits and rows * columns >= threads else None


def matrices_of_instruction(name: str) -> Matrices | None:
    """None where it is none."""
    _, factors, sizes, threads = [*name.split("_"), *[""] * 3][:4]
    found = matrices_of_text(f"{factors}:{sizes}", int(threads)) if threads.isdigit() and int(threads) else None
    return found if found is not None and found.instruction == name else None
