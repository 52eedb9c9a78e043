# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a model's file to a program, with another compiler: python peers.py onnxruntime|tvm|iree model.onnx"""

from __future__ import annotations

import subprocess
import sys


def onnxruntime(path: str) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def tvm(path: str) -> None:
    """Compile a model like TVM's own tutorial for a CPU, without tuning, and keep it as a library."""
    import os
    import tempfile

    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    cpu = tvm.get_global_func("target.llvm_get_system_cpu")
    module = from_onnx(onnx.load(path), keep_params_in_input=False)
    built = tvm.compile(module, target=tvm.target.Target({"kind": "llvm", "mcpu": cpu()}))
    with tempfile.TemporaryDirectory() as folder:
        built.export_library(os.path.join(folder, "model.so"))
    assert isinstance(built, relax.VMExecutable)


def iree(path: str) -> None:
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        imported, compiled = os.path.join(folder, "model.mlir"), os.path.join(folder, "model.vmfb")
        tools = os.path.dirname(sys.executable)
        importer = [os.path.join(tools, "iree-import-onnx"), path, "-o", imported]
        _run([*importer, "--opset-version", "17"])
        options = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"]
        options += ["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O2"]
        compiler = [os.path.join(tools, "iree-compile"), imported, *options, "-o", compiled]
        _run(compiler)


def _run(command: list[str]) -> None:
    """Run a command, and exit with its output if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit("\n".join(line for line in done.stderr.splitlines() if "error" in line) or done.stderr[-500:])


if __name__ == "__main__":
    {"onnxruntime": onnxruntime, "tvm": tvm, "iree": iree}[sys.argv[1]](sys.argv[2])
