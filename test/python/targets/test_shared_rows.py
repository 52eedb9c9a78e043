# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parallel loops over rows and regions: the same bits for any number of threads, with memory for each thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

random = numpy.random.default_rng(12)


def some(*shape: int) -> Any:
    return random.normal(size=shape).astype("f4")


def running_total(x: Any) -> Any:
    """Add one element after the other."""
    return numpy.add.accumulate(x, axis=1, dtype="f4")


REGIONS = numpy.concatenate(
    [numpy.zeros((60, 1)), random.uniform(0, 9, (60, 2)), random.uniform(11, 19, (60, 2))], axis=1
).astype("f4")
CASES: dict[str, tuple[Callable[..., Any], list[Any], list[tuple[Any, ...]], Callable[..., Any] | None]] = {
    "sort": (lambda x: relax.sort(x, axis=1), [some(40, 70, 3)], [("n", "m", 3)], lambda x: numpy.sort(x, axis=1)),
    "argsort": (
        lambda x: relax.argsort(x, axis=-1),
        [some(60, 90)],
        [("n", "m")],
        lambda x: numpy.argsort(x, axis=-1, kind="stable"),
    ),
    "topk": (
        lambda x: relax.topk(x, k=3, axis=1, ret_type="values"),
        [some(90, 400)],
        [("n", 400)],
        lambda x: -numpy.sort(-x, axis=1)[:, :3],
    ),
    "cumsum": (lambda x: relax.cumsum(x, axis=1), [some(1, 200, 300)], [("b", "n", 300)], running_total),
    "one row": (lambda x: relax.cumsum(x, axis=0), [numpy.ones(30000, "f4")], [("n",)], lambda x: x.cumsum(0)),
    "regions": (
        lambda x, rois: relax.vision.roi_align(x, rois, (7, 7), 1.0),
        [some(1, 8, 20, 20), REGIONS],
        [(1, 8, 20, 20), ("n", 5)],
        None,
    ),
    "pooled regions": (
        lambda x, rois: relax.vision.roi_pool(x, rois, (7, 7), 1.0),
        [some(1, 8, 20, 20), REGIONS],
        [(1, 8, 20, 20), ("n", 5)],
        None,
    ),
}


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "symbolic"])
@pytest.mark.parametrize("name", CASES)
def test_any_number_of_threads_gives_the_same_bits(name: str, is_known: bool) -> None:
    body, arrays, symbols, expected = CASES[name]
    module = rx.Module()
    with module.function(
        "main", [rx.tensor(each.shape if is_known else sizes) for each, sizes in zip(arrays, symbols, strict=True)]
    ) as f:
        f.returns(body(*f))
    has_loop = "tir.parallel" in str(rx.lower(module, pipeline=rx.stages("llvm").until("legalize")))
    assert has_loop == (name != "one row")
    program, found = rx.compile(module), []
    for program.threads in (1, 2, 5):
        found.append(numpy.from_dlpack(program["main"](*arrays)))
    assert len({each.tobytes() for each in found}) == 1
    if expected is not None:
        numpy.testing.assert_allclose(found[0], expected(*arrays), rtol=1e-4, atol=1e-4)


def test_a_check_that_fails_in_a_region_ends_the_call() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 8, 20, 20)), rx.tensor(("n", 5))]) as f:
        f.returns(relax.vision.roi_align(*f, (7, 7), 1.0))
    program, wrong = rx.compile(module)["main"], REGIONS.copy()
    wrong[40, 0] = 3
    with pytest.raises(IndexError, match="3"):
        program(some(1, 8, 20, 20), wrong)
