# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention compiled for cuda, and run on the emulator."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
from attention_oracle import operands
from emulated_gpu import run_emulated
from prim_jit import compiled, dtype_name
from relax_mlir.runtime import tensor, to_numpy
from relax_mlir.targets.cuda.objects.arch import find_arch

import relax_mlir as rx

TOLERANCES = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 5e-6, "float64": 1e-13}
WINDOW = {"window_size": 50}
FIRST, LAST = {"causal_mask": "TopLeft"}, {"causal_mask": "BottomRight"}


def program(name: str, *arguments: Any, symbols: Any = (), arch: str = "sm_80", **options: Any) -> Any:
    shapes = symbols or [each.shape for each in arguments]
    infos = tuple(rx.tensor(tuple(shape), dtype_name(each)) for shape, each in zip(shapes, arguments, strict=True))
    literals = (None,) * len(arguments)
    return compiled(f"relax.nn.{name}", infos, literals, tuple(options.items()), f"cuda{{arch={arch}}}")


def ran(name: str, *arrays: Any, symbols: Any = (), arch: str = "sm_80", **options: Any) -> Any:
    return found_by(program(name, *arrays, symbols=symbols, arch=arch, **options), *arrays, arch=arch)


def found_by(executable: Any, *arrays: Any, arch: str = "sm_80") -> Any:
    found = run_emulated(executable, *map(tensor, arrays), capability=divmod(find_arch(arch).number, 10))
    return to_numpy(found, executable.signature("main")["outputs"][0].get("holds"))


def code(executable: Any) -> str:
    return bytes(executable._artifact.devices[0].data).decode().rstrip("\0")


def close(actual: Any, expected: Any) -> None:
    tolerance = TOLERANCES[actual.dtype.name]
    assert actual.shape == expected.shape
    numpy.testing.assert_allclose(actual.astype("float64"), expected, rtol=tolerance, atol=tolerance)


def of(batch: int, queries: int, keys: int, heads: tuple[int, int], size: int, width: int, dtype: str) -> list[Any]:
    return operands(batch, queries, keys, (*heads, heads[1]), size, width, getattr(ml_dtypes, dtype, dtype))
