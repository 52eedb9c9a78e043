# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose loops threads share write in place as those of one core do, and give the same to the bit."""

from __future__ import annotations

from random import Random
from typing import Any

import blocks
import numpy
import pytest
from before_after import functions_by_name, random_arrays
from example_counts import draws
from hypothesis import Phase, given
from hypothesis import strategies as st
from planned_memory import finished, planned, random_graph, set_apart
from relax_mlir.passes.lower_calls.stated import MEMORY_PLAN
from relax_mlir.runtime import to_numpy

import relax_mlir as rx

_CORES = "llvm{cores=3}"


def _slots(module: rx.Module, cores: int) -> list[str]:
    stated = functions_by_name(planned(module, 3, f"llvm{{cores={cores}}}"))["main"].attributes[MEMORY_PLAN]
    assert stated["arena"].value == 0
    return [text.value for text in stated["slots"]]


@pytest.mark.parametrize("block", [blocks.transformer, blocks.llama])
def test_a_block_of_symbolic_length_takes_no_more_for_several_cores(block: Any) -> None:
    module = block(width=128, length="n")
    assert "by work" in str(rx.lower(module, _CORES, pipeline=rx.stages(_CORES, 3).until("plan")))
    assert _slots(module, 1) == _slots(module, 2) == _slots(module, 8)


def _bytes_of(program: Any, arrays: list[Any]) -> list[bytes]:
    found = program["main"](*arrays)
    return [to_numpy(each).tobytes() for each in (found if isinstance(found, (list, tuple)) else [found])]


@draws(20, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.integers(0, 10**9), st.sampled_from([0, 2]))
def test_threads_change_no_result(seed: int, level: int) -> None:
    random = Random(seed)
    module = random_graph(random, "n", 512)
    arrays = random_arrays(module, sizes={"n": random.choice([1, 7, 300, 701])})
    shared = planned(module, level, _CORES)
    alone, together = (finished(each, level, _CORES) for each in (set_apart(shared), shared))
    alone.threads = 1
    expected = _bytes_of(alone, arrays)
    for threads in (1, 2, 3, 2, 3):
        together.threads = threads
        assert _bytes_of(together, arrays) == expected, threads


def test_a_block_of_symbolic_length_by_threads() -> None:
    module = blocks.transformer(width=64, length="n")
    arrays = random_arrays(module, sizes={"n": 150})
    program, one = rx.compile(module, _CORES, opt_level=3), rx.compile(module, "llvm{cores=1}", opt_level=3)
    program.threads = 1
    expected = _bytes_of(program, arrays)
    numpy.testing.assert_allclose(to_numpy(program["main"](*arrays)), to_numpy(one["main"](*arrays)), 1e-4, 1e-4)
    for threads in (2, 3) * 10:
        program.threads = threads
        assert _bytes_of(program, arrays) == expected
