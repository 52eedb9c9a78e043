# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time of relax-opt from its start to the first byte of output on a one-op file.

    python bench/startup.py             prints the table

Further rows of the same run are the interpreter itself, the import of MLIR's bindings, and the same file through the
wheel's own opt tool if it has one (which knows no relax operators: its file contains an upstream one).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from relax_mlir.bindings.mlir import ROOT, wheel_folder

ONE_OP = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
UPSTREAM_OP = """
func.func @f(%x: tensor<?xf32>) -> tensor<4xf32> {
  %0 = tensor.cast %x : tensor<?xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def milliseconds_to_first_byte(command: list[str]) -> float:
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        elapsed = time.perf_counter() - start
        process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{command} failed with exit code {process.returncode}")
    return elapsed * 1e3


def commands(folder: Path) -> dict[str, list[str]]:
    own, upstream = folder / "one.mlir", folder / "upstream.mlir"
    own.write_text(ONE_OP)
    upstream.write_text(UPSTREAM_OP)
    python = sys.executable
    relax_opt = [str(Path(python).parent / "relax-opt")]
    if not Path(relax_opt[0]).exists():
        relax_opt = [python, "-m", "relax_mlir.tools.relax_opt"]
    table = {
        "python -c print": [python, "-c", "print()"],
        "import of the bindings": [python, "-c", f"import {ROOT}.ir; print()"],
        "relax-opt one-op.mlir": [*relax_opt, str(own)],
        "relax-opt --cse one-op.mlir": [*relax_opt, "--cse", str(own)],
    }
    wheel_tool = wheel_folder() / "_mlir_libs" / "torch-mlir-opt"
    if wheel_tool.exists():
        table["the wheel's opt tool (C++)"] = [str(wheel_tool), str(upstream)]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        table = commands(Path(name))
        samples: dict[str, list[float]] = {label: [] for label in table}
        # In turns, so that a slow period of the machine affects all of them.
        for _ in range(arguments.repeats):
            for label, command in table.items():
                samples[label].append(milliseconds_to_first_byte(command))
    medians = {label: statistics.median(values) for label, values in samples.items()}
    print(f"{'ms to the first byte':36}{'median':>9}{'min':>9}")
    for label, median in medians.items():
        print(f"{label:36}{median:9.1f}{min(samples[label]):9.1f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(medians, indent=1) + "\n")


if __name__ == "__main__":
    main()
