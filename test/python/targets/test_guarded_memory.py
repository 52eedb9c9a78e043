# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels between inaccessible pages: inputs, constants, temporaries and results end before pages without access."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import guarded_arena
import numpy
import pytest
from ml_dtypes import bfloat16
from relax_mlir.runtime.constant_memory import ConstantMemory
from relax_mlir.runtime.guard_pages import guarded, guarded_results
from relax_mlir_proof.testing import isolated

import relax_mlir as rx
from relax_mlir import relax

_numbers = numpy.random.default_rng(11)
_LIMIT_S = 300.0
#: Optimizes like the default level. `make test` turns LLVM's optimization off at the default level only.
_LEVEL = 3


def _layers(kinds: tuple[str, str], sizes: tuple[int, int, int]) -> tuple[rx.Module, list[numpy.ndarray]]:
    """Return two products with a temporary between them, both with constant weights, and an input."""
    rows, inner, columns = sizes
    total = "float32" if kinds[0] in ("float32", "bfloat16") else "int32"
    w, v = (_numbers.integers(-4, 4, shape).astype(_type(kinds[1])) for shape in ((2, inner, columns), (2, columns, 3)))
    x = _numbers.integers(0, 4, (2, rows, inner)).astype(_type(kinds[0]))
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(x.shape, kinds[0])}) as f:
        first = relax.matmul(*f, relax.const(w), out_dtype=total)
        limited = relax.astype(relax.clip(first, 0, 7), kinds[0])
        f.returns(relax.matmul(limited, relax.const(v), out_dtype=total))
    return module, [x]


def _convolutions(kinds: tuple[str, str], sizes: tuple[int, int, int]) -> tuple[rx.Module, list[numpy.ndarray]]:
    """Return a convolution of channels last, a pool and another convolution, and an input."""
    rows, inner, columns = sizes
    total = "float32" if kinds[0] in ("float32", "bfloat16") else "int32"
    w = _numbers.integers(-4, 4, (3, 3, inner, columns)).astype(_type(kinds[1]))
    v = _numbers.integers(-4, 4, (1, 1, columns, 2)).astype(_type(kinds[1]))
    x = _numbers.integers(0, 4, (1, rows + 2, 5, inner)).astype(_type(kinds[0]))
    layout = {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_dtype": total}
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(x.shape, kinds[0])}) as f:
        first = relax.nn.conv2d(*f, relax.const(w), padding=(1, 1), **layout)
        limited = relax.astype(relax.clip(first, 0, 7), kinds[0])
        f.returns(relax.nn.conv2d(limited, relax.const(v), **layout))
    return module, [x]


def _type(name: str) -> numpy.dtype:
    return numpy.dtype(bfloat16 if name == "bfloat16" else name)


def _run(module: rx.Module, inputs: list[numpy.ndarray], **options: Any) -> tuple[list[bytes], int]:
    """Return the bytes of the results with guarded arguments at both ends, and the number of allocations."""
    before = guarded_arena.count()
    program = guarded_arena.with_guarded_arena(module, **options)
    results = []
    for at_end in (True, False):
        with guarded_results():
            result = program["main"](*(guarded(each, at_end=at_end) for each in inputs))
        results.append(numpy.from_dlpack(result).tobytes())
    return results, guarded_arena.count() - before


@pytest.mark.parametrize("sizes", [(1, 8, 2), (4, 5, 9), (3, 17, 7), (7, 16, 33)])
@pytest.mark.parametrize(
    "kinds", [("uint8", "int8"), ("int8", "int8"), ("bfloat16", "bfloat16"), ("float32", "float32")]
)
@pytest.mark.parametrize("build", [_layers, _convolutions])
def test_kernels_stay_between_guard_pages(
    build: Callable[..., tuple[rx.Module, list[numpy.ndarray]]], kinds: tuple[str, str], sizes: tuple[int, int, int]
) -> None:
    module, inputs = build(kinds, sizes)
    expected = numpy.asarray(rx.reference(module)["main"](*inputs)).tobytes()
    found = isolated.alone(lambda: _run(module, inputs, opt_level=_LEVEL), _LIMIT_S, lambda cause, phase: (cause, 0))
    assert found[0] == [expected, expected]
    assert found[1] > 0  # a temporary


def _read_behind(memory: str) -> float:
    """Read the byte behind a constant or a temporary."""
    if memory == "temporary":
        module, inputs = _layers(("float32", "float32"), (4, 5, 9))
        _run(module, inputs)
        kept = guarded_arena.last()
        return float(ctypes.c_uint8.from_address(kept.address + kept.size).value)
    with guarded_results():
        constants = ConstantMemory([memoryview(bytes(64))])
        return float(ctypes.c_uint8.from_address(constants.table[0] + 64).value)


@pytest.mark.parametrize("memory", ["constant", "temporary"])
def test_a_read_behind_ends_the_process(memory: str) -> None:
    found = isolated.alone(lambda: _read_behind(memory), _LIMIT_S, lambda cause, phase: cause)
    assert found == "the process died of SIGSEGV"
