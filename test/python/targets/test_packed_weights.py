# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of constant weights that are packed in groups of rows: whole vectors are read, whatever the columns.

Each program has one function: LLVM folds a read past the end of a constant only if it sees the whole program.
"""

from __future__ import annotations

import numpy
import pytest
from ml_dtypes import bfloat16

import relax_mlir as rx
from relax_mlir import relax

_numbers = numpy.random.default_rng(5)
#: Optimizes like the default level. `make test` turns LLVM's optimization off at the default level only.
_LEVEL = 3


def _run(module: rx.Module, *inputs: numpy.ndarray) -> numpy.ndarray:
    compiled = rx.compile(module, "llvm", opt_level=_LEVEL, cache=False)
    return numpy.from_dlpack(compiled["main"](*inputs))


@pytest.mark.parametrize("columns", range(1, 18))
@pytest.mark.parametrize(("batch", "steps"), [(1, 8), (2, 4), (3, 7)])
@pytest.mark.parametrize("kinds", [("uint8", "int8"), ("int8", "int8"), ("bfloat16", "bfloat16")])
def test_batched_products_read_no_columns_behind_the_weights(
    kinds: tuple[str, str], batch: int, steps: int, columns: int
) -> None:
    is_float = kinds[0] == "bfloat16"
    low = 0 if kinds[0] == "uint8" else -9
    x, w = _numbers.integers(low, 9, (batch, 4, steps)), _numbers.integers(-9, 9, (batch, steps, columns))
    types = [bfloat16 if is_float else numpy.dtype(kind) for kind in kinds]
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((batch, 4, steps), kinds[0])}) as f:
        out = "float32" if is_float else "int32"
        f.returns(relax.matmul(*f, relax.const(w.astype(types[1])), out_dtype=out))
    numpy.testing.assert_array_equal(_run(module, x.astype(types[0])), x @ w)


@pytest.mark.parametrize("channels", range(1, 18))
@pytest.mark.parametrize("outputs", [1, 2, 5, 9])
def test_channels_last_convolutions_read_no_outputs_behind_the_weights(channels: int, outputs: int) -> None:
    x = _numbers.integers(0, 256, (2, 3, 3, channels), "uint8")
    w = _numbers.integers(-128, 128, (1, 1, channels, outputs), "int8")
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(x.shape, "uint8")}) as f:
        layout = {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_dtype": "int32"}
        f.returns(relax.nn.conv2d(*f, relax.const(w), **layout))
    numpy.testing.assert_array_equal(_run(module, x), x.astype(int) @ w[0, 0].astype(int))
