# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refusals for WebGPU have a message, and accepted programs are reproducible."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import relax_mlir as rx
from real_webgpu import graph
from relax_mlir import relax, te


def test_an_operation_is_named_with_its_kernel_and_place() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: te.call_extern("float32", "my_root", a[i]), name="B")
    with pytest.raises(rx.RelaxError) as refusal:
        rx.compile(te.create_prim_func([a, b]), target="webgpu")
    text = str(refusal.value)
    assert "target 'webgpu' cannot write 'tir.call_extern' op in kernel 'B': WGSL has no counterpart" in text
    assert "test_refusals.py:" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("threads=100", "option 'threads' expects a power of two from 32 to 1024, got '100'"),
        ("threads=2048", "option 'threads' expects a power of two"),
        ("shared=1", "option 'shared' expects a number from 16384 to 65536, got '1'"),
        ("shared=x", "option 'shared' expects a number"),
        ("subgroup=8", "has no option 'subgroup'"),
    ],
)
def test_options(options: str, message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        rx.compile(graph(relax.nn.relu, rx.tensor((4,))), target=f"webgpu{{{options}}}")


def test_an_object_file_has_no_place_for_kernels(tmp_path: Path) -> None:
    source = tmp_path / "relu.mlir"
    source.write_text(str(graph(relax.nn.relu, rx.tensor((4,)))))
    command = [sys.executable, "-m", "relax_mlir.tools.relax_compile", str(source), "--target=webgpu", "--emit=obj"]
    done = subprocess.run([*command, "-o", str(tmp_path / "relu.o")], capture_output=True, text=True)
    assert done.returncode == 1 and "has no place for kernels" in done.stderr and "Traceback" not in done.stderr


def test_a_folder_for_browsers_has_no_parts_of_codegens(tmp_path: Path) -> None:
    source = tmp_path / "product.mlir"
    source.write_text(str(graph(relax.add, rx.tensor((64, 64)), rx.tensor((64, 64)))))
    command = [sys.executable, "-m", "relax_mlir.tools.relax_compile", str(source), "--target=webgpu"]
    done = subprocess.run(
        [*command, "--partition=example_npu", "-o", f"{tmp_path}/page/"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "parts of the codegens example_npu are native code" in done.stderr
    assert "compile without --partition to write a folder" in done.stderr and "Traceback" not in done.stderr


def _program(build: Any, *infos: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    files = rx.sources(graph(build, *infos), target="webgpu")
    return files, json.loads(files["program.json"])


def test_sources_contain_a_program_and_its_runtime() -> None:
    files, program = _program(relax.nn.softmax, rx.tensor(("n", 300)))
    assert sorted(files) == ["device.js", "index.html", "program.json", "relax.js", "weights.bin"]
    assert program["entries"]["main"]["inputs"] == [{"dtype": "float32", "shape": ["n", 300], "name": "arg0"}]
    assert program["needs"]["threads"] <= 256 and program["needs"]["shared"] <= 16384
    assert files == _program(relax.nn.softmax, rx.tensor(("n", 300)))[0]


def test_barriers_are_where_all_threads_come() -> None:
    """Keep barriers out of branches that depend on memory, which browsers refuse."""
    _, program = _program(lambda x: relax.sum(x, axis=1), rx.tensor((7, 5000)))
    (code,) = [kernel["code"] for kernel in program["kernels"] if "workgroupBarrier" in kernel["code"]]
    assert "exchanged_i32[thread ^ 16]" in code or "exchanged_f32[thread ^ 16]" in code


def test_sums_are_not_taken_apart() -> None:
    """Keep the addition and subtraction of a large number by which exp rounds, which compilers would remove."""
    _, program = _program(relax.exp, rx.tensor((5,)))
    (kernel,) = program["kernels"]
    assert "apart(" in kernel["code"] and "let zero = arguments[0].z;" in kernel["code"]
