# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of models with parts for external codegens, against the target's own code and onnxruntime, on one thread.

OPENBLAS_NUM_THREADS=1 python bench/models/partition.py build/models [name ...]

export.py exports the models; the exit code is 1 on a difference. Every round calls each program once. The least CPU
time of the rounds is shown, which other work of the machine changes least. The compared results come from a separate
process, which loads the saved program without the compiler.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from compare import TOLERANCE, onnxruntime_session, random_inputs
from zoo import ZOO, Exported

import relax_mlir as rx

MODELS = ("resnet50", "bert", "llama")
#: Codegens of each variant, in the order of priority. The empty one uses only the target.
PLANS: tuple[tuple[str, ...], ...] = (
    (),
    ("dnnl",),
    ("blas",),
    ("onnxruntime",),
    ("c",),
    ("example_npu",),
    ("dnnl", "blas"),
)
ROUNDS = 15
#: Code that loads a program and calls it, without MLIR.
ALONE = """
import sys
sys.modules["torch_mlir"] = sys.modules["mlir"] = None
import numpy, relax_mlir.runtime as runtime
folder = sys.argv[1]
with numpy.load(folder + "/inputs.npz") as given:
    results = runtime.load(folder + "/program.rxa")["main"](*(given[name] for name in given.files))
several = results if isinstance(results, (tuple, list)) else [results]
numpy.savez(folder + "/results.npz", *map(runtime.to_numpy, several))
"""


class Variant(NamedTuple):
    name: str
    call: Callable[[], Any]
    #: Results of a call in a separate process.
    results: list[Any]
    #: Number of operators in parts, and number of parts.
    operators: int
    parts: int
    compile_s: float


def main(folder: str, *names: str) -> int:
    failed = 0
    head = f"{'model':<12}{'partition':<16}{'operators':>10}{'parts':>7}{'difference':>12}{'compile s':>11}{'ms':>9}"
    print(head)
    for model in ZOO:
        if model.name in (names or MODELS):
            failed += sum(not close for close in compare(model, Path(folder) / f"{model.name}.onnx"))
    print("all agree" if not failed else f"{failed} differ")
    return 1 if failed else 0


def compare(model: Exported, path: Path) -> Iterator[bool]:
    if not path.exists():
        print(f"{path.name}: not exported", file=sys.stderr)
        yield False
        return
    inputs = random_inputs(model, model.sizes[0])
    session = onnxruntime_session(path)
    expected = session.run(None, inputs)
    variants = [made(path, plan, list(inputs.values())) for plan in PLANS]
    variants.append(Variant("onnxruntime itself", lambda: session.run(None, inputs), expected, 0, 0, 0.0))
    times = _times([variant.call for variant in variants])
    for variant, seconds in zip(variants, times, strict=True):
        pairs = list(zip(variant.results, expected, strict=True))
        worst = max(float(numpy.abs(one - other).max()) for one, other in pairs)
        close = all(numpy.allclose(*pair, rtol=TOLERANCE, atol=TOLERANCE) for pair in pairs)
        print(
            f"{model.name:<12}{variant.name:<16}{variant.operators:>10}{variant.parts:>7}{worst:>12.1e}"
            f"{variant.compile_s:>11.1f}{seconds * 1e3:>9.1f}{'' if close else '   DIFFERS'}",
            flush=True,
        )
        yield close


def made(path: Path, plan: Sequence[str], inputs: Sequence[Any]) -> Variant:
    """Return a program from a file, as users run it."""
    journal = rx.Journal()
    start = time.perf_counter()
    program = rx.compile(rx.from_onnx(path), partition=plan, journal=journal)
    seconds = time.perf_counter() - start
    given = [fact for fact in journal.facts if fact["kind"] == "partition"]
    with tempfile.TemporaryDirectory() as folder:
        program.save(Path(folder) / "program.rxa")
        function = rx.runtime.load(Path(folder) / "program.rxa")["main"]
        results = called_alone(folder, inputs)
    operators = sum(sum(fact["matched"].values()) for fact in given)
    parts = sum(len(fact["parts"]) for fact in given)
    return Variant(",".join(plan) or "-", lambda: function(*inputs), results, operators, parts, seconds)


def called_alone(folder: str, inputs: Sequence[Any]) -> list[Any]:
    """Return the results of the program in a folder, in a process without the compiler."""
    numpy.savez(Path(folder) / "inputs.npz", *inputs)
    subprocess.run([sys.executable, "-c", ALONE, folder], check=True)
    with numpy.load(Path(folder) / "results.npz") as given:
        return [given[name] for name in given.files]


def _times(calls: Sequence[Callable[[], Any]]) -> list[float]:
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS + 1):
        for times, call in zip(taken, calls, strict=True):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
    return [min(times[1:]) for times in taken]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
