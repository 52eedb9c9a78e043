# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compilation leaves no objects to the garbage collector: a module's memory is freed with its last user."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


def rows() -> rx.Module:
    """Return products, rows, an epilogue, moved elements, and a reduction in a loop of its own."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 64)), rx.tensor((64, 64))]) as f:
        x, w = f
        weights = relax.nn.softmax(relax.matmul(relax.nn.relu(x), w))
        f.returns(relax.sum(relax.concat([weights, x], axis=1), axis=1))
    return module


def sorts() -> rx.Module:
    """Return sorts, and a product of integers."""
    module = rx.Module()
    with module.function("main", [rx.tensor((40, 70)), rx.tensor((16, 32), "int8")]) as f:
        x, y = f
        weights = relax.const(numpy.arange(32 * 48, dtype="int8").reshape(32, 48) % 7)
        f.returns(relax.sort(x), relax.matmul(y, weights, out_dtype="int32"))
    return module


def layers() -> rx.Module:
    """Return products of different widths, as many as are compiled apart from their program."""
    module, widths = rx.Module(), range(128, 320, 16)
    with module.function("main", [rx.tensor((64, widths[0]))]) as f:
        (x,) = f
        for inside, width in itertools.pairwise(widths):
            weights = numpy.ones((inside, width), "float32")
            x = relax.nn.relu(relax.matmul(x, relax.const(weights)))
        f.returns(x)
    return module


MODULES = {"digits": lambda: rx.from_onnx(DIGITS), "rows": rows, "sorts": sorts}


def owner_of(item: object) -> str:
    """Return the name of the module that defines an object's type or function."""
    named = item if isinstance(item, (FunctionType, MethodType)) else type(item)
    return str(named.__module__)


@pytest.mark.parametrize("target", ["llvm", "cuda{arch=sm_80}", "vulkan{threads=256}"])
@pytest.mark.parametrize("name", MODULES)
def test_no_garbage_of_ours_is_left(name: str, target: str) -> None:
    assert garbage_of(MODULES[name], target=target, jobs=1) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_kernels_that_are_compiled_apart_leave_none(jobs: int) -> None:
    assert garbage_of(layers, jobs=jobs) == []


def garbage_of(module: Callable[[], rx.Module], **options: Any) -> list[str]:
    """Return the names of our classes and functions whose objects a second compilation leaves to the collector."""
    rx.compile(module(), cache=False, **options)  # work that is done once in a process comes first
    gc.collect()
    flags = gc.get_debug()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        rx.compile(module(), cache=False, **options)
        gc.collect()
        found = {f"{owner_of(each)}.{getattr(each, '__qualname__', type(each).__name__)}" for each in gc.garbage}
    finally:
        gc.garbage.clear()
        gc.set_debug(flags)
        gc.enable()
    return sorted(each for each in found if each.startswith("relax_mlir"))
