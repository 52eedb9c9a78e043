# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile time of a program by each entry point: cold, with its kernels in the cache, and with the program in the
cache.

    python bench/compile_doors.py                                         entry points with installed packages
    python bench/compile_doors.py --python build/env-torch/bin/python --python build/env-jax/bin/python

Each figure is from a separate process: seconds of processor time of all its threads and children, and by the clock,
from the model to its first result, without imports of the framework. The model is a chain of products with 100 MB of
weights. The time of torch.compile itself is measured with a backend that returns the graph unchanged.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SIZE, _LAYERS, _ROWS = 2048, 6, 4
_COLUMNS = ("cold", "kernels", "program")


def _weights() -> list[Any]:
    import numpy

    random = numpy.random.default_rng(0)
    return [random.standard_normal((_SIZE, _SIZE), "float32") / _SIZE**0.5 for _ in range(_LAYERS)]


def _onnx(folder: str) -> str:
    """Return the path of the model, which is written once."""
    from onnx import TensorProto, helper, numpy_helper, save

    path = os.path.join(folder, "chain.onnx")
    if os.path.exists(path):
        return path
    nodes, named = [], "x"
    for layer in range(_LAYERS):
        nodes += [
            helper.make_node("MatMul", [named, f"w{layer}"], [f"y{layer}"], f"product{layer}"),
            helper.make_node("Relu", [f"y{layer}"], [f"z{layer}"], f"relu{layer}"),
        ]
        named = f"z{layer}"
    shape = [_ROWS, _SIZE]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", named)]
    initializers = [numpy_helper.from_array(each, f"w{layer}") for layer, each in enumerate(_weights())]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], initializers)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def _rx_compile(folder: str) -> Callable[[], object]:
    import numpy

    import relax_mlir as rx

    path, x = _onnx(folder), numpy.ones((_ROWS, _SIZE), "float32")
    return lambda: rx.compile(rx.from_onnx(path))["main"](x)


def _relax_compile(folder: str) -> Callable[[], object]:
    command = [str(Path(sys.executable).with_name("relax-compile")), _onnx(folder), "-o", f"{folder}/chain.rxa"]
    return lambda: subprocess.run(command, check=True, capture_output=True)


def _torch(backend: object) -> Callable[[], object]:
    import torch

    layers = []
    for weights in _weights():
        layer = torch.nn.Linear(_SIZE, _SIZE, bias=False)
        layer.weight.data = torch.from_numpy(weights)
        layers += [layer, torch.nn.ReLU()]
    compiled = torch.compile(torch.nn.Sequential(*layers).eval(), backend=backend)
    x = torch.ones(_ROWS, _SIZE)

    def run() -> object:
        with torch.no_grad():
            return compiled(x)

    return run


def _jit(folder: str) -> Callable[[], object]:
    import jax

    import relax_mlir as rx

    weights = [jax.numpy.asarray(each) for each in _weights()]

    def chain(x: Any) -> Any:
        for each in weights:
            x = jax.nn.relu(x @ each)
        return x

    x = jax.numpy.ones((_ROWS, _SIZE), "float32")
    return lambda: rx.jit(chain)(x)


_DOORS: dict[str, tuple[str, Callable[[str], Callable[[], object]]]] = {
    "rx.compile": ("onnx", _rx_compile),
    "relax-compile": ("onnx", _relax_compile),
    "torch.compile": ("torch", lambda folder: _torch("relax_mlir")),
    "of it Dynamo": ("torch", lambda folder: _torch(lambda graph, inputs: graph)),
    "rx.jit": ("jax", _jit),
}


def _cpu_seconds() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _measure(door: str, folder: str) -> None:
    """Print the seconds of one run as JSON, in a process of its own."""
    run = _DOORS[door][1](folder)
    cpu, clock = _cpu_seconds(), time.perf_counter()
    run()
    print(json.dumps([_cpu_seconds() - cpu, time.perf_counter() - clock]))


def _measured(python: str, door: str, folder: str) -> tuple[float, float]:
    environment = {**os.environ, "RELAX_MLIR_CACHE": f"{folder}/cache"}
    command = [python, __file__, "--door", door, "--folder", folder]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    cpu, clock = json.loads(done.stdout.splitlines()[-1])
    return cpu, clock


def _row(python: str, door: str) -> None:
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        for column in _COLUMNS:
            if column == "kernels":  # programs are deleted, and the entries that lead to them
                for kind in ("programs", "model-programs"):
                    shutil.rmtree(f"{folder}/cache/1/{kind}", ignore_errors=True)
            cells.append("{:.2f} ({:.2f})".format(*_measured(python, door, folder)))
    print(door.ljust(16) + "".join(cell.rjust(16) for cell in cells), flush=True)


def _has(python: str, package: str) -> bool:
    found = f"import importlib.util as u, sys; sys.exit(u.find_spec({package!r}) is None)"
    return subprocess.run([python, "-c", found], check=False).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", default=[], help="another environment's Python")
    parser.add_argument("--door", choices=_DOORS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.door:
        _measure(options.door, options.folder)
        return
    print("seconds of processor time (by the clock)".ljust(16))
    print("".ljust(16) + "".join(column.rjust(16) for column in _COLUMNS))
    pythons = [sys.executable, *options.python]
    for door, (package, _) in _DOORS.items():
        python = next((each for each in pythons if _has(each, package)), None)
        if python is not None:
            _row(python, door)


if __name__ == "__main__":
    main()
