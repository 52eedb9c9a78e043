# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Product with hand-scheduled loops against the generated one, NumPy and onnxruntime, and the core's peak.

    python bench/schedules.py

Figures are GFLOP/s of f32, 1024 x 1024 x 1024, one thread, all in turns in one run, the fastest call of each. The peak
is that of fused multiply-adds between registers, also by a schedule. The text of the schedule is read from
docs/schedules.md.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("RELAX_NUM_THREADS", "1")

import re
import runpy
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import relax_mlir as rx
from relax_mlir import te

ROOT = Path(__file__).resolve().parent.parent

SIZE = 1024
SECONDS = 8.0


def by_hand() -> rx.Module:
    """Return the product of the docs, with its schedule."""
    page = (ROOT / "docs" / "schedules.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:  # the source of a script must be in a file
        file = Path(folder) / "page.py"
        file.write_text(next(block for block in blocks if "tuned" in block), encoding="utf-8")
        names = runpy.run_path(str(file))
    module: rx.Module = names["tuned"]
    return module


def product() -> rx.Module:
    a, b = (te.placeholder((SIZE, SIZE), name=name) for name in "AB")
    k = te.reduce_axis((0, SIZE), name="k")
    return te.create_prim_func([a, b, te.compute((SIZE, SIZE), lambda i, j: te.sum(a[i, k] * b[k, j], k), name="C")])


STEPS, ROWS, VECTORS = 1 << 20, 8, 2


def peak(lanes: int) -> rx.Module:
    """Return fused multiply-adds of registers with a number, repeated many times."""
    columns = VECTORS * lanes
    b = te.placeholder((columns,), name="B")
    k = te.reduce_axis((0, STEPS), name="k")
    step = te.comm_reducer(lambda x, y: x * 0.5 + y, lambda dtype: 0.0)
    c = te.compute((ROWS, columns), lambda i, j: step(b[j], k), name="C")
    sch = rx.Schedule(te.create_prim_func([b, c]))
    block = sch.get_block("C")
    sch.cache_write(block, 0, "local")
    i, j, steps = sch.get_loops(block)
    vectors, lane = sch.split(j, [None, lanes])
    steps, unrolled = sch.split(steps, [None, 8])
    sch.reorder(steps, unrolled, i, vectors, lane)
    sch.unroll(unrolled)
    for each in (block, sch.decompose_reduction(block, steps)):
        *_, outer, middle, inner = sch.get_loops(each)
        sch.vectorize(inner), sch.unroll(middle), sch.unroll(outer)
    return sch.mod  # type: ignore[no-any-return]


def main() -> None:
    import onnxruntime
    from onnx import TensorProto, helper

    x, y = (numpy.random.default_rng(n).standard_normal((SIZE, SIZE)).astype("float32") for n in range(2))
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (SIZE, SIZE)) for name in "xyz"]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "y"], ["z"])], "product", infos[:2], infos[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    lanes = rx.find_backend("llvm").machine(rx.ChosenTarget("llvm", ())).lanes(32)
    runs = {name: rx.compile(module) for name, module in (("by hand", by_hand()), ("generated", product()))}
    registers = rx.compile(peak(lanes))
    narrow = numpy.ones(VECTORS * lanes, "float32")
    out = numpy.empty((SIZE, SIZE), "float32")
    work = 2.0 * SIZE**3
    cases: dict[str, tuple[float, Callable[[], Any]]] = {
        "peak": (2.0 * STEPS * ROWS * VECTORS * lanes, lambda: registers["main"](narrow)),
        **{name: (work, lambda run=run: run["main"](x, y)) for name, run in runs.items()},
        "numpy": (work, lambda: numpy.dot(x, y, out=out)),
        "onnxruntime": (work, lambda: session.run(None, {"x": x, "y": y})),
    }
    for run in runs.values():
        numpy.testing.assert_allclose(numpy.from_dlpack(run["main"](x, y)), x @ y, rtol=1e-3, atol=1e-3)
    best = dict.fromkeys(cases, float("inf"))
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for name, (_, run_once) in cases.items():
            start = time.thread_time()
            run_once()
            best[name] = min(best[name], time.thread_time() - start)
    rates = {name: cases[name][0] / seconds / 1e9 for name, seconds in best.items()}
    for name, rate in rates.items():
        print(f"{name:<12}{rate:>8.0f} GFLOP/s{rate / rates['peak']:>8.1%} of the peak")


if __name__ == "__main__":
    main()
