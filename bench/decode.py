# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens a second of models that go on with a text, one token a call, beside onnxruntime and, where it is installed,
OpenVINO (f32).

python bench/decode.py [build/models] [--threads 1 2] [--contexts 64 512 2048]      (models exported by `make models`)

Before each token there are so many others. All run in turns in this process; figures are medians of turns, ratios
above 1 say that this project is faster. The floor is the time to read weights, keys and values once, as fast as a
product of one row with 256 MB of weights reads these.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy

import relax_mlir as rx

sys.path.insert(0, str(Path(__file__).parent / "models"))
from latency import onnxruntime_session
from zoo import DECODERS, PAST, Exported

_TURNS, _TOKENS = 7, 12
#: Seconds, for others' threads to go to sleep.
_PAUSE = 0.05
#: What is decoded: it makes no difference.
_TOKEN = numpy.array([[7]])

Run = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/models"))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--contexts", type=int, nargs="+", default=[64, 512, 2048])
    arguments = parser.parse_args()
    reader = _reader()
    for model in DECODERS:
        path = arguments.folder / f"{model.name}.onnx"
        if not path.exists():
            print(f"{path} is not there: make models")
            continue
        program = rx.compile(rx.from_onnx(path), donate=["past*"])
        weights = _weights_read(program, path)
        for threads in arguments.threads:
            program.threads = threads
            speed = _bytes_a_second(*reader, threads)
            for context in arguments.contexts:
                found = _measured(_runs(model, path, program, context, threads))
                read = weights + _kept_bytes(model, context)
                print(_row(model, context, threads, found, read / speed), flush=True)


def _runs(model: Exported, path: Path, program: rx.runtime.Executable, context: int, threads: int) -> dict[str, Run]:
    """Each decodes one token behind so many others."""
    step, cache = program["main"], program["main"].cache(room=context + 1)  # type: ignore[attr-defined]
    step(numpy.full((1, context), 7), cache)

    def ours() -> object:
        cache.length = context
        return step(_TOKEN, cache)

    past = {name: cache[name].copy() for name in cache.names}
    feeds = {model.inputs[0].name: _TOKEN, **past}
    theirs = onnxruntime_session(path, threads)
    runs: dict[str, Run] = {"ours": ours, "onnxruntime": lambda: theirs.run(None, feeds)}
    request = _openvino(path, threads)
    if request is not None:
        runs["OpenVINO"] = lambda: request(list(feeds.values()))
    expected, got = theirs.run(None, feeds)[0], ours()
    assert numpy.abs(expected - got).max() < 1e-3, "results differ"
    return runs


def _openvino(path: Path, threads: int) -> Callable[[Sequence[Any]], object] | None:
    try:
        import openvino
    except ImportError:
        return None
    how = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    # Keys and values are f32 as well: its default keeps them in 8 bits.
    request = openvino.Core().compile_model(path, "CPU", how).create_infer_request()
    return lambda values: request.infer(list(values))


def _measured(runs: Mapping[str, Run]) -> dict[str, float]:
    """Seconds for a token."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(_TURNS):
        for name, run in runs.items():
            time.sleep(_PAUSE)
            run()
            start = time.perf_counter()
            for _ in range(_TOKENS):
                run()
            found[name].append((time.perf_counter() - start) / _TOKENS)
    return {name: statistics.median(each) for name, each in found.items()}


def _weights_read(program: rx.runtime.Executable, path: Path) -> int:
    """Bytes of constants that every token reads: of tables that rows are taken of, nothing to speak of."""
    import onnx

    graph = onnx.load(path).graph
    taken = {node.input[0] for node in graph.node if node.op_type == "Gather"}
    others = {name for node in graph.node if node.op_type != "Gather" for name in node.input}
    sizes = {each.name: 4 * int(numpy.prod(each.dims)) for each in graph.initializer if each.data_type == 1}
    return sum(size for name, size in sizes.items() if name in others or name not in taken)


def _kept_bytes(model: Exported, context: int) -> int:
    sizes = {**model.sizes[0], PAST: context}
    return sum(4 * int(numpy.prod(model.shape(each, sizes))) for each in model.inputs[1:])


def _reader(megabytes: int = 256) -> tuple[rx.runtime.Executable, int]:
    """A product of one row with weights that no cache holds, and their bytes."""
    depth = 1024
    weights = numpy.ones((depth, (megabytes << 20) // (4 * depth)), "float32")
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("rows", depth))}) as f:
        (x,) = f
        f.returns(rx.relax.matmul(x, rx.relax.const(weights)))
    return rx.compile(module), weights.nbytes


def _bytes_a_second(reader: rx.runtime.Executable, count: int, threads: int) -> float:
    """How fast so many threads read weights, at best."""
    reader.threads = threads
    x, seconds = numpy.ones((1, 1024), "float32"), []
    for _ in range(9):
        start = time.perf_counter()
        reader["main"](x)
        seconds.append(time.perf_counter() - start)
    return count / min(seconds)


def _row(model: Exported, context: int, threads: int, found: Mapping[str, float], floor: float) -> str:
    own = found["ours"]
    parts = [f"{model.name:<13} {context:>5} x{threads}  ours {1 / own:7.1f} ({floor / own:4.0%} of the floor)"]
    parts += [f"{name} {1 / each:7.1f} ({each / own:.2f})" for name, each in found.items() if name != "ours"]
    return "  ".join(parts)


if __name__ == "__main__":
    main()
