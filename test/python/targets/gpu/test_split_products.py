# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Thin products and convolutions with steps that blocks share: plans, and results against numpy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from assembler import needs_ptxas
from emulated_gpu import run_emulated
from relax_mlir.runtime import Executable, tensor, to_numpy
from relax_mlir.targets.cuda.objects.arch import find_arch
from relax_mlir.targets.cuda.objects.cubin import resources

import relax_mlir as rx
from relax_mlir import relax

CORES = find_arch("sm_80").multiprocessors


def dense(rows: int | str, columns: int | str, steps: int | str, dtype: str, batches: Sequence[int] = ()) -> rx.Module:
    """Return a layer: a product, a bias and a ReLU."""
    module = rx.Module()
    shapes = ((*batches, rows, steps), (*batches, steps, columns), (columns,))
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        x, w, b = f
        f.returns(relax.nn.relu(relax.add(relax.matmul(x, w), b)))
    return module


def plan_of(module: rx.Module) -> str:
    (found,) = re.findall(
        r'tir\.plan = "(order[^"]*)"', str(rx.stages("cuda").until("plan").run(module, "cuda") or module)
    )
    return str(found)


def blocks_of(plan: str, rows: int, columns: int) -> int:
    """Return the number of blocks in all parts."""
    tiles, threads = (
        dict(
            (int(dim), int(count)) for dim, count in re.findall(r"(\d+): (\d+)", re.search(rf"{word} ([^;]*)", plan)[1])
        )  # type: ignore[index]
        for word in ("tile", "threads")
    )
    lanes, parts = int(re.search(r"vector 1 x (\d+)", plan)[1]), re.search(r"parts 2: (\d+)", plan)  # type: ignore[index]
    high, wide = tiles.get(0, 1) * threads.get(0, 1), tiles.get(1, 1) * threads[1] * lanes
    return -(-rows // high) * -(-columns // wide) * (int(parts[1]) if parts else 1)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 8, 13, 16])
def test_decoding_uses_all_cores(rows: int, dtype: str) -> None:
    plan = plan_of(dense(rows, 4096, 4096, dtype))
    assert CORES <= blocks_of(plan, rows, 4096) <= 4 * CORES, plan


@pytest.mark.parametrize(
    "sizes,parts",
    [
        ((512, 512, 65536), "13"),
        ((4096, 4096, 4096), None),
        # Too few steps to be worth another launch.
        ((16, 512, 256), None),
        (("n", 4096, 4096), "216 blocks of 256"),
        ((16, 256, "n"), "216 blocks of 256"),
        (("n", 768, 256), None),
        (("n", 32000, 4096), None),
    ],
)
def test_small_products_of_long_sums_are_split(sizes: Sequence[int | str], parts: str | None) -> None:
    plan = plan_of(dense(*sizes, dtype="float16"))
    found = re.search(r"parts 2: ([^;]*)", plan)
    assert (found[1] if found else None) == parts, plan


def layer(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    x, w, b = (each.astype(np.float64) for each in (x, w, b))
    return np.maximum(x @ w + b, 0)


def values(shape: Sequence[int], dtype: Any) -> np.ndarray:
    return (np.random.default_rng(sum(shape)).integers(-8, 8, shape) / 8).astype(dtype)


def run(program: Executable, *arrays: np.ndarray) -> np.ndarray:
    given = [tensor(each) for each in arrays]
    return to_numpy(run_emulated(program, *given), arrays[0].dtype)


def checked(program: Executable, rows: int, columns: int, steps: int, dtype: Any, batches: Sequence[int] = ()) -> None:
    shapes = ((*batches, rows, steps), (*batches, steps, columns), (columns,))
    arrays = [values(shape, dtype) for shape in shapes]
    found, expected = run(program, *arrays), layer(*arrays)
    tolerance = {2: 1e-2, 4: 1e-6}[np.dtype(dtype).itemsize]
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=0, atol=tolerance * expected.max())


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "sizes", [(1, 24, 2048), (5, 40, 2051), (8, 40, 3072), (17, 33, 3077), (3, 33, 1023)], ids=lambda each: str(each)
)
def test_known_sizes(sizes: Sequence[int], dtype: str) -> None:
    module = dense(*sizes, dtype=dtype)
    assert "parts" in plan_of(dense(*sizes, dtype=dtype))
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    checked(rx.compile(module, "cuda"), *sizes, dtype=kind)


def test_batches() -> None:
    checked(rx.compile(dense(9, 20, 1030, "float32", (2,)), "cuda"), 9, 20, 1030, "float32", (2,))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("which", ["m", "k", "mnk"])
def test_sizes_that_only_the_run_tells(dtype: str, which: str) -> None:
    known = {"m": 9, "n": 33, "k": 1025}
    module = dense(*[name if name in which else size for name, size in known.items()], dtype=dtype)
    program = rx.compile(module, "cuda")
    for others in ({}, {"m": 3, "k": 300}, {"m": 1, "n": 70}, {"m": 0}, {"k": 0}):
        sizes = {name: others.get(name, size) if name in which else size for name, size in known.items()}
        if sizes["m"] and sizes["k"]:
            checked(program, *sizes.values(), dtype=dtype)
            continue
        arrays = [
            values((sizes["m"], sizes["k"]), dtype),
            values((sizes["k"], sizes["n"]), dtype),
            values((sizes["n"],), dtype),
        ]
        np.testing.assert_array_equal(run(program, *arrays), layer(*arrays).astype(dtype))


@pytest.mark.parametrize("dtype,groups", [("float32", 1), ("float16", 1), ("float32", 2)])
def test_convolutions(dtype: str, groups: int) -> None:
    module = rx.Module()
    channels = 64 if dtype == "float32" else 256
    shapes = ((1, channels * groups, 5, 5), (8 * groups, channels, 3, 3))
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(relax.nn.conv2d(*f, padding=[1, 1, 1, 1], groups=groups, strides=[2, 2]))
    program = rx.compile(module, "cuda")
    assert len(program._artifact.devices[0].kernels) >= 3
    assert "parts" in plan_of(module.clone() if hasattr(module, "clone") else module)
    x, w = (values(shape, dtype) for shape in shapes)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(np.float64)
    expected = np.zeros((1, 8 * groups, 3, 3))
    for group in range(groups):
        mine, filters = slice(group * channels, (group + 1) * channels), slice(group * 8, (group + 1) * 8)
        for i in range(3):
            for j in range(3):
                part = padded[:, mine, i : i + 5 : 2, j : j + 5 : 2]
                expected[:, filters] += np.einsum("nchw,oc->nohw", part, w[filters, :, i, j].astype(np.float64))
    found = run(program, x, w)
    np.testing.assert_allclose(
        found.astype(np.float64), expected, rtol=0, atol=(1e-6 if dtype == "float32" else 5e-3) * 64
    )


def test_sums_of_bytes_are_exact_and_others_special() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((16, 2049), "int8"), rx.tensor((2049, 24), "int8")]) as f:
        f.returns(relax.matmul(*f, out_dtype="int32"))
    random = np.random.default_rng(3)
    x, w = (
        random.integers(-128, 128, (16, 2049)).astype(np.int8),
        random.integers(-128, 128, (2049, 24)).astype(np.int8),
    )
    found = to_numpy(run_emulated(rx.compile(module, "cuda"), tensor(x), tensor(w)))
    np.testing.assert_array_equal(found, x.astype(np.int32) @ w.astype(np.int32))
    program = rx.compile(dense(8, 20, 1024, "float32"), "cuda")
    x, w, b = (values(shape, np.float32) for shape in ((8, 1024), (1024, 20), (20,)))
    x[0, 700], x[1, 3], x[2, 1023], w[:, 5] = np.nan, np.inf, -np.inf, -0.0
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(run(program, x, w, b), layer(x, w, b), rtol=1e-5, atol=1e-4)


def test_results_are_the_same_at_each_run() -> None:
    program = rx.compile(dense(8, 20, 4096, "float32"), "cuda")
    random = np.random.default_rng(3)
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in ((8, 4096), (4096, 20), (20,))]
    first = run(program, *arrays)
    assert all((run(program, *arrays) == first).all() for _ in range(2))
    code = bytes(program._artifact.devices[0].data).decode()
    assert not re.search(r"^\s+(@\S+ )?(atom|red)\.", code, re.MULTILINE)


@needs_ptxas
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100"])
def test_nothing_spills(arch: str) -> None:
    module = rx.Module()
    cases = {"row": (1, "float16"), "rows": (16, "float16"), "plain": (16, "float32"), "any": ("n", "float16")}
    for name, (rows, dtype) in cases.items():
        with module.function(name, [rx.tensor((rows, 4096), dtype), rx.tensor((4096, 4096), dtype)]) as f:
            f.returns(relax.matmul(*f))
    program = rx.compile(module, f"cuda{{arch={arch}}}", opt_level=3)
    used = resources(bytes(program._artifact.devices[0].data).decode().rstrip("\0"), arch)
    assert len(used) >= 2 * len(cases) and not any(each.spills for each in used.values()), used
