# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model of the time of collectives: its costs, its measurement, and the order of annotations that it predicts."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir_shard import exchanges
from relax_mlir_shard.engines import ThreadPool, ThreadRank
from relax_mlir_shard.network import CollectiveCost, Network, collective_cost, fit_network, measure_rank

RANKS, PIECE = 3, 64
GROUPS = {"groups": [0, 1, 2], "group_size": RANKS}


@pytest.mark.parametrize("shape", [(6,), (6, 3), (2, 3, 40), (70, 2), (33, 17), ()])
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "broadcast"])
def test_costs_count_exchanges_and_bytes(kind: str, shape: tuple[int, ...]) -> None:
    if kind == "all_gather" and not shape:
        pytest.skip("parts of a number cannot be joined")
    axis = len(shape) // 2
    options = {"all_reduce": {"kind": "sum"}, "all_gather": {"axis": axis, "size": -1}, "broadcast": {"root": 1}}[kind]
    x = numpy.zeros(shape, "float32")

    def run(engine: ThreadRank) -> tuple[int, int]:
        moved: list[int] = []
        exchange = engine.exchange
        engine.piece = PIECE  # type: ignore[misc]
        engine.exchange = lambda groups, x, combine: (moved.append(x.nbytes), exchange(groups, x, combine))  # type: ignore[method-assign, assign, func-returns-value]
        exchanges.run(kind, x, {**options, **GROUPS})
        return len(moved), sum(moved)

    pool = ThreadPool(RANKS)
    (steps, size), *others = pool.run(run, 30)
    pool.close()
    assert others == [(steps, size)] * 2
    read = size if kind == "broadcast" else size * RANKS
    assert collective_cost(kind, shape, x.itemsize, axis, RANKS, PIECE) == CollectiveCost(steps, read)


def test_a_fit_has_the_times_of_its_network() -> None:
    network = Network("threads", 2, 2e-5, 3e-10, PIECE)
    costs = [CollectiveCost(steps, 4**steps) for steps in range(1, 12)]
    fitted = fit_network("threads", 2, PIECE, [(cost, network.seconds(cost)) for cost in costs])
    assert fitted[2:4] == pytest.approx(network[2:4], rel=1e-6)


@pytest.mark.parametrize("text", ["[]", "{", "{}", json.dumps(Network("mpi", 2, -1.0, 1.0, 1)._asdict())])
def test_other_files_are_no_network(tmp_path: Path, text: str) -> None:
    (tmp_path / "network.json").write_text(text)
    with pytest.raises(rx.OptionError, match=r"network.json' is no file of relax-run --measure-network"):
        rx.shard(rx.Module(), {"tp": 2}, network=str(tmp_path / "network.json"))


def test_estimates_order_annotations_like_runs(tmp_path: Path) -> None:
    """Compare three annotations: they gather nothing, 64 KiB, and 8 MiB between two ranks."""
    module, shape = rx.Module(), (1 << 10, 1 << 11)
    with module.function("main", {"x": rx.tensor(shape), "bias": rx.tensor((1 << 14,))}) as f:
        f.returns(relax.flip(f.args[0], axis=0), relax.flip(f.args[1], axis=0))
    pool = ThreadPool(2)
    network = fit_network("threads", 2, ThreadRank.piece, pool.run(measure_rank, 60)[0])
    pool.close()
    (tmp_path / "network.json").write_bytes(network.encode())
    arguments = [numpy.ones(shape, "float32"), numpy.ones(1 << 14, "float32")]
    estimates, programs, seconds = [], [], []
    for specs in ({"x": (None, "tp")}, {"bias": ("tp",), "x": (None, "tp")}, {"x": ("tp", None), "bias": ("tp",)}):
        journal = rx.Journal()
        with journal.recording():
            sharded = rx.shard(module, {"tp": 2}, specs, network=str(tmp_path / "network.json"))
        estimates.append(journal.of("mesh")[0]["microseconds"])
        programs.append((ranks := rx.launch(rx.compile(sharded)), list(map(ranks.divide, ["x", "bias"], arguments))))
        seconds.append(float("inf"))
    for _ in range(7):
        for index, (ranks, parts) in enumerate(programs):
            begin = time.perf_counter()
            ranks["main"](*parts)
            seconds[index] = min(seconds[index], time.perf_counter() - begin)
    assert estimates[0] == 0 < estimates[1] < estimates[2] / 10
    assert max(seconds[:2]) < seconds[2], (estimates, seconds)
