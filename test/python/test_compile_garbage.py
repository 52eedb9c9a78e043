# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compilation leaves nothing that only the garbage collector frees: a module's memory goes with its last user."""

from __future__ import annotations

import gc
from pathlib import Path
from types import FunctionType, MethodType

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


def rows() -> rx.Module:
    """Products, rows, an epilogue, elements that are moved, a reduction in a loop of its own."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 64)), rx.tensor((64, 64))]) as f:
        x, w = f
        weights = relax.nn.softmax(relax.matmul(relax.nn.relu(x), w))
        f.returns(relax.sum(relax.concat([weights, x], axis=1), axis=1))
    return module


def sorts() -> rx.Module:
    """Sorts, and a product of integers."""
    module = rx.Module()
    with module.function("main", [rx.tensor((40, 70)), rx.tensor((16, 32), "int8")]) as f:
        x, y = f
        weights = relax.const(numpy.arange(32 * 48, dtype="int8").reshape(32, 48) % 7)
        f.returns(relax.sort(x), relax.matmul(y, weights, out_dtype="int32"))
    return module


MODULES = {"digits": lambda: rx.from_onnx(DIGITS), "rows": rows, "sorts": sorts}


def owner_of(item: object) -> str:
    """The module that made it."""
    named = item if isinstance(item, (FunctionType, MethodType)) else type(item)
    return str(named.__module__)


@pytest.mark.parametrize("target", ["llvm", "cuda{arch=sm_80}", "vulkan{threads=256}"])
@pytest.mark.parametrize("name", MODULES)
def test_no_garbage_of_ours_is_left(name: str, target: str) -> None:
    rx.compile(MODULES[name](), target=target, cache=False, jobs=1)  # what is done once a process comes first
    gc.collect()
    flags = gc.get_debug()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        rx.compile(MODULES[name](), target=target, cache=False, jobs=1)
        gc.collect()
        found = sorted(
            {f"{owner_of(each)}.{getattr(each, '__qualname__', type(each).__name__)}" for each in gc.garbage}
        )
    finally:
        gc.garbage.clear()
        gc.set_debug(flags)
        gc.enable()
    assert sorted(each for each in found if each.startswith("relax_mlir")) == []
