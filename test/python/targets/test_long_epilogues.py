# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long epilogues are loops over values from registers: the same results for all sizes, and little code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from scipy import special

import relax_mlir as rx
from relax_mlir import relax

TARGET = "llvm{vector-bytes=64 cores=2}"
Shape = tuple[int | str, ...]


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + special.erf(x / np.sqrt(2)))


def module_of(shapes: list[Shape], body: Callable[..., Any], dtype: str = "float32") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(body(*f))
    return module


def text_after(stage: str, module: rx.Module) -> str:
    return str(rx.lower(module, TARGET, pipeline=rx.stages(TARGET).until(stage)))


def operation_count(module: rx.Module) -> int:
    return sum(" = " in line for line in text_after("apply", module).splitlines())


@pytest.mark.parametrize("columns", [48, 33, 7])
def test_rows_of_any_number(columns: int) -> None:
    """Run whole tiles, shorter tiles after them, and no tile."""
    module = module_of([("n", 40), (40, columns)], lambda x, w: relax.nn.silu(relax.matmul(x, w)))
    program, random = rx.compile(module), np.random.default_rng(3)
    w = random.normal(size=(40, columns)).astype(np.float32)
    for rows in (0, 1, 2, 3, 4, 5, 12, 13, 14, 17, 31, 45, 64):
        x = random.normal(size=(rows, 40)).astype(np.float32)
        np.testing.assert_allclose(program["main"](x, w), silu(x @ w), rtol=2e-5, atol=2e-5)


def test_with_a_panel_and_threads() -> None:
    """Copy the columns of a large product to a panel, and apply the epilogue's loops afterwards."""
    module = module_of([("n", 512), (512, 700)], lambda x, w: relax.nn.gelu(relax.matmul(x, w)))
    program, random = rx.compile(module), np.random.default_rng(4)
    w = random.normal(size=(512, 700)).astype(np.float32) / 16
    for rows in (1, 61, 150):
        x = random.normal(size=(rows, 512)).astype(np.float32)
        np.testing.assert_allclose(program["main"](x, w), gelu(x @ w), rtol=1e-4, atol=1e-4)


def test_a_result_may_overwrite_the_added_input() -> None:
    """Reuse the memory of the added input, whose lifetime ends there."""
    module = module_of([("n", 64), (64, 64)], lambda x, w: relax.add(relax.nn.silu(relax.matmul(x, w)), relax.exp(x)))
    program, random = rx.compile(module), np.random.default_rng(5)
    x, w = (random.normal(size=shape).astype(np.float32) / 4 for shape in ((29, 64), (64, 64)))
    np.testing.assert_allclose(program["main"](x, w), silu(x @ w) + np.exp(x), rtol=2e-5, atol=2e-5)


def test_results_of_another_type() -> None:
    body = lambda x, w: relax.astype(relax.nn.silu(relax.matmul(x, w, out_dtype="float32")), "bfloat16")  # noqa: E731
    program, random = rx.compile(module_of([("n", 64), (64, 96)], body, "bfloat16")), np.random.default_rng(6)
    x, w = (random.normal(size=shape).astype(bfloat16) for shape in ((43, 64), (64, 96)))
    expected = silu(x.astype(np.float32) @ w.astype(np.float32))
    found = np.asarray(program["main"](x, w)).astype(np.float32)
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("sizes", [(1, 9, 15), (2, 14, 14), (3, 1, 33), (1, 2, 44)])
def test_convolutions_of_dynamic_images(sizes: tuple[int, int, int]) -> None:
    weights = np.random.default_rng(7).normal(size=(32, 16, 3, 3)).astype(np.float32) / 8
    body = lambda x: relax.nn.silu(relax.nn.conv2d(x, relax.const(weights), padding=[1, 1, 1, 1]))  # noqa: E731
    program = rx.compile(module_of([("n", 16, "h", "w")], body))
    batch, height, width = sizes
    x = np.random.default_rng(8).normal(size=(batch, 16, height, width)).astype(np.float32)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    expected = silu(np.einsum("nchwij,ocij->nohw", windows, weights))
    np.testing.assert_allclose(program["main"](x), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 32, 40, 40), ("n", 32, "h", "w")])
def test_the_code_of_a_long_epilogue_is_not_repeated(shape: Shape) -> None:
    """Check that the epilogue's code is not repeated for each vector of each tile."""
    weights = np.ones((32, 32, 3, 3), np.float32)

    def counted(activation: Callable[[Any], Any]) -> int:
        body = lambda x: activation(relax.nn.conv2d(x, relax.const(weights), padding=[1, 1, 1, 1]))  # noqa: E731
        return operation_count(module_of([shape], body))

    assert counted(relax.nn.silu) < 1.8 * counted(relax.nn.relu)


def test_parts_of_a_loop_of_whole_tiles_are_whole_tiles() -> None:
    """Share 16 blocks of channels with steps of two: no thread needs code for one block."""
    weights = np.ones((256, 256, 1, 1), np.float32)
    module = module_of([("n", 256, "h", "w")], lambda x: relax.nn.conv2d(x, relax.const(weights)))
    assert "tile 4: 1, 3: 14, 1: 2; parallel 1: by work" in text_after("plan", module)
    text = text_after("apply", module)
    assert ":28 = scf.for" in text and ":14 = scf.for" not in text


def test_borders_are_filled_by_one_thread_with_short_loops() -> None:
    weights = np.ones((32, 16, 3, 3), np.float32)
    body = lambda x: relax.nn.conv2d(x, relax.const(weights), padding=[1, 1, 1, 1])  # noqa: E731
    text = text_after("plan", module_of([("n", 16, "h", "w")], body))
    plans = [line for line in text.splitlines() if "rule elementwise" in line]
    borders = [line.split("tir.plan")[1] for line in plans if "outs(%extracted_slice" in line and "ins(%cst" in line]
    assert len(borders) == 4
    assert all("parallel" not in plan and ": 4" not in plan for plan in borders)
    assert any("parallel" in line.split("tir.plan")[1] for line in plans)
