# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens per second of text generation, one token per call, against onnxruntime and, if installed, OpenVINO (f32).

python bench/decode.py [build/models] [--threads 1 2] [--contexts 64 512 2048] [--turns 7]

`make models` exports the models. Before each token there are as many others as the context. All run in turns in this
process. Figures are medians of turns; ratios above 1 mean that this project is faster. The floor is the time to read
weights, keys and values once, at the speed of a product of one row with 256 MB of weights.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy

import relax_mlir as rx

sys.path.insert(0, str(Path(__file__).parent / "models"))
from compare import onnxruntime_session
from floors import stream
from goals import add_option, judge
from runs import ONNXRUNTIME, OPENVINO, OURS, Run, find_openvino, openvino_run
from undisturbed import undisturbed
from zoo import DECODERS, PAST, Exported

_TOKENS = 12
#: Seconds for others' threads to go to sleep.
_PAUSE = 0.05
#: Decoded token. Its value has no effect on the time.
_TOKEN = numpy.array([[7]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/models"))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--contexts", type=int, nargs="+", default=[64, 512, 2048])
    parser.add_argument("--turns", type=int, default=7)
    add_option(parser)
    arguments = parser.parse_args()
    version = find_openvino(arguments.folder)
    print(version or "OpenVINO is not installed, its figures are missing: pip install openvino")
    shares, ratios = dict[str, float](), dict[str, float]()
    for model in DECODERS:
        path = arguments.folder / f"{model.name}.onnx"
        if not path.exists():
            print(f"{path} is not there: make models")
            continue
        program = rx.compile(rx.from_onnx(path), donate=["past*"])
        weights = _weights_read(program, path)
        for threads in arguments.threads:
            program.threads = threads
            for context in arguments.contexts:
                print(f"{time.strftime('%H:%M:%S')} {model.name} {context} x{threads}", file=sys.stderr, flush=True)
                found = _measured(_runs(model, path, program, context, threads, bool(version)), arguments.turns)
                floor = (weights + _kept_bytes(model, context)) / stream(threads)
                print(_row(model, context, threads, found, floor), flush=True)
                label = f"{model.name} {context} x{threads}"
                shares[label], ratios[label] = floor / found[OURS], found[OURS] / found[ONNXRUNTIME]
    judge(arguments.goals, "decode step, share of memory's speed", 0.8, shares, at_least=True)
    judge(arguments.goals, "decode step to onnxruntime", 1.0, ratios)


def _runs(
    model: Exported, path: Path, program: rx.runtime.Executable, context: int, threads: int, with_openvino: bool
) -> dict[str, Run]:
    """Return runs that each decode one token after `context` others."""
    step, cache = program["main"], program["main"].cache(room=context + 1)  # type: ignore[attr-defined]
    step(numpy.full((1, context), 7), cache)

    def ours() -> object:
        cache.length = context
        return step(_TOKEN, cache)

    past = {name: cache[name].copy() for name in cache.names}
    feeds = {model.inputs[0].name: _TOKEN, **past}
    theirs = onnxruntime_session(path, threads)
    runs: dict[str, Run] = {OURS: ours, ONNXRUNTIME: lambda: theirs.run(None, feeds)}
    if with_openvino:
        # Keys and values are f32 as well: OpenVINO's default keeps them in 8 bits.
        runs[OPENVINO] = openvino_run(path, feeds, threads, "f32")
    expected, got = theirs.run(None, feeds)[0], ours()
    assert numpy.abs(expected - got).max() < 1e-3, "results differ"
    return runs


def _measured(runs: Mapping[str, Run], turns: int) -> dict[str, float]:
    """Return seconds per token."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(turns):
        for name, run in runs.items():
            time.sleep(_PAUSE)
            run()
            found[name].append(undisturbed(_seconds_for_a_token, run))
    return {name: statistics.median(each) for name, each in found.items()}


def _seconds_for_a_token(run: Run) -> float:
    start = time.perf_counter()
    for _ in range(_TOKENS):
        run()
    return (time.perf_counter() - start) / _TOKENS


def _weights_read(program: rx.runtime.Executable, path: Path) -> int:
    """Return the bytes of constants that every token reads. Rows taken from tables are negligible."""
    import onnx

    graph = onnx.load(path).graph
    taken = {node.input[0] for node in graph.node if node.op_type == "Gather"}
    others = {name for node in graph.node if node.op_type != "Gather" for name in node.input}
    sizes = {each.name: 4 * int(numpy.prod(each.dims)) for each in graph.initializer if each.data_type == 1}
    return sum(size for name, size in sizes.items() if name in others or name not in taken)


def _kept_bytes(model: Exported, context: int) -> int:
    sizes = {**model.sizes[0], PAST: context}
    return sum(4 * int(numpy.prod(model.shape(each, sizes))) for each in model.inputs[1:])


def _row(model: Exported, context: int, threads: int, found: Mapping[str, float], floor: float) -> str:
    own = found[OURS]
    parts = [f"{model.name:<13} {context:>5} x{threads}  ours {1 / own:7.1f} ({floor / own:4.0%} of the floor)"]
    parts += [f"{name} {1 / each:7.1f} ({each / own:.2f})" for name, each in found.items() if name != OURS]
    return "  ".join(parts)


if __name__ == "__main__":
    main()
