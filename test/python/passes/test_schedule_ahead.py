# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prefetching of weights before the step that reads them: each line at least once, and nothing beyond their end."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy
import pytest
import tvm_ffi
from relax_mlir.targets.core.backend import ChosenTarget

import relax_mlir as rx
from relax_mlir import relax

#: Vectors of 64 bytes and 32 registers, with and without instructions for pairs; nothing that this machine must have.
WIDE = "llvm{triple=x86_64-linux-gnu cpu=skylake-avx512}"
PAIRS = "llvm{triple=x86_64-linux-gnu cpu=znver4}"


def product(rows: int | str, steps: int, columns: int) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((rows, steps))]) as f:
        f.returns(relax.matmul(f.args[0], relax.const(numpy.ones((steps, columns), "float32"))))
    return module


def convolution(size: int, channels: int, results: int, window: int = 1, stride: int = 1) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((1, channels, size, size))]) as f:
        weights = relax.const(numpy.ones((results, channels, window, window), "float32"))
        f.returns(relax.nn.conv2d(f.args[0], weights, padding=[window // 2], strides=[stride]))
    return module


def lowered(module: rx.Module, target: str, precision: str = "f32") -> str:
    stages = rx.stages(target)
    if precision != "f32":
        stages = stages.insert_after("simplify", "precision", f"relax-to-mixed-precision{{dtype={precision}}}")
    return str(rx.lower(module, target, pipeline=stages.until("apply")))


def fetched(module: rx.Module, *inputs: Any) -> tuple[set[tuple[int, ...]], list[int]]:
    """Return the places of weights that a call fetches, and the sizes of their memref. A call replaces each fetch."""
    places: set[tuple[int, ...]] = set()
    tvm_ffi.register_global_func("test_ahead.noted", lambda *place: places.add(place) or 0, override=True)
    text = lowered(module, "llvm")
    shapes = {shape[1] for shape in re.finditer(r"memref\.prefetch .* : memref<([0-9x]+)xf32>", text)}
    (shape,) = shapes

    def call(found: re.Match[str]) -> str:
        types = ", ".join("index" for _ in found[1].split(","))
        return f'"tir.call_packed"({found[1]}) {{func = "test_ahead.noted"}} : ({types}) -> ()'

    text = re.sub(r"memref\.prefetch %\w+\[(.*?)\], read.*", call, text)
    program = rx.compile(rx.Module.parse(text), pipeline=rx.stages("llvm").between(start="apply"))
    program.threads = 1
    program["main"](*inputs)
    return places, list(map(int, shape.split("x")))


def lines(shape: list[int], first: int) -> set[tuple[int, ...]]:
    """Return all vectors of weights from a panel or block on."""
    lanes = rx.find_backend("llvm").machine(ChosenTarget("llvm")).lanes(32)
    outer = itertools.product(range(first, shape[0]), *map(range, shape[1:-1]))
    return {(*place, column) for place in outer for column in range(0, shape[-1], lanes)}


@pytest.mark.parametrize("rows", [64, 61, "n"])
def test_products_fetch_the_panel_behind(rows: int | str) -> None:
    places, shape = fetched(product(rows, 24, 256), numpy.ones((61 if rows == 61 else 64, 24), "float32"))
    assert places >= lines(shape, 1)
    assert all(0 <= at < size for place in places for at, size in zip(place, shape, strict=True))


def test_a_row_alone_fetches_nothing() -> None:
    """Fetch nothing for a single row of a dynamic number: the fetches would take as long as the computation."""
    places, _ = fetched(product("n", 24, 256), numpy.ones((1, 24), "float32"))
    assert not places


def test_few_rows_fetch_several_vectors_at_once() -> None:
    """Fetch half of the operand in each of two steps of rows."""
    places, shape = fetched(product(17, 24, 256), numpy.ones((17, 24), "float32"))
    assert places >= lines(shape, 1)


@pytest.mark.parametrize(("size", "window", "stride"), [(7, 1, 1), (7, 3, 1), (14, 3, 2)])
def test_convolutions_fetch_the_channels_behind(size: int, window: int, stride: int) -> None:
    module = convolution(size, 32, 64, window, stride)
    places, shape = fetched(module, numpy.ones((1, 32, size, size), "float32"))
    first = min(place[0] for place in places)
    assert 0 < first <= 4
    assert places >= lines(shape, first)
    assert all(0 <= at < size for place in places for at, size in zip(place, shape, strict=True))


def test_prefetches_of_the_last_columns_are_inside() -> None:
    places, shape = fetched(product(64, 24, 200), numpy.ones((64, 24), "float32"))
    assert {place[:2] for place in places} >= {place[:2] for place in lines(shape, 1)}
    assert all(0 <= at < size for place in places for at, size in zip(place, shape, strict=True))


@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_weights_that_few_steps_share_are_prefetched(precision: str) -> None:
    target = WIDE if precision == "f32" else PAIRS
    assert "memref.prefetch" in lowered(product(64, 24, 256), target, precision)
    assert "memref.prefetch" in lowered(convolution(7, 32, 64), target, precision)
    # One step of rows; one of columns; enough steps of rows that the first one's waiting is nothing.
    assert "memref.prefetch" not in lowered(product(4, 24, 256), target, precision)
    assert "memref.prefetch" not in lowered(product(64, 24, 32), target, precision)
    assert "memref.prefetch" not in lowered(product(1024, 24, 256), target, precision)
    assert "locality<2>" not in lowered(convolution(56, 32, 64), target, precision)


def test_steps_fetch_the_next_places_of_all_blocks() -> None:
    """Fetch data that the first cache level does not hold, if each place is read once."""
    assert "locality<3>" in lowered(convolution(28, 256, 64), WIDE)
    assert "locality<3>" not in lowered(convolution(28, 256, 64, window=3), WIDE)
    assert "locality<3>" not in lowered(convolution(4, 256, 64), WIDE)


@pytest.mark.parametrize("size", [14, 15])
def test_places_are_inside(size: int) -> None:
    places: set[tuple[int, ...]] = set()
    tvm_ffi.register_global_func("test_ahead.noted", lambda *place: places.add(place) or 0, override=True)
    text = lowered(convolution(size, 64, 32), "llvm")
    (shape,) = {shape[1] for shape in re.finditer(r"memref\.prefetch .*locality<3>, data : memref<([0-9x]+)xf32", text)}

    def call(found: re.Match[str]) -> str:
        types = ", ".join("index" for _ in found[1].split(","))
        return f'"tir.call_packed"({found[1]}) {{func = "test_ahead.noted"}} : ({types}) -> ()'

    text = re.sub(r"memref\.prefetch %\w+\[(.*?)\], read, locality<3>.*", call, text)
    program = rx.compile(rx.Module.parse(text), pipeline=rx.stages("llvm").between(start="apply"))
    program.threads = 1
    program["main"](numpy.ones((1, 64, size, size), "float32"))
    _, blocks, count, _ = sizes = list(map(int, shape.split("x")))
    assert all(0 <= at < size for place in places for at, size in zip(place, sizes, strict=True))
    # The first step's places are read without a prefetch.
    assert {place[1:3] for place in places} >= {(block, at) for block in range(blocks) for at in range(16, count)}


def test_results_stay_the_same() -> None:
    random = numpy.random.default_rng(0)
    x, weights = random.integers(-4, 5, (50, 70)).astype("float32"), random.integers(-4, 5, (70, 200)).astype("float32")
    module = rx.Module()
    with module.function("main", [rx.tensor((50, 70))]) as f:
        f.returns(relax.matmul(f.args[0], relax.const(weights)))
    assert "memref.prefetch" in lowered(module, WIDE)
    numpy.testing.assert_array_equal(numpy.from_dlpack(rx.compile(module)["main"](x)), x @ weights)
