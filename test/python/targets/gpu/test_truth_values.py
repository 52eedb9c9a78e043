# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Booleans that threads read and write several at a time: bytes in memory, bits in registers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from emulated_gpu import run_emulated
from own_rules import without_new
from relax_mlir.emit.axis_reduction import Reduction, lowest
from relax_mlir.emit.conversions import rounded
from relax_mlir.emit.numbers import constant, larger, select
from relax_mlir.passes.legalize.rules import _RULES, all_rules

import relax_mlir as rx
from relax_mlir import relax

#: Rows that a thread's lanes go into, such that they do not, and such as no registers hold.
WIDTHS = (64, 63, 5000)


@pytest.fixture(autouse=True)
def own_rules() -> Iterator[None]:
    all_rules()
    with without_new(_RULES):
        yield


def ran(operator: Any, *arrays: np.ndarray) -> np.ndarray:
    """Run a kernel over rows with a vector of elements for each thread."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", each.shape[1]), each.dtype.name) for each in arrays]) as f:
        f.returns(operator(*f))
    program = rx.compile(module, "cuda", opt_level=3, jobs=1, cache=False)
    assert len(program._artifact.devices[0].kernels) == 1
    return np.asarray(run_emulated(program, *arrays))


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_truth_values_are_written(width: int) -> None:
    @rx.register_legalize("relax.greater", target="cuda")
    def are_largest(call: Any) -> Any:
        def write(x: Any, _: Any, output: Any) -> Any:
            rows = Reduction(x, [1])
            most = rows.extreme(larger, lowest("f32"), "f32")
            return rows.everywhere(lambda each, most: each >= most, [rows.whole, rows.part(most)], output)

        return call.prim(write)

    x = np.random.default_rng(1).integers(-8, 8, (5, width)).astype("float32")
    np.testing.assert_array_equal(ran(relax.greater, x, x), x == x.max(-1, keepdims=True))


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_truth_values_are_read(width: int) -> None:
    @rx.register_legalize("relax.where", target="cuda")
    def share_of_chosen(call: Any) -> Any:
        def write(chosen: Any, x: Any, _: Any, output: Any) -> Any:
            rows = Reduction(x, [1])
            reads = [rows.alike(chosen), rows.whole]
            total = rows.sum(lambda is_one, each: select(is_one, each, constant(0.0, "f32")), reads)
            shares = [*reads, rows.part(total)]
            return rows.everywhere(
                lambda is_one, each, total: select(is_one, each, rounded(total, "f32")), shares, output
            )

        return call.prim(write)

    random = np.random.default_rng(2)
    x, chosen = random.integers(-8, 8, (5, width)).astype("float32"), random.integers(0, 2, (5, width)).astype(bool)
    expected = np.where(chosen, x, np.where(chosen, x, 0).sum(-1, keepdims=True))
    np.testing.assert_array_equal(ran(relax.where, chosen, x, x), expected)
