# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax.random_key: each use of a loaded program gets another number, on every target, also from many threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
from c_programs import CProgram, needs_compiler
from emulated_gpu import run_emulated
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax


def _module(size: int | str = "n") -> rx.Module:
    """Two keys in a call, as tensors."""
    module = rx.Module()
    with module.function("main", [rx.tensor((size,), "int64")]) as f:
        (x,) = f
        f.returns(*(relax.add(x, relax.scalar_to_tensor(relax.random_key())) for _ in range(2)))
    return module


def _keys(results: Any) -> list[int]:
    return [int(to_numpy(each)[0]) for each in results]


def _zeros() -> Any:
    return numpy.zeros(3, "int64")


def test_each_use_gets_the_next_one() -> None:
    program = rx.compile(_module())
    assert [_keys(program["main"](_zeros())) for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    again = rx.compile(_module())
    assert _keys(again["main"](_zeros())) == [0, 1], "another program counts by itself"


def test_threads_get_keys_of_their_own() -> None:
    main = rx.compile(_module())["main"]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: _keys(main(_zeros())), range(200)))
    assert sorted(key for pair in found for key in pair) == list(range(400))


@needs_compiler
@pytest.mark.parametrize("target", ["c{memory=heap}", "c"])
def test_in_c(target: str) -> None:
    program = CProgram(_module(), target, bind={"n": "1..8"})
    assert [_keys(program(_zeros())) for _ in range(2)] == [[0, 1], [2, 3]]


def test_on_a_gpu_no_call_is_replayed() -> None:
    program = rx.compile(_module(3), "cuda", graphs=True)
    assert _keys(run_emulated(program, _zeros())) == [0, 1]
    assert program.graphs == (), "a recorded call would repeat its keys"


def test_keys_are_neither_merged_nor_left_out_nor_moved() -> None:
    module = _module()
    rx.Pipeline(["relax-canonicalize", "cse", "relax-fold-constant", "relax-dead-code-elimination"]).run(module)
    assert str(module).count("relax.random_key") == 2
