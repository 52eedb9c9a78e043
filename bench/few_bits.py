# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with weights of few bits (MatMulNBits), against onnxruntime and the memory's bandwidth.

    python bench/few_bits.py            prints the table
    python bench/few_bits.py --json f   writes the figures too
    python bench/few_bits.py --only "4 bits" --threads 2

A model is a chain of products 4096x4096: a single one with weights that stay in the last cache, or sixteen, which come
from memory. GB/s are of codes and scales. "stream" is a plain sum over as many bytes, compiled here, and "share" is our
speed relative to it. All take turns in one run, on the stated number of threads. Each figure is the fastest call: on
one thread by CPU time, since others may share the CPU, on several threads by the clock.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import relax_mlir as rx
from relax_mlir import relax

sys.path.insert(0, str(Path(__file__).parent / "models"))
from goals import add_option, judge

SIZE = 4096
ROUNDS = 25
GIGA = 1e9


class Case(NamedTuple):
    rows: int
    bits: int
    block: int
    layers: int = 1

    @property
    def name(self) -> str:
        behind = "" if self.layers == 1 else f" x{self.layers}"
        return f"{self.rows}x{SIZE}x{SIZE}{behind}, {self.bits} bits, blocks of {self.block}"


CASES = (
    Case(1, 4, 32), Case(1, 4, 128), Case(1, 8, 32), Case(8, 4, 32), Case(32, 4, 32), Case(128, 4, 32),
    Case(1, 4, 32, 16), Case(1, 4, 128, 16), Case(1, 8, 32, 16),
)  # fmt: skip


def model(case: Case) -> tuple[Any, int]:
    """Return the model, and the bytes of its weights."""
    random, nodes, held = numpy.random.default_rng(0), [], {}
    shape = SIZE, SIZE // case.block
    for layer in range(case.layers):
        held[f"w{layer}"] = random.integers(0, 256, (*shape, case.block * case.bits // 8)).astype("uint8")
        held[f"s{layer}"] = (0.002 * random.normal(size=shape)).astype("f4")
        names = [f"x{layer}", f"w{layer}", f"s{layer}"]
        sizes = {"K": SIZE, "N": SIZE, "bits": case.bits, "block_size": case.block}
        nodes.append(helper.make_node("MatMulNBits", names, [f"x{layer + 1}"], domain="com.microsoft", **sizes))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (case.rows, SIZE)) for name in ("x0", f"x{case.layers}")
    ]
    constants = [numpy_helper.from_array(array, name) for name, array in held.items()]
    graph = helper.make_graph(nodes, "products", ends[:1], ends[1:], constants)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10), sum(each.nbytes for each in held.values())


def in_onnxruntime(made: Any, x: Any, threads: int) -> Callable[[], Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x0": x})[0]


def stream(nbytes: int) -> tuple[rx.runtime.Executable, Any]:
    """Return a program that sums that many bytes, and the data."""
    data = numpy.ones((256, nbytes // 1024), "f4")
    module = rx.Module()
    with module.function("main", [rx.tensor(data.shape)]) as f:
        f.returns(relax.sum(*f))
    return rx.compile(module), data


def fastest(calls: list[Callable[[], Any]], threads: int, rounds: int) -> list[float]:
    clock = time.thread_time if threads == 1 else time.perf_counter
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for position, call in enumerate(calls):
            for _ in range(2):
                start = clock()
                call()
                best[position] = min(best[position], clock() - start)
    return best


def measure(case: Case, threads: int) -> dict[str, float]:
    made, nbytes = model(case)
    x = numpy.random.default_rng(1).normal(size=(case.rows, SIZE)).astype("f4")
    program, (total, data) = rx.compile(rx.from_onnx(made)), stream(nbytes)
    program.threads = total.threads = threads
    theirs = in_onnxruntime(made, x, threads)
    got, expected = numpy.from_dlpack(program["main"](x)), theirs()
    error = numpy.abs(got - expected).max() / numpy.abs(expected).max()
    if not error < 1e-4:
        raise SystemExit(f"{case.name}: the result is wrong, relative error {error}")
    calls = [lambda: program["main"](x), lambda: total["main"](data), theirs]
    ours, plain, onnxs = fastest(calls, threads, max(ROUNDS // max(case.rows // 8, case.layers, 1), 3))
    rates = {"ours": nbytes / ours / GIGA, "stream": nbytes / plain / GIGA}
    gflops = 2 * case.rows * SIZE * SIZE * case.layers / ours / GIGA
    return {"ms": ours * 1e3, "ort": onnxs * 1e3, **rates, "share": plain / ours, "gflops": gflops}


def main() -> None:
    parser = argparse.ArgumentParser(description="Products with weights of few bits.")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="how many; one after the other")
    parser.add_argument("--only", default="", help="the cases with this in their names")
    add_option(parser)
    options = parser.parse_args()
    head = "".join(f"{each:>9}" for each in ("threads", "ms", "ort ms", "/ort", "GB/s", "stream", "share", "GFLOP/s"))
    print(f"{'':<42}{head}")
    figures = {}
    for case in [each for each in CASES if options.only in each.name]:
        for threads in options.threads:
            found = figures[f"{case.name}, threads {threads}"] = measure(case, threads)
            ratio = found["ms"] / found["ort"]
            cells = [found["ms"], found["ort"], ratio, found["ours"], found["stream"], found["share"], found["gflops"]]
            digits = (3, 3, 2, 1, 1, 2, 0)
            shown = "".join(f"{cell:9.{places}f}" for cell, places in zip(cells, digits, strict=True))
            print(f"{case.name:<42}{threads:9}{shown}", flush=True)
    rows = {name: each for name, each in figures.items() if name.startswith("1x")}
    shares = {name: each["share"] for name, each in rows.items() if " x16" in name}
    judge(options.goals, "1x4096x4096 of few bits, share of memory's speed", 0.8, shares, at_least=True)
    ratios = {name: each["ms"] / each["ort"] for name, each in rows.items()}
    judge(options.goals, "1x4096x4096 of few bits to onnxruntime", 1.0, ratios)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
