# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dynamic numbers of rows: whole tiles, shorter tiles and a remainder cover each row exactly once."""

from __future__ import annotations

import re

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

#: Tiles of 6 rows and 4 vectors, and of 29 rows where there is one vector of columns.
WIDE = "llvm{triple=x86_64-linux-gnu cpu=skylake-avx512}"
STEPS = 24


def product(columns: int) -> tuple[rx.Module, numpy.ndarray]:
    weights = numpy.random.default_rng(0).integers(-4, 5, (STEPS, columns)).astype("float32")
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", STEPS))]) as f:
        f.returns(relax.nn.relu(relax.matmul(f.args[0], relax.const(weights))))
    return module, weights


@pytest.mark.parametrize("columns", [256, 10])
def test_each_number_of_rows(columns: int) -> None:
    module, weights = product(columns)
    program = rx.compile(module)
    for rows in range(62):
        x = numpy.random.default_rng(rows).integers(-4, 5, (rows, STEPS)).astype("float32")
        for threads in (1, 2):
            program.threads = threads
            found = numpy.from_dlpack(program["main"](x))
            numpy.testing.assert_array_equal(found, numpy.maximum(x @ weights, 0), f"{rows} rows, {threads} threads")


@pytest.mark.parametrize(("columns", "vectors", "tiles"), [(256, 4, [6, 4, 3, 2, 1]), (16, 1, [29, 12, 4, 3, 2, 1])])
def test_there_is_code_for_few_steps_of_what_is_left(columns: int, vectors: int, tiles: list[int]) -> None:
    module, _ = product(columns)
    text = str(rx.lower(module, WIDE, pipeline=rx.stages(WIDE).until("apply")))
    products = [len(re.findall(r"math\.fma", part)) for part in re.split(r"scf\.(?:for|if)", text)]
    assert [count // vectors for count in products if count] == tiles
