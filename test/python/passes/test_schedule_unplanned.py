# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops without a plan: threads share them, with the same bits for any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

TARGET = "llvm{cores=4}"
random = numpy.random.default_rng(11)
BOUNDARIES = numpy.sort(random.normal(size=40)).astype("f4")


def some(*shape: int) -> Any:
    return random.normal(size=shape).astype("f4")


def resized(x: Any) -> Any:
    return relax.image.resize2d(x, (96, 96), method="nearest_neighbor")


CASES: dict[str, tuple[Callable[..., Any], list[Any], list[tuple[Any, ...]], Callable[..., Any]]] = {
    "columns": (
        lambda x, places: relax.take(x, places, axis=1),
        [some(300, 500), random.integers(-500, 500, 400)],
        [("n", "m"), ("k",)],
        lambda x, places: x[:, places],
    ),
    "turned round": (lambda x: relax.flip(x, axis=2), [some(3, 170, 290)], [(3, "n", "m")], lambda x: x[:, :, ::-1]),
    "a loop inside": (
        lambda x: relax.bucketize(x, relax.const(BOUNDARIES)),
        [some(100, 70)],
        [("n", 70)],
        lambda x: numpy.searchsorted(BOUNDARIES, x, side="left"),
    ),
    "pictures": (resized, [some(1, 24, 48, 48)], [("n", 24, 48, 48)], lambda x: x.repeat(2, axis=2).repeat(2, axis=3)),
}


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "symbolic"])
@pytest.mark.parametrize("name", CASES)
def test_any_number_of_threads_gives_the_same_bits(name: str, is_known: bool) -> None:
    body, arrays, symbols, expected = CASES[name]
    module = rx.Module()
    shapes = [each.shape for each in arrays] if is_known else symbols
    pairs = zip(shapes, arrays, strict=True)
    with module.function("main", [rx.tensor(shape, array.dtype.name) for shape, array in pairs]) as f:
        f.returns(body(*f))
    program = rx.compile(module, TARGET)
    for program.threads in (1, 2, 5):
        numpy.testing.assert_array_equal(numpy.from_dlpack(program["main"](*arrays)), expected(*arrays))


def test_a_check_that_fails_in_a_part_ends_the_call() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", "m")), rx.tensor(("k",), "int64")]) as f:
        f.returns(relax.take(*f, axis=1))
    program = rx.compile(module, TARGET)
    program.threads = 3
    with pytest.raises(IndexError, match="index 500 is out of range"):
        program["main"](some(300, 500), numpy.array([*range(400), 500]))


def shared_loops(shape: Any, cores: int = 4) -> int:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape)]) as f:
        f.returns(relax.flip(*f, axis=1))
    target = f"llvm{{cores={cores}}}"
    return str(rx.lower(module, target, pipeline=rx.stages(target).until("apply"))).count("tir.parallel")


def test_little_work_is_not_shared() -> None:
    assert shared_loops((400, 300)) == 1 and shared_loops(("n", 300)) == 1
    assert shared_loops((4, 3)) == 0 and shared_loops((400, 300), cores=1) == 0
