# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with one thread per point: loops are collapsed, adjacent points are vectors, reductions include their
epilogues."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from emulated_gpu import run_emulated
from relax_mlir.runtime import tensor, to_numpy

import relax_mlir as rx


def compiled(name: str, shapes: Any, dtype: str = "float32", **attributes: Any) -> Any:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(rx.find_op(name)(*f, **attributes))
    return rx.compile(module, target="cuda", opt_level=3)  # the usual level is not optimized here (conftest.py)


def ptx_of(executable: Any) -> str:
    code, *_ = executable._artifact.devices
    return bytes(code.data).decode()


def ran(executable: Any, *arrays: np.ndarray) -> np.ndarray:
    return to_numpy(run_emulated(executable, *map(tensor, arrays)))


def values(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(3).integers(-9, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64", "int8"))
@pytest.mark.parametrize("sizes", ((3, 5, 64), (1, 1, 1), (7, 1, 3), (0, 4, 4), (2, 1023, 1)))
def test_what_all_operands_go_through_alike_needs_no_division(sizes: tuple[int, ...], dtype: str) -> None:
    executable = compiled("relax.add", [("a", "b", "c")] * 2, dtype)
    x, y = values(sizes, dtype), values(sizes, dtype)[::-1].copy()
    np.testing.assert_array_equal(ran(executable, x, y), x + y)
    assert not re.search(r"\b(div|rem)\.", ptx_of(executable))
    assert re.search(r"ld\.global\.v[24]\.b(32|64)", ptx_of(executable))


@pytest.mark.parametrize("other", [(32, 64), (32, 1), (4, 1, 64), (64,), (1,)])
def test_broadcast_operands_with_vectors(other: tuple[int, ...]) -> None:
    executable = compiled("relax.add", [(4, 32, 64), other])
    x, y = values((4, 32, 64)), values(other)
    np.testing.assert_array_equal(ran(executable, x, y), x + y)
    assert "st.global.v4.b32" in ptx_of(executable)


def test_rows_that_are_no_whole_vectors_are_done_point_by_point() -> None:
    executable = compiled("relax.add", [(4, 31), (4, 1)])
    x, y = values((4, 31)), values((4, 1))
    np.testing.assert_array_equal(ran(executable, x, y), x + y)
    assert ".v4" not in ptx_of(executable)


@pytest.mark.parametrize("axes", ((0, 2, 1), (2, 0, 1), (1, 0, 2), (2, 1, 0)))
@pytest.mark.parametrize("sizes", ((8, 12, 20), (3, 5, 7)))
def test_transposes_write_side_by_side(sizes: tuple[int, ...], axes: tuple[int, ...]) -> None:
    executable = compiled("relax.permute_dims", [sizes], axes=list(axes))
    x = values(sizes)
    np.testing.assert_array_equal(ran(executable, x), x.transpose(axes))
    # Longer ones are transposed in tiles (test_coalesced.py).
    is_long = min(sizes) >= 8 and axes[2] != 2
    assert ("st.global.v4.b32" in ptx_of(executable)) == (sizes[axes[2]] % 4 == 0 and not is_long)


@pytest.mark.parametrize("name", ("mean", "sum", "max"))
@pytest.mark.parametrize(("sizes", "axis"), [((6, 128), 1), ((6, 20, 3), 1), ((5, 130), 0), ((9, 1), 1)])
def test_a_reduction_is_one_kernel_with_its_start_and_its_end(name: str, sizes: tuple[int, ...], axis: int) -> None:
    executable = compiled(f"relax.{name}", [sizes], axis=[axis])
    x = values(sizes)
    np.testing.assert_allclose(ran(executable, x), getattr(x, name)(axis), rtol=1e-6)
    assert ptx_of(executable).count(".entry") == 1


@pytest.mark.parametrize(("length", "threads"), [(9, 128), (65, 32), (200, 32), (1000, 32), (3000, 256), (9000, 256)])
def test_threads_are_as_many_as_a_row_is_worth(length: int, threads: int) -> None:
    rows = 9000 if length == 9 else 3
    executable = compiled("relax.sum", [(rows, length)], axis=[1])
    x = values((rows, length))
    np.testing.assert_array_equal(ran(executable, x), x.sum(1))
    assert re.search(rf"\.(max|req)ntid {threads}\b", ptx_of(executable))


@pytest.mark.parametrize("shape", [(1, 1, 2, 3), (1, 1, 2, 2), (2, 1, 3, 5)])
def test_windows_that_do_not_move_end_before_the_axis(shape: tuple[int, ...]) -> None:
    """Remove a loop of one step, unless another size would look like the axis's."""
    x = values(shape)
    pool = compiled("relax.nn.max_pool2d", [shape], pool_size=(1, 2), strides=(1, 2))
    pairs = x[..., : x.shape[-1] // 2 * 2].reshape(*shape[:-1], -1, 2)
    np.testing.assert_array_equal(ran(pool, x), pairs.max(-1))
