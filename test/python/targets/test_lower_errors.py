# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""host-lower-errors on functions that hold much memory and fail at many places: what that costs."""

from __future__ import annotations

import time

from relax_mlir.bindings.navigation import operations_in

import relax_mlir as rx


def failing(count: int) -> rx.Module:
    """A function that fails as often as it takes memory; all of it is given back at its end, the last one first."""
    begin = "\n".join(
        f'%t{i} = memref.alloc(%n) : memref<?xf32>\n"tir.assert"(%ok) {{message = "no"}} : (i1) -> ()'
        for i in range(count)
    )
    end = "\n".join(f"memref.dealloc %t{i} : memref<?xf32>" for i in reversed(range(count)))
    return rx.Module.parse(f"func.func @f(%n: index, %ok: i1) {{\n{begin}\n{end}\nreturn\n}}")


def lowered(count: int) -> tuple[float, int]:
    """The seconds that the pass takes, and the operations that it leaves."""
    module = failing(count)
    start = time.thread_time()
    rx.Pipeline(["host-lower-errors"]).run(module)
    return time.thread_time() - start, len(operations_in(module.owner.operation))


def test_four_times_as_many_failures_take_four_times_as_long() -> None:
    """A ratio of times in this run; quadratic would be 16, cubic 64."""
    few, more = (min(lowered(count)[0] for _ in range(3)) for count in (60, 240))
    assert more < 9 * few, f"{more / few:.1f} times as long for 4 times as many"


def test_the_code_grows_with_failures_and_memory_not_with_their_product() -> None:
    sizes = [lowered(count)[1] for count in (10, 20, 30)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0], f"operations for 10, 20, 30 failures: {sizes}"
