# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the table of lines per capability in docs/architecture.md: this project beside others.

Counts have two digits, so that a small change leaves the page as it is.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from generated import ROOT, main

PAGE = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- Written by tools/dev/gen_line_counts.py (`make generate`): do not edit up to the end of the table. -->\n"
END = "<!-- End of the table. -->\n"
#: Folders of the core. `tools/dev` is for developers and does not count.
CORE = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))


class Capability(NamedTuple):
    """Capability of the product: its files and folders, and the lines that other projects have for it."""

    name: str
    places: str
    others: str


CAPABILITIES = (
    Capability("ONNX, in and out", "frontends/onnx plugins/onnx_domains/relax_mlir_onnx_domains", ""),
    Capability(
        "torch: export and compile",
        "plugins/torch/relax_mlir_torch",
        "TVM 6,791 (three translators); torch-mlir's importer 3,129",
    ),
    Capability(
        "StableHLO, `jax.jit`, PJRT",
        "plugins/jax/relax_mlir_jax",
        "IREE's input 15,400 and PJRT 8,556; TVM 450 (45 operators)",
    ),
    Capability("TFLite", "plugins/tflite/relax_mlir_tflite", "TVM 9,109"),
    Capability("TOSA", "plugins/tosa/relax_mlir_tosa", ""),
    Capability("common part of the front ends", "frontends/core", "none has one"),
    Capability("TVMScript, in and out", "frontends/script dialects/script", "TVM 10,197"),
    Capability(
        "schedules: loop tree and primitives",
        "passes/kernels/loops passes/kernels/primitives plugins/tvm/relax_mlir_tvm",
        "TVM 28,825; exo 30,483; tinygrad 905",
    ),
    Capability("planned loops of CPUs", "passes/kernels/schedule targets/llvm/plans", "IREE's LLVMCPU 14,008"),
    Capability(
        "SPIR-V, Vulkan, OpenCL",
        "plugins/spirv/relax_mlir_spirv",
        "TVM about 11,000; IREE's code generation 10,339",
    ),
    Capability("WebGPU", "plugins/webgpu/relax_mlir_webgpu", "TVM 2,324; tinygrad 336"),
    Capability(
        "gradients and training",
        "passes/graph/gradient_rules.py plugins/training/relax_mlir_training",
        "TVM 4,400",
    ),
    Capability("proof: reference interpreter, check, reduce, bisect", "plugins/proof/relax_mlir_proof", "xDSL 6,079"),
    Capability(
        "quantization", "plugins/quantize/relax_mlir_quantize passes/graph/recipes passes/graph/quantization", ""
    ),
    Capability(
        "codegens of libraries", "plugins/dnnl plugins/blas plugins/nvidia plugins/tensorrt plugins/onnxruntime", ""
    ),
)


def pages() -> dict[Path, str]:
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return {PAGE: f"{before}{BEGIN}\n{table()}\n{END}{after}"}


def table() -> str:
    core, plugins = count(CORE), count(["plugins"])
    rows = [(each.name, _shown(count(each.places.split())), each.others) for each in CAPABILITIES]
    rows += [("**the core**", f"**{_shown(core)}**", ""), ("**all plug-ins**", f"**{_shown(plugins)}**", "")]
    lines = ["| capability | lines here | lines elsewhere |", "| --- | --: | --- |"]
    return "".join(f"{line}\n" for line in (*lines, *(f"| {' | '.join(row)} |" for row in rows)))


def count(patterns: Sequence[str]) -> int:
    """Return the number of lines of the product's Python code in these files and folders."""
    places = {place for pattern in patterns for place in ROOT.glob(pattern)}
    files = [file for file in _product() if not places.isdisjoint((file, *file.parents))]
    return sum(len(file.read_text("utf-8").splitlines()) for file in files)


@cache
def _product() -> list[Path]:
    """Return the Python files of the product. Build outputs, which git ignores, do not count."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    paths = [PurePosixPath(name) for name in listed if name and (ROOT / name).is_file()]
    return [ROOT / path for path in paths if "test" not in path.parts and path.parts[:2] != ("tools", "dev")]


def _shown(lines: int) -> str:
    """Return a count with two digits. Large counts are multiples of 5,000."""
    unit = 5000 if lines >= 100_000 else 10 ** max(len(str(lines)) - 2, 0)
    return f"{round(lines / unit) * unit:,}"


if __name__ == "__main__":
    sys.exit(main(__doc__, pages))
