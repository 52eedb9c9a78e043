# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time and peak memory of importing a large ONNX model, with its weights inside of the file and next to it.

    python bench/onnx_import.py                     prints the table, for 500 MB
    python bench/onnx_import.py --megabytes 1900    close to the maximum size of a protobuf

Each figure is from a fresh process. Memory after its imports is subtracted; pages of mapped files count. The file is in
the system's cache. Figures of onnx.load and onnxruntime's session for the same model are beside it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_LAYERS = 8

# Imports and measured code of each step.
STEPS = {
    "rx.from_onnx": ("import relax_mlir as rx; rx.from_onnx(small)", "rx.from_onnx(large)"),
    "  and rx.compile": (
        "import relax_mlir as rx; rx.compile(rx.from_onnx(small), cache=False)",
        "rx.compile(rx.from_onnx(large), cache=False)",
    ),
    "  and save": (
        "import relax_mlir as rx; rx.compile(rx.from_onnx(small), cache=False)",
        "rx.compile(rx.from_onnx(large), cache=False).save(large + '.rxa')",
    ),
    "onnx.load": ("import onnx; onnx.load(small)", "onnx.load(large)"),
    "onnxruntime's session": (
        "import onnxruntime as ort; ort.InferenceSession(small)",
        "ort.InferenceSession(large)",
    ),
}
_MEASURE = """
import re, sys, time
small, large = sys.argv[1:]
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
{prepare}
before, start = peak(), time.perf_counter()
kept = {measured}
print(time.perf_counter() - start, peak() - before)
"""


def chain(megabytes: float) -> Any:
    """Return a model of products with a square matrix each."""
    import numpy
    from onnx import helper, numpy_helper

    width = max(math.isqrt(int(megabytes * 1e6 / _LAYERS / 4)), 1)
    generator = numpy.random.default_rng(0)
    weights = [
        numpy_helper.from_array(generator.random((width, width), dtype="float32"), f"w{each}")
        for each in range(_LAYERS)
    ]
    names = ["x", *(f"h{each}" for each in range(_LAYERS))]
    nodes = [helper.make_node("MatMul", [names[each], f"w{each}"], [names[each + 1]]) for each in range(_LAYERS)]
    info = [helper.make_tensor_value_info(name, 1, ["n", width]) for name in (names[0], names[-1])]
    graph = helper.make_graph(nodes, "chain", info[:1], info[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def write(model: Any, folder: Path, external: bool) -> Path:
    import onnx

    folder.mkdir()
    onnx.save_model(model, folder / "model.onnx", save_as_external_data=external, location="weights.bin")
    return folder / "model.onnx"


def measure(step: str, small: Path, large: Path) -> tuple[float, float]:
    """Return seconds and bytes."""
    prepare, measured = STEPS[step]
    code = _MEASURE.format(prepare=prepare, measured=measured)
    command = [sys.executable, "-c", code, str(small), str(large)]
    seconds, grown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-2:]
    return float(seconds), float(grown)


def figures(folder: Path, megabytes: float, repeats: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the best time and the least peak of each step, by the position of the weights."""
    steps = [step for step in STEPS if "onnxruntime" not in step or importlib.util.find_spec("onnxruntime")]
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for place, external in (("inside", False), ("outside", True)):
        small = write(chain(0.01), folder / f"small-{place}", external)
        large = write(chain(megabytes), folder / f"large-{place}", external)
        runs = [{step: measure(step, small, large) for step in steps} for _ in range(repeats)]
        found[place] = {step: (min(run[step][0] for run in runs), min(run[step][1] for run in runs)) for step in steps}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--megabytes", type=float, default=500)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = figures(Path(name), arguments.megabytes, arguments.repeats)
    print(f"{'':24}{'weights inside':>22}{'weights outside':>22}")
    print(f"{f'{arguments.megabytes:g} MB':24}" + f"{'s':>10}{'peak/size':>12}" * 2)
    for step in found["inside"]:
        cells = (found[place][step] for place in ("inside", "outside"))
        shown = "".join(f"{seconds:10.2f}{grown / arguments.megabytes / 1e6:12.2f}" for seconds, grown in cells)
        print(f"{step:24}{shown}")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
