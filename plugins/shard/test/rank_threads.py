# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls on threads that are ranks, for tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.runtime.arrays import to_numpy
from relax_mlir_shard.engines import Threads, using


def on_ranks(call: Callable[[Any], Any], inputs: Sequence[Any], timeout: float = 30.0) -> list[Any]:
    """Call a function on a thread for each rank, and return the results."""
    ranks, results = Threads(len(inputs), timeout), [None] * len(inputs)

    def run(rank: int) -> None:
        engine = ranks.rank(rank)
        try:
            with using(engine):
                results[rank] = to_numpy(call(inputs[rank])).copy()
        except BaseException as error:
            engine.fail(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if ranks.failure:
        raise ranks.failure[1]
    return results
