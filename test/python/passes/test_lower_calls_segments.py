# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In-place kernels with loops that share a run-time size: whole tiles, whole vectors, the remainder."""

from __future__ import annotations

import pytest
from memref_kernels import kernel_of, loop, move, vectors

LONG = "memref<?xf32>"


def segments(*steps: int, size: str = "%n", rounded: str = "by rest") -> str:
    """Return loops in steps of vectors of 8 as far as possible, in sequence, then element by element."""
    lines, start = "", "%c0"
    for step in steps:
        by = f"%s{step} = arith.constant {step} : index\n"
        if rounded == "by rest":
            by += f"%m{step} = arith.remui {size}, %s{step} : index\n%e{step} = arith.subi {size}, %m{step} : index\n"
        else:
            by += f"%m{step} = arith.divui {size}, %s{step} : index\n%e{step} = arith.muli %m{step}, %s{step} : index\n"
        shifts = "".join(f"%o{at} = arith.constant {at} : index\n" for at in range(0, step, 8))
        moves = "".join(
            f"%i{at} = arith.addi %i, %o{at} : index\n{vectors(f'%i{at}', f'%i{at}', 8, LONG)}".replace("%v", f"%v{at}")
            for at in range(0, step, 8)
        )
        lines += by + loop(shifts + moves, bounds=f"{start} to %e{step} step %s{step}")
        start = f"%e{step}"
    return lines + loop(move("%i", "%i", LONG), bounds=f"{start} to {size} step %c1")


@pytest.mark.parametrize("rounded", ["by rest", "by quotient"])
@pytest.mark.parametrize(
    ("steps", "size", "expected"),
    [
        ((64, 16, 8), "%n", True),
        ((64, 8), "%n", True),
        # The second loop may begin before the first one ends, or end before.
        ((64, 24), "%n", False),
        ((16, 64), "%n", False),
        # Both sizes are known not to be negative, and so is their product.
        ((64, 16), "%nn", True),
        ((64, 16), "%g", False),
    ],
)
def test_segments_of_a_size_that_is_known_at_run_time(
    steps: tuple[int, ...], size: str, expected: bool, rounded: str
) -> None:
    """Run whole tiles, then whole vectors, then the remainder: no loop reads elements that an earlier loop writes."""
    head = "%nn = arith.muli %n, %n : index\n%g = memref.load %w[%c0] : memref<64xindex>\n"
    kernel = kernel_of(head + segments(*steps, size=size, rounded=rounded), LONG)
    assert kernel.may_overwrite(0, 2, is_alike=True) is expected


@pytest.mark.parametrize(("first", "expected"), [("%e", True), ("%m", False)])
def test_segments_of_the_rest(first: str, expected: bool) -> None:
    """Run steps of 8, steps of 4 in the remainder, and single steps in the last remainder: no earlier element is
    read."""
    body = "%m = arith.remui %n, %c8 : index\n%e = arith.subi %n, %m : index\n"
    body += "%l = arith.remui %m, %c4 : index\n%d = arith.subi %m, %l : index\n%f = arith.addi %e, %d : index\n"
    body += loop(vectors("%i", "%i", 8, LONG), bounds="%c0 to %e step %c8")
    body += loop(vectors("%i", "%i", 4, LONG), bounds=f"{first} to %f step %c4")
    body += loop(move("%i", "%i", LONG), bounds="%f to %n step %c1")
    assert kernel_of(body, LONG).may_overwrite(0, 2, is_alike=True) is expected
