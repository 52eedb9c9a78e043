# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost of host-lower-errors for functions with much live memory and many failure sites."""

from __future__ import annotations

import time

from relax_mlir.bindings.navigation import operations_in

import relax_mlir as rx


def failing(count: int) -> rx.Module:
    """Return a function with as many failure sites as allocations, all of which are released at the end in reverse."""
    begin = "\n".join(
        f'%t{i} = memref.alloc(%n) : memref<?xf32>\n"tir.assert"(%ok) {{message = "no"}} : (i1) -> ()'
        for i in range(count)
    )
    end = "\n".join(f"memref.dealloc %t{i} : memref<?xf32>" for i in reversed(range(count)))
    return rx.Module.parse(f"func.func @f(%n: index, %ok: i1) {{\n{begin}\n{end}\nreturn\n}}")


def lowered(count: int) -> tuple[float, int]:
    """Return the seconds of the pass, and the number of operations after it."""
    module = failing(count)
    start = time.thread_time()
    rx.Pipeline(["host-lower-errors"]).run(module)
    return time.thread_time() - start, len(operations_in(module.owner.operation))


def test_four_times_as_many_failures_take_four_times_as_long() -> None:
    """Compare times within this run: quadratic time would be a factor of 16, cubic 64."""
    few, more = (min(lowered(count)[0] for _ in range(3)) for count in (60, 240))
    assert more < 9 * few, f"{more / few:.1f} times as long for 4 times as many"


def test_the_code_grows_with_failures_and_memory_not_with_their_product() -> None:
    sizes = [lowered(count)[1] for count in (10, 20, 30)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0], f"operations for 10, 20, 30 failures: {sizes}"
