# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heads with several kernels as readers: recomputed in each if this moves fewer bytes, and then never stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.passes.graph.fuse import heads
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

SHAPE = (6, 8)
FUSE = "relax-fuse-ops{again=%s},tir-fuse"
Body = Callable[..., Any]


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat tensors of any size as large."""
    monkeypatch.setattr(heads, "_LEAST_STORED", 1)


def built(body: Body, dtype: str = "float32", rows: Any = 6) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((rows, 8), dtype), rx.tensor((rows, 8))]) as f:
        f.returns(*body(*f))
    return module


def kernels(module: rx.Module, again: str = "true") -> list[str]:
    copy = rx.Module.parse(str(module))
    rx.Pipeline(f"relax-legalize-ops,{FUSE % again}").run(copy)
    return [op.opview.func for op in operations_in(copy.operation) if op.name == "relax.call_tir"]


def two_sums(head: Any) -> tuple[Any, Any]:
    return relax.sum(head, axis=[0]), relax.max(head, axis=[1])


def relus(x: Any, y: Any) -> Any:
    return two_sums(relax.nn.relu(x))


def three_readers(x: Any, y: Any) -> Any:
    head = relax.nn.relu(x)
    return *two_sums(head), relax.sum(relax.multiply(head, y), axis=[1])


def one_reader_writes(x: Any, y: Any) -> Any:
    head = relax.nn.relu(x)
    return *two_sums(head), relax.add(head, y)


def chain(x: Any, y: Any) -> Any:
    """Return a chain of which one operator can move into its readers. The other one would have to be stored."""
    first = relax.nn.relu(x)
    second = relax.negative(first)
    return *two_sums(second), relax.sum(first, axis=[1])


def returned(x: Any, y: Any) -> Any:
    head = relax.nn.relu(x)
    return *two_sums(head), head


def behind_a_product(x: Any, y: Any) -> Any:
    head = relax.nn.relu(x)
    return *two_sums(head), relax.matmul(head, relax.permute_dims(y))


def costly(x: Any, y: Any) -> Any:
    return two_sums(relax.exp(x))


def turned(x: Any, y: Any) -> Any:
    return two_sums(relax.permute_dims(x))


def sums_of_two(x: Any, y: Any) -> Any:
    """Return four readers of a sum of two tensors: each copy would read two tensors instead of one stored tensor."""
    head = relax.add(x, y)
    return *two_sums(head), relax.min(head, axis=[1]), relax.sum(head, axis=[1])


@pytest.mark.parametrize(
    ("body", "count", "stored"),
    [
        (relus, 2, 3),
        (three_readers, 3, 4),
        (one_reader_writes, 3, 3),
        (chain, 4, 4),
        (returned, 3, 3),
        (behind_a_product, 5, 5),
        (costly, 3, 3),
        (sums_of_two, 5, 5),
    ],
    ids=lambda each: each.__name__ if callable(each) else None,
)
def test_kernels_and_what_they_compute(body: Body, count: int, stored: int) -> None:
    module = built(body)
    assert len(kernels(module)) == count, kernels(module)
    assert len(kernels(module, "false")) == stored
    x, y = (numpy.random.default_rng(seed).normal(size=SHAPE).astype("float32") for seed in (1, 2))
    fused, plain = (
        [to_numpy(each) for each in rx.compile(module, pipeline=stages)["main"](x, y)]
        for stages in (rx.stages().replace("fuse", FUSE % "true"), rx.stages().drop("fuse"))
    )
    for result, same in zip(fused, plain, strict=True):
        numpy.testing.assert_allclose(result, same, rtol=1e-6, atol=1e-6)


def test_no_head_without_a_reader_is_left() -> None:
    """Check that each group has one call of the head, and that no unused call is left."""
    module = built(relus)
    rx.Pipeline("relax-legalize-ops,relax-fuse-ops").run(module)
    calls = [op.opview.func for op in operations_in(module.operation) if op.name == "relax.call_tir"]
    assert sorted(calls) == ["max", "nn_relu", "nn_relu", "sum"]


def test_what_moves_elements_is_read_in_order_where_it_was_stored() -> None:
    assert kernels(built(turned, rows=8)) == kernels(built(turned, rows=8), "false")


def test_unknown_sizes_are_no_reason() -> None:
    assert len(kernels(built(relus, rows="n"))) == 3


def test_small_tensors_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "_LEAST_STORED", 6 * 8 * 4 + 1)
    assert len(kernels(built(relus))) == 3
    monkeypatch.setattr(heads, "_LEAST_STORED", 6 * 8 * 4)
    assert len(kernels(built(relus))) == 2


def test_a_copy_that_is_stored_after_all_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo copies if the final groups differ from the predicted ones."""
    monkeypatch.setattr(heads, "_takes", lambda *_: True)
    module = built(behind_a_product)
    assert kernels(module) == kernels(module, "false")
