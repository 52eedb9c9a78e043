# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of jax through rx.jit and through jax.jit on the platform relax, beside jax.jit on XLA's CPU backend.

    python bench/jax_models.py                      all of test/with_jax/jax_models.py, on one thread
    python bench/jax_models.py --threads 2          on two
    python bench/jax_models.py --scale 8            with eight times the widths and lengths (1: as in the tests)
    python bench/jax_models.py --only llama lstm    models with one of these in their names

The benchmark runs in the environment of `suite.py jax`: build/env-jax/bin/python. Each way is a separate process with
as many CPUs as threads, and the ways take turns. Columns: operations of the StableHLO module, and milliseconds of
import per operation; seconds of compilation (rx.jit's without a cache) and of the first call, including tracing;
milliseconds per call, the least of all turns, and their ratios to XLA's; and the difference of results from XLA's,
relative to their largest value.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Before this folder, which has a file of the same name as the models.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "with_jax"))

_TURNS, _SECONDS = 7, 0.15
#: jax's platform of each way.
WAYS = {"rx.jit": "cpu", "platform": "relax,cpu", "XLA": "cpu"}


# ---- a process of one way ----


def answer(name: str, way: str, scale: int, folder: Path) -> None:
    """Create the function, report the cost, and then time calls on request."""
    import jax
    import numpy

    import relax_mlir as rx

    with jax.default_device(jax.devices("cpu")[0]):
        from jax_models import MODELS

        function, arguments = MODELS[name](scale)
    found = _imported(function, arguments) if way == "rx.jit" else {}
    start = time.perf_counter()
    if way == "rx.jit":
        jitted: Callable[..., Any] = rx.jit(function)
    else:
        jitted = jax.jit(function)
    results = jax.block_until_ready(jitted(*arguments))
    found["first"] = time.perf_counter() - start
    numpy.savez(folder / way, *map(numpy.asarray, jax.tree.leaves(results)))
    given = jax.device_put(arguments, jax.devices()[0])
    print(json.dumps(found), flush=True)
    for _ in sys.stdin:
        print(_milliseconds(lambda: jax.block_until_ready(jitted(*given))), flush=True)


def _imported(function: Callable[..., Any], arguments: Sequence[Any]) -> dict[str, float]:
    """Return the times of import and compilation, and the number of operations."""
    import jax

    import relax_mlir as rx

    small = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n return %x : tensor<2xf32>\n}"
    rx.compile(rx.from_stablehlo(small))
    lowered = jax.jit(function).lower(*arguments)
    text = lowered.as_text()
    module = rx.from_stablehlo(text)  # the converter modules are imported at their first use
    start = time.perf_counter()
    rx.from_stablehlo(text)
    imported = time.perf_counter()
    rx.compile(module, cache=False)
    compiled = time.perf_counter()
    lowered.compile()
    by_xla = time.perf_counter()
    return {
        "operations": sum(" = " in line for line in text.splitlines()),
        "import": imported - start,
        "compile": compiled - imported,
        "XLA": by_xla - compiled,
    }


def _milliseconds(call: Callable[[], object]) -> float:
    """Return the milliseconds of the fastest call within a while, since the machine has other work."""
    least, end = float("inf"), time.perf_counter() + _SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least * 1e3


# ---- all ways ----


class Asked:
    """Process of one way."""

    def __init__(self, name: str, way: str, options: argparse.Namespace, folder: Path):
        flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1" if options.threads == 1 else ""
        environment = {
            **os.environ,
            "JAX_PLATFORMS": WAYS[way],
            "XLA_FLAGS": flags,
            "RELAX_NUM_THREADS": str(options.threads),
            "RELAX_MLIR_CACHE": str(folder / "cache"),
        }
        command = [sys.executable, __file__, "--answer", name, way, str(folder)]
        command += ["--scale", str(options.scale), "--threads", str(options.threads)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.found: dict[str, float] = json.loads(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a process ended: what it has written is above")
        return line

    def milliseconds(self) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self._line())

    def close(self) -> None:
        self.process.communicate()


def row(name: str, options: argparse.Namespace) -> str:
    with tempfile.TemporaryDirectory() as folder:
        asked = {way: Asked(name, way, options, Path(folder)) for way in WAYS}
        times = dict.fromkeys(WAYS, float("inf"))
        for _ in range(_TURNS):
            for way, each in asked.items():
                times[way] = min(times[way], each.milliseconds())
        for each in asked.values():
            each.close()
        errors = [_apart(Path(folder), way) for way in ("rx.jit", "platform")]
    own = asked["rx.jit"].found
    cells = [f"{own['operations']:6.0f}", f"{own['import'] * 1e3 / own['operations']:7.2f}"]
    cells += [f"{own[each]:7.2f}" for each in ("compile", "XLA")]
    cells += [f"{each.found['first']:7.2f}" for each in asked.values()]
    cells += [f"{each:10.3f}" for each in times.values()]
    cells += [f"{times[way] / times['XLA']:7.2f}" for way in ("rx.jit", "platform")]
    return f"{name:20}" + "".join(cells) + "".join(f"{each:9.1e}" for each in errors)


def _apart(folder: Path, way: str) -> float:
    """Return the largest difference from XLA's results, relative to a result's largest value."""
    import numpy

    with numpy.load(folder / "XLA.npz") as wanted, numpy.load(folder / f"{way}.npz") as got:
        pairs = [(wanted[each].astype("float64"), got[each].astype("float64")) for each in wanted.files]
    return max(
        float(numpy.abs(one - other).max(initial=0) / max(numpy.abs(one).max(initial=0), 1e-6)) for one, other in pairs
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="models with one of these in their names")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--scale", type=int, default=8)
    parser.add_argument("--answer", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        name, way, folder = options.answer
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
        answer(name, way, options.scale, Path(folder))
        return 0
    from jax_models import MODELS

    heads = "".join(f"{each:>7}" for each in ("ms/op", "comp.", "XLA", "first", "plat.", "XLA"))
    calls = "".join(f"{each:>10}" for each in WAYS)
    print(f"{'':20}{'ops':>6}{heads}{calls}{'/XLA':>7}{'p./XLA':>7}{'error':>9}{'plat.':>9}", flush=True)
    for name in MODELS:
        if any(each in name for each in options.only):
            print(row(name, options), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
