# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The module after the stage `program`, the kernels as text, and the folder for browsers, by FileCheck."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import relax_mlir as rx
from real_webgpu import graph
from relax_mlir import relax

#: Functions call the program's runner, which is a part of the module.
PROGRAM = """
CHECK:     relax.external_mods = [{codegen = "webgpu", data = dense_resource<webgpu> : tensor<{{[0-9]+}}xi8>
CHECK:     func.func @main(%arg0: tensor<?x6xf32{{.*}}) -> tensor<?x6xf32
CHECK:       "relax.call_pure_packed"(%arg0) {{.*}}func = "webgpu.main"
CHECK-NOT: gpu.
"""
#: All memory is one array of words.
KERNELS = """
CHECK:      // nn_relu
CHECK:      @group(0) @binding(0) var<storage, read_write> memory: array<u32>;
CHECK:      fn read(place: i32) -> u32 { return memory[place]; }
CHECK:      @compute @workgroup_size(256)
CHECK:          let block = i32(group.y * groups.x + group.x);
CHECK-NEXT:     if (u32(block) >= arguments[0].x) { return; }
CHECK:          bitcast<f32>(read(
CHECK:          write({{.*}}, bitcast<u32>(
"""
FOLDER = """
CHECK: "made_by": "relax-mlir
CHECK: "version": 1
CHECK: "entries":
CHECK: "main":
CHECK: "launch",
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write a module with a relu, and return its file."""
    file = tmp_path / "relu.mlir"
    file.write_text(str(graph(relax.nn.relu, rx.tensor(("n", 6)))))
    return file


def compile_source(source: Path, *options: str) -> str:
    command = [sys.executable, "-m", "relax_mlir.tools.relax_compile", str(source), "--target=webgpu", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def check_text(text: str, checks: str, folder: Path) -> None:
    """Check a text by FileCheck's directives."""
    file = folder / "checks.txt"
    file.write_text(checks)
    done = subprocess.run([sys.executable, "-m", "filecheck", str(file)], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("option", "checks"), [("--stop=program", PROGRAM), ("--emit=asm", KERNELS)])
def test_the_text_of_a_stage(source: Path, option: str, checks: str) -> None:
    check_text(compile_source(source, option), checks, source.parent)


def test_the_program_of_a_folder(source: Path) -> None:
    compile_source(source, "-o", f"{source.parent}/folder/")
    check_text((source.parent / "folder" / "program.json").read_text(), FOLDER, source.parent)
