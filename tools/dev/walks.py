# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Count the project's files that three walks pass through, and the calls from one file into another.

docs/architecture.md states the bounds of the counts. Each walk is done once before it is counted, so that nothing is
imported or parsed meanwhile.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy
import onnx
from relax_mlir.passes.core.stages import Stage

import relax_mlir as rx

ROOT = str(Path(rx.__file__).resolve().parents[1])
#: Fixed target for reproducible counts: the processor's features affect the work.
TARGET = "llvm{cpu=haswell caches=32K,1M cores=2}"


def walk(work: Callable[[], object]) -> tuple[int, int]:
    """Return the files that ran, and the calls between them."""
    files, moves = set[str](), 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal moves
        if event != "call" or not (file := _own_file(frame)):
            return
        files.add(file)
        caller = frame.f_back
        while caller is not None and not _own_file(caller):
            caller = caller.f_back
        moves += caller is not None and _own_file(caller) not in ("", file)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return len(files), moves


def _own_file(frame: FrameType) -> str:
    file = frame.f_code.co_filename
    return file if file.startswith(ROOT) and "/.venv/" not in file and file != __file__ else ""


def convolution() -> onnx.ModelProto:
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    weights = onnx.numpy_helper.from_array(numpy.ones((4, 3, 3, 3), "float32"), "w")
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    inputs = [helper.make_tensor_value_info("x", float32, [1, 3, 8, 8])]
    outputs = [helper.make_tensor_value_info("y", float32, [1, 4, 8, 8])]
    graph = helper.make_graph([node], "graph", inputs, outputs, [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def model_to_call() -> None:
    rx.compile(rx.from_onnx(MODEL), TARGET, cache=False)["main"](numpy.ones((1, 3, 8, 8), "float32"))


def exponential() -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(rx.relax.exp(*f))
    return module


def until(stage: str) -> tuple[rx.Module, Stage]:
    """Return a module before a stage, and the stage."""
    module, stages = exponential(), rx.stages("llvm")
    for each in stages:
        if each.name == stage:
            return module, each
        each.run(module, "llvm")
    raise SystemExit(f"no stage is called {stage}: {', '.join(stages.names)}")


MODEL = convolution()


def main() -> int:
    model_to_call()
    tell("an ONNX Conv to its call", model_to_call)
    for text, stage in (("a rule to its use", "legalize"), ("an argument to its kernel", "entries")):
        module, found = until(stage)
        tell(text, functools.partial(found.run, module, "llvm"))
    return 0


def tell(text: str, work: Callable[[], object]) -> None:
    files, moves = walk(work)
    print(f"{text + ':':<26} {files:>3} files, {moves:>5,} calls from one into another")


if __name__ == "__main__":
    sys.exit(main())
