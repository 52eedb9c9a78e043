# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory between the parts of kernels is in the graph's arena, which lives until the last kernel ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_gpu import device_of_a_test, run_emulated
from relax_mlir.runtime import Executable

import relax_mlir as rx
from relax_mlir import relax


def program(rows: int | str, level: int = 0) -> Executable:
    """Return a sum in parts, after the last use of a temporary."""
    module = rx.Module()
    with module.function("main", [rx.tensor((rows, 9))]) as f:
        (x,) = f
        half = relax.multiply(relax.cumsum(x, axis=0), relax.const(0.5, "float32"))
        y = relax.minimum(x, relax.cumsum(half, axis=1))
        f.returns(relax.sum(y, axis=[0, 1], keepdims=True), y)
    return rx.compile(module, "cuda", opt_level=level, jobs=1, cache=False)


def expected(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    y = np.minimum(x, (x.cumsum(0) / 2).cumsum(1))
    return y.sum(keepdims=True), y


@pytest.mark.parametrize("level", [0, 2, 3])
@pytest.mark.parametrize("rows", [33, "k"])
def test_the_arena_is_there_until_the_last_kernel_is_done(rows: int | str, level: int) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (33, 9)).astype("float32")
    for found, wanted in zip(run_emulated(program(rows, level), x), expected(x), strict=True):
        np.testing.assert_array_equal(found, wanted)


def _messages(driver: Any, main: Any, x: np.ndarray) -> list[str]:
    """Return the messages for a failure of each allocation of a call."""
    main(x)
    before = len(driver.calls("cuMemAllocAsync"))
    main(x)
    messages = []
    for number in range(1, 1 + len(driver.calls("cuMemAllocAsync")) - before):
        driver.fail["cuMemAllocAsync"] = len(driver.calls("cuMemAllocAsync")) + number, 2
        try:
            main(x)
        except MemoryError as error:
            messages.append(str(error))
        else:
            raise AssertionError(f"allocation {number} is not looked at")
    driver.fail.clear()
    return messages


@pytest.mark.parametrize("rows", [33, 0])
def test_no_room_for_it_is_an_error(rows: int) -> None:
    """Fail without memory, also without temporaries, with no leak and a working next call."""
    x = np.ones((rows, 9), "float32")
    with device_of_a_test() as driver:
        executable = program("k")
        main = executable.copying()["main"]
        assert any("no room for temporaries of" in each for each in _messages(driver, main, x))
        for found, wanted in zip(main(x), expected(x), strict=True):
            np.testing.assert_array_equal(found, wanted)
        del executable, main
