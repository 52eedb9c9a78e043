# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that move memory access whole sectors: warps touch only the sectors they need, and read rows once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_gpu import run_emulated, traffic_of
from relax_mlir.runtime import tensor, to_numpy

import relax_mlir as rx

_LAST, _FIRST = {"axis": [-1]}, {"axis": [0]}


def compiled(name: str, shapes: Any, dtype: str = "float32", **attributes: Any) -> Any:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(rx.find_op(name)(*f, **attributes))
    return rx.compile(module, target="cuda", opt_level=3)  # the usual level is not optimized here (conftest.py)


def values(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(5).normal(size=shape).astype(dtype)


CASES: dict[str, tuple[str, Any, str, dict[str, Any]]] = {
    "add": ("relax.add", [(64, 100), (64, 100)], "float32", {}),
    "add_row": ("relax.add", [(64, 100), (100,)], "float16", {}),
    "softmax_64": ("relax.nn.softmax", [(40, 64)], "float32", {"axis": -1}),
    "softmax_1000": ("relax.nn.softmax", [(6, 1000)], "float16", {"axis": -1}),
    "softmax_4096": ("relax.nn.softmax", [(3, 4096)], "float32", {"axis": -1}),
    "layer_norm": ("relax.nn.layer_norm", [(24, 768), (768,), (768,)], "float32", {"axes": [-1]}),
    "rms_norm": ("relax.nn.rms_norm", [(5, 2048), (2048,)], "float16", {"axes": [-1]}),
    "mean_of_rows": ("relax.mean", [(64, 200)], "float32", _LAST),
    "sum_of_short_rows": ("relax.sum", [(128, 16)], "float32", _LAST),
    "sum_of_columns": ("relax.sum", [(4096, 64)], "float32", _FIRST),
    "sum_of_few_columns": ("relax.sum", [(3000, 96)], "float16", _FIRST),
    "sum_of_middle": ("relax.sum", [(4, 100, 64)], "float32", {"axis": [1]}),
    "statistics": ("relax.mean", [(4, 16, 12, 12)], "float32", {"axis": [0, 2, 3]}),
    "statistics_open": ("relax.mean", [("n", 16, "h", "w")], "float32", {"axis": [0, 2, 3]}),
    "transpose": ("relax.permute_dims", [(96, 160)], "float32", {"axes": [1, 0]}),
    "transpose_f16": ("relax.permute_dims", [(96, 160)], "float16", {"axes": [1, 0]}),
    "transpose_i8": ("relax.permute_dims", [(128, 256)], "int8", {"axes": [1, 0]}),
    "to_channels_last": ("relax.permute_dims", [(2, 64, 10, 16)], "float32", {"axes": [0, 2, 3, 1]}),
    "heads": ("relax.permute_dims", [(2, 32, 3, 64)], "float32", {"axes": [0, 2, 3, 1]}),
}


@pytest.mark.parametrize("case", CASES)
def test_warps_touch_no_more_sectors_than_they_need(case: str) -> None:
    name, shapes, dtype, attributes = CASES[case]
    executable = compiled(name, shapes, dtype, **attributes)
    sizes = {"n": 4, "h": 12, "w": 20}
    given = [tuple(sizes.get(size, size) for size in shape) for shape in shapes]
    traffic = traffic_of(executable, *(tensor(values(shape, dtype)) for shape in given))
    for kernel, each in traffic.items():
        assert each.waste <= 1.3, (kernel, each)


@pytest.mark.parametrize("case", ["softmax_64", "softmax_1000", "softmax_4096", "layer_norm", "rms_norm"])
def test_a_row_is_read_once_and_written_once(case: str) -> None:
    name, shapes, dtype, attributes = CASES[case]
    rows, *rest = (values(shape, dtype) for shape in shapes)
    (traffic,) = traffic_of(compiled(name, shapes, dtype, **attributes), *map(tensor, (rows, *rest))).values()
    assert traffic.writes.bytes == rows.nbytes
    assert traffic.reads.bytes == rows.nbytes * (1 + len(rest))


def _softmax(x: np.ndarray) -> np.ndarray:
    wide = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return wide / wide.sum(-1, keepdims=True)


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64"))
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (9, 31), (3, 64), (5, 1027), (2, 4100), (1, 33000), (0, 8)])
@pytest.mark.parametrize("is_known", (True, False))
def test_rows_of_any_length(shape: tuple[int, int], dtype: str, is_known: bool) -> None:
    x = values(shape, dtype)
    executable = compiled("relax.nn.softmax", [shape if is_known else ("n", "m")], dtype, axis=-1)
    found = to_numpy(run_emulated(executable, tensor(x)))
    tolerance = {"rtol": 2e-3, "atol": 1e-7} if dtype == "float16" else {"rtol": 1e-5}
    np.testing.assert_allclose(found, _softmax(x) if x.size else x, **tolerance)


def test_rows_with_nan_and_infinity() -> None:
    x = values((6, 100))
    x[1, 50], x[2, 99], x[3, :] = np.nan, -np.inf, -np.inf
    x[4, 3] = np.inf
    with np.errstate(all="ignore"):
        wanted = _softmax(np.where(np.isnan(x).any(-1, keepdims=True), np.nan, x))
    found = to_numpy(run_emulated(compiled("relax.nn.softmax", [(6, 100)], axis=-1), tensor(x)))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("dtype", ("bool", "int8", "float16", "float32", "float64"))
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((33, 65), (1, 0)), ((3, 40, 9), (0, 2, 1)), ((64, 128), (1, 0)), ((9, 2, 33, 8), (3, 1, 0, 2)), ((0, 9), (1, 0)),
     ((2, 3, 8, 2, 40), (4, 1, 0, 3, 2))],
)  # fmt: skip
@pytest.mark.parametrize("is_known", (True, False))
def test_transposes(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str, is_known: bool) -> None:
    x = np.random.default_rng(6).integers(0, 2 if dtype == "bool" else 99, shape).astype(dtype)
    given = shape if is_known else tuple("abcde"[: len(shape)])
    executable = compiled("relax.permute_dims", [given], dtype, axes=list(axes))
    np.testing.assert_array_equal(to_numpy(run_emulated(executable, tensor(x))), x.transpose(axes))
