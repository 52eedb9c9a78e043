# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives on threads, compiled and interpreted, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy
import pytest
import relax_mlir as rx
from rank_threads import on_ranks
from relax_mlir_shard.collectives import ccl
from relax_mlir_shard.engines import RankError, ThreadPool

RANKS = 4
GROUPS = {"groups": [0, 2, 1, 3], "group_size": 2}
ALL = {"groups": [0, 1, 2, 3], "group_size": 4}


def check(
    build: Callable[[Any], Any], inputs: Sequence[Any], expected: Sequence[Any], *, is_rounded: bool = False
) -> None:
    """Compare a compiled collective and its reference, which does not round, with the expected results."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(inputs[0].shape, inputs[0].dtype)}) as f:
        f.returns(build(*f))
    for program in (rx.compile(module), *([] if is_rounded else [rx.reference(module)])):
        for found, wanted in zip(on_ranks(program["main"], inputs), expected, strict=True):
            assert found.dtype == wanted.dtype
            numpy.testing.assert_array_equal(found, wanted)


def drawn(shape: tuple[int, ...], dtype: Any = "float32") -> list[Any]:
    random = numpy.random.default_rng(0)
    return [random.integers(-9, 9, shape).astype(dtype) for _ in range(RANKS)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", ml_dtypes.bfloat16, "float16"])
@pytest.mark.parametrize(
    ("kind", "combine"),
    [("sum", numpy.add), ("prod", numpy.multiply), ("max", numpy.maximum), ("min", numpy.minimum)],
)
def test_all_reduce(kind: str, combine: Any, dtype: Any) -> None:
    x = [each // 4 for each in drawn((3, 5), dtype)] if dtype == "int8" else drawn((3, 5), dtype)
    pairs = {0: combine(x[0], x[2]), 1: combine(x[1], x[3])}
    check(
        lambda v: ccl.all_reduce(v, kind=kind, **GROUPS), x, [pairs[rank % 2].astype(x[0].dtype) for rank in range(4)]
    )


def test_sums_are_in_the_order_of_the_group() -> None:
    x = [numpy.float32([value]) for value in (1e8, 1.0, -1e8, 1.0)]
    one_by_one = ((x[0] + x[1]) + x[2]) + x[3]
    check(lambda v: ccl.all_reduce(v, **ALL), x, [one_by_one] * 4, is_rounded=True)
    reverse = {"groups": [3, 2, 1, 0], "group_size": 4}
    check(lambda v: ccl.all_reduce(v, **reverse), x, [((x[3] + x[2]) + x[1]) + x[0]] * 4, is_rounded=True)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_all_gather(axis: int) -> None:
    x = drawn((3, 2))
    pairs = {0: numpy.concatenate([x[0], x[2]], axis), 1: numpy.concatenate([x[1], x[3]], axis)}
    check(lambda v: ccl.all_gather(v, axis=axis, **GROUPS), x, [pairs[rank % 2] for rank in range(4)])
    limited = [numpy.take(pairs[rank % 2], range(3), axis) for rank in range(4)]
    check(lambda v: ccl.all_gather(v, axis=axis, size=3, **GROUPS), x, limited)


def test_reduce_scatter() -> None:
    x = drawn((2, 6))
    total = sum(x[1:], x[0])
    short = numpy.concatenate([total, total[:, -1:], total[:, -1:]], 1)
    check(lambda v: ccl.reduce_scatter(v, axis=1, **ALL), x, [short[:, 2 * rank : 2 * rank + 2] for rank in range(4)])


def test_all_to_all() -> None:
    x = drawn((4, 3))
    expected = [numpy.concatenate([each[rank : rank + 1] for each in x], 1) for rank in range(4)]
    check(lambda v: ccl.all_to_all(v, split_axis=0, concat_axis=1, **ALL), x, expected)


def test_permute() -> None:
    x = drawn((2,))
    check(lambda v: ccl.permute(v, pairs=[0, 1, 1, 2, 3, 0]), x, [x[3], x[0], x[1], numpy.zeros_like(x[0])])


def test_broadcast() -> None:
    x = drawn((2, 0))
    check(lambda v: ccl.broadcast(v, root=1, **ALL), x, [x[1]] * 4)
    x = drawn((2, 2))
    check(lambda v: ccl.broadcast(v, root=1, **GROUPS), x, [x[2], x[3], x[2], x[3]])


@pytest.mark.parametrize("size", range(1, 9))
def test_part(size: int) -> None:
    x = [numpy.arange(size)] * 4
    step = -(-size // 4)
    places = [numpy.minimum(numpy.arange(rank * step, rank * step + step), size - 1) for rank in range(4)]
    check(lambda v: ccl.part(v, **ALL), x, places)


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda v: ccl.all_reduce(v, groups=[0, 1, 1], group_size=3), "must contain each rank from 0 up once"),
        (lambda v: ccl.all_reduce(v, groups=[0, 1, 2], group_size=2), "must have full groups"),
        (lambda v: ccl.all_reduce(v, groups=[0, 1], group_size=2, kind="mean"), "kind"),
        (lambda v: ccl.all_gather(v, axis=2, **ALL), "must be a dimension of operand 'x'"),
        (lambda v: ccl.all_to_all(v, split_axis=1, concat_axis=1, **ALL), "must differ from attribute 'concat_axis'"),
        (lambda v: ccl.permute(v, pairs=[0, 1, 2, 1]), "targets differ"),
    ],
)
def test_attributes_are_checked(build: Callable[[Any], Any], problem: str) -> None:
    module = rx.Module()
    with pytest.raises(rx.RelaxError, match=problem), module.function("main", {"x": rx.tensor((4, 4))}) as f:
        build(*f)


def test_a_program_called_alone_names_its_collective() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4,))}) as f:
        f.returns(ccl.all_reduce(*f, **ALL))
    with pytest.raises(
        RankError, match=r"ccl.all_reduce at test_collectives.py:\d+ needs other ranks.*start it with rx.launch"
    ):
        rx.compile(module)["main"](numpy.zeros(4, "float32"))


def test_ranks_with_different_shapes_are_refused() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n",))}) as f:
        f.returns(ccl.all_reduce(*f, groups=[0, 1], group_size=2))
    program = rx.compile(module)
    with pytest.raises(
        RankError, match=r"rank \d has float32\[\d\] in ccl.all_reduce at .*:\d+, and rank \d has float32\[\d\]"
    ):
        on_ranks(program["main"], [numpy.zeros(3, "float32"), numpy.zeros(4, "float32")])


def test_a_rank_that_does_not_arrive_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ThreadPool, "GRACE", 10.0)  # to call the program on a busy machine
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2,))}) as f:
        f.returns(ccl.all_reduce(*f, groups=[0, 1], group_size=2))
    program = rx.compile(module)
    calls = {0: program["main"], 1: lambda x: x}
    with pytest.raises(RankError, match=r"rank 0 waited 0.2 s in ccl.all_reduce at test_collectives.py:\d+ for rank 1"):
        on_ranks(lambda given: calls[int(given[0])](given), [numpy.float32([0, 0]), numpy.float32([1, 1])], timeout=0.2)
