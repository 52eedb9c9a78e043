# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with parallel loops write in place like programs for one core, with the same results to the bit."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import blocks
import pytest
from before_after import functions_by_name, random_arrays
from example_counts import draws
from hypothesis import Phase, given
from hypothesis import strategies as st
from planned_memory import finished, planned, random_graph, set_apart
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.ir_attributes import MEMORY, MEMORY_PLAN
from relax_mlir.dialects.core.symbols import parse
from relax_mlir.runtime import to_numpy

import relax_mlir as rx

_CORES = "llvm{cores=3}"


def _memory(module: rx.Module, cores: int) -> tuple[list[str], list[str]]:
    """Return the slots of a plan, and the stated memory of each tensor."""
    made = planned(module, 3, f"llvm{{cores={cores}}}")
    stated = functions_by_name(made)["main"].attributes[MEMORY_PLAN]
    assert stated["arena"].value == 0
    texts = [
        text.value for op in operations_in(made.operation) if MEMORY in op.attributes for text in op.attributes[MEMORY]
    ]
    return [text.value for text in stated["slots"]], texts


def _most_alive(texts: list[str], length: int) -> int:
    """Return the maximal number of live bytes of tensors in slots."""
    found = [match for text in texts if (match := re.match(r"slot .*; (.*) bytes; live (\d+) to (\d+)", text))]
    lives = [(_number(match[1], length), int(match[2]), int(match[3])) for match in found]
    return max(sum(size for size, first, last in lives if first <= each <= last) for _, each, _ in lives)


def _number(text: str, length: int) -> int:
    size = parse(text)
    return size if isinstance(size, int) else size.evaluate({"n": length})


@pytest.mark.parametrize("block", [blocks.transformer, blocks.llama])
def test_a_block_of_symbolic_length_takes_little_more_than_what_is_alive(block: Any) -> None:
    """Plan no more memory for fewer cores, and little more than the live tensors, at any length."""
    module = block(width=128, length="n")
    assert "by work" in str(rx.lower(module, _CORES, pipeline=rx.stages(_CORES, 3).until("plan")))
    planned = [_memory(module, cores) for cores in (1, 2, 8)]
    for length in (16, 64, 128, 512, 4096):
        sizes = [sum(_number(slot, length) for slot in slots) for slots, _ in planned]
        assert sizes == sorted(sizes), (length, planned)
        for size, (_, texts) in zip(sizes, planned, strict=True):
            assert size <= 1.2 * _most_alive(texts, length), (length, planned)


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
    """Place scores over dead tensors during their lifetime, and write each in place."""
    module = blocks.transformer(width=64, length="n")
    shared = planned(module, 3, _CORES)
    alone, together = (finished(each, 3, _CORES) for each in (set_apart(shared), shared))
    for length in (3, 150, 400):
        arrays = random_arrays(module, sizes={"n": length})
        alone.threads = 1
        expected = _bytes_of(alone, arrays)
        for threads in (1, 2, 3, 2, 3, 2, 3):
            together.threads = threads
            assert _bytes_of(together, arrays) == expected
