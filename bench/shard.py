# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks: collectives of the engines beside gloo and MPICH, a model on two ranks beside two threads, and plans.

    python bench/shard.py [--repeat 5] [--torch build/env-torch/bin/python]

All times are medians on two ranks. Rows of the peers are measured in turns with ours: `--repeat` rounds of processes,
of which the best median counts. gloo needs a Python with torch.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

#: Bytes of an all-reduce, and the number of calls.
SIZES = {8: 2000, 1 << 20: 200, 1 << 24: 20}
#: Sizes of the model: batch, length, width, heads, width of the hidden layer.
BATCH, LENGTH, WIDTH, HEADS, HIDDEN = 1, 64, 1024, 16, 2816


def median_call(call: Callable[[], object], count: int, warmup: int = 5) -> float:
    """Return the median seconds of a call."""
    for _ in range(warmup):
        call()
    seconds = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def reduce_times(engine: Any) -> dict[str, float]:
    """Return the times of an all-reduce, by bytes."""
    from relax_mlir_shard import exchanges
    from relax_mlir_shard.engines import using

    options = {"groups": list(range(engine.size)), "group_size": engine.size, "kind": "sum"}
    times = {}
    for size, count in SIZES.items():
        x, out = numpy.ones(size // 4, "float32"), numpy.empty(size // 4, "float32")
        with using(engine):
            times[f"{size}"] = median_call(lambda x=x, out=out: exchanges.run("all_reduce", x, options, out), count)
        assert (out == engine.size).all()
    return times


def measure_threads() -> dict[str, float]:
    from relax_mlir_shard.engines import ThreadPool

    pool = ThreadPool(2)
    times = pool.run(reduce_times, 60.0)[0]
    pool.close()
    return {**times, "model": model_time("threads")}


def measure_mpi() -> dict[str, float]:
    from relax_mlir_shard.mesh import Mesh
    from relax_mlir_shard.mpi import MpiRank

    engine = MpiRank(60.0)
    engine.prepare(Mesh((("tp", engine.size),)))
    return {**reduce_times(engine), "model": model_time("mpi")}


def measure_mpich() -> dict[str, float]:
    from mpi4py import MPI

    times = {}
    for size, count in SIZES.items():
        x, out = numpy.ones(size // 4, "float32"), numpy.empty(size // 4, "float32")
        times[f"{size}"] = median_call(lambda x=x, out=out: MPI.COMM_WORLD.Allreduce(x, out), count)
    return times


def measure_gloo() -> dict[str, float]:
    import torch
    import torch.distributed as distributed

    distributed.init_process_group("gloo")
    times = {}
    for size, count in SIZES.items():
        x = torch.ones(size // 4)
        times[f"{size}"] = median_call(lambda x=x: distributed.all_reduce(x), count)
    distributed.destroy_process_group()
    return times


def measure_one() -> dict[str, float]:
    """Return the time of the model in one process with two threads, and the seconds of a plan for 32 layers."""
    import relax_mlir as rx

    program = rx.compile(model(4))
    program.threads = 2
    arguments = model_arguments(4)
    begin = time.perf_counter()
    rx.shard(model(32), {"tp": 2}, model_specs(32))
    plan = time.perf_counter() - begin
    return {"model": median_call(lambda: program["main"](*arguments), 20), "plan": plan}


def weight_shapes(layers: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(layers):
        shapes |= {f"{name}{layer}": (WIDTH, WIDTH) for name in ("q", "k", "v", "o")}
        shapes |= {f"{name}{layer}": (WIDTH, HIDDEN) for name in ("gate", "up")}
        shapes |= {f"down{layer}": (HIDDEN, WIDTH), f"norm{layer}": (WIDTH,), f"post{layer}": (WIDTH,)}
    return shapes


def model_specs(layers: int) -> dict[str, Any]:
    return {name: (None, "tp") for name, shape in weight_shapes(layers).items() if len(shape) == 2}


def model_arguments(layers: int) -> list[Any]:
    random = numpy.random.default_rng(0)
    shapes = [(BATCH, LENGTH, WIDTH), *weight_shapes(layers).values()]
    return [random.standard_normal(shape, "float32") / 32 for shape in shapes]


def model(layers: int) -> Any:
    """Return layers of a Llama: attention and a gated feed-forward block, with RMS norms."""
    import relax_mlir as rx
    from relax_mlir import relax

    module = rx.Module()
    types = {name: rx.tensor(shape) for name, shape in weight_shapes(layers).items()}
    with module.function("main", {"x": rx.tensor((BATCH, LENGTH, WIDTH)), **types}) as f:
        x, weights = f.args[0], dict(zip(types, f.args[1:], strict=True))
        split, joined = (BATCH, LENGTH, HEADS, WIDTH // HEADS), (BATCH, LENGTH, WIDTH)
        for layer in range(layers):
            normed = relax.nn.rms_norm(x, weights[f"norm{layer}"])
            q, k, v = (relax.reshape(relax.matmul(normed, weights[f"{name}{layer}"]), split) for name in "qkv")
            attended = relax.reshape(relax.nn.attention(q, k, v, causal_mask="TopLeft"), joined)
            x = relax.add(x, relax.matmul(attended, weights[f"o{layer}"]))
            normed = relax.nn.rms_norm(x, weights[f"post{layer}"])
            gate = relax.nn.silu(relax.matmul(normed, weights[f"gate{layer}"]))
            hidden = relax.multiply(gate, relax.matmul(normed, weights[f"up{layer}"]))
            x = relax.add(x, relax.matmul(hidden, weights[f"down{layer}"]))
        f.returns(x)
    return module


def model_time(engine: str) -> float:
    import relax_mlir as rx

    program = rx.compile(rx.shard(model(4), {"tp": 2}, model_specs(4)))
    x, *weights = model_arguments(4)
    with rx.launch(program, engine=engine) as ranks:
        program.threads = 1
        divided = [ranks.divide(name, array) for name, array in zip(weight_shapes(4), weights, strict=True)]
        return median_call(lambda: ranks["main"](x, *divided), 20)


MEASURED: dict[str, Callable[[], dict[str, float]]] = {
    "threads": measure_threads,
    "mpi": measure_mpi,
    "MPICH": measure_mpich,
    "gloo": measure_gloo,
    "one process": measure_one,
}


def start(name: str, python: str) -> dict[str, float]:
    """Measure in new processes, two of them for MPI and gloo."""
    command = [sys.executable, __file__, "--part", name]
    if name in ("mpi", "MPICH"):
        mpiexec = str(Path(sys.executable).with_name("mpiexec"))
        return _read(subprocess.run([mpiexec, "-n", "2", *command], capture_output=True, text=True, check=True).stdout)
    if name != "gloo":
        return _read(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = str(listening.getsockname()[1])
    shared = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    command[0] = python
    processes = [
        subprocess.Popen(command, env={**shared, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    return _read([process.communicate()[0] for process in processes].pop())


def _read(text: str) -> dict[str, float]:
    """Return the times of the first rank that printed some."""
    times: dict[str, float] = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--torch", default=str(Path(__file__).parents[1] / "build/env-torch/bin/python"))
    parser.add_argument("--part", choices=list(MEASURED), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        sys.stdout.write(f"{json.dumps(MEASURED[options.part]())}\n")
        return
    from relax_mlir.runtime.cpu import cpu_name

    best: dict[str, dict[str, float]] = {name: {} for name in MEASURED}
    for _ in range(options.repeat):
        for name, times in best.items():
            if name != "gloo" or Path(options.torch).exists():
                new = start(name, options.torch)
                times.update({key: min(value, times.get(key, value)) for key, value in new.items()})
    print(f"{cpu_name()}, {os.cpu_count()} cores\n")
    print("| all-reduce, two ranks | threads | mpi | MPICH | gloo |\n|---|--:|--:|--:|--:|")
    for size, shown in zip(SIZES, ("8 B", "1 MB", "16 MB"), strict=True):
        times = [best[name].get(f"{size}") for name in ("threads", "mpi", "MPICH", "gloo")]
        print(f"| {shown} | " + " | ".join("-" if t is None else f"{1e6 * t:,.1f} µs" for t in times) + " |")
    print("\n| four layers of a Llama | threads | mpi | one process, two threads |\n|---|--:|--:|--:|")
    times = [best[name]["model"] for name in ("threads", "mpi", "one process")]
    print("| a call | " + " | ".join(f"{1e3 * t:.2f} ms" for t in times) + " |")
    print(f"\nplan of 32 layers: {best['one process']['plan']:.1f} s")


if __name__ == "__main__":
    main()
