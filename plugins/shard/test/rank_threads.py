# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls on threads that are ranks, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.runtime.arrays import to_numpy
from relax_mlir_shard.engines import ThreadPool


def on_ranks(call: Callable[[Any], Any], inputs: Sequence[Any], timeout: float = 30.0) -> list[Any]:
    """Call a function on a thread for each rank, and return the results."""
    pool = ThreadPool(len(inputs))
    try:
        return pool.run(lambda engine: to_numpy(call(inputs[engine.rank])).copy(), timeout)
    finally:
        pool.close()
