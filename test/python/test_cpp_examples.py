# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Build and run of the C++ examples by their Makefile. Arguments that do not fit end in a message, not in a crash."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import tvm_ffi_orcjit

import relax_mlir as rx

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cpp"
LOADER = str(tvm_ffi_orcjit._lib_path)
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.skipif(shutil.which("make") is None, reason="there is no make"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cpp")
    options = [f"OUT={folder}", f"PYTHON={sys.executable}", f"CXX={COMPILER}"]
    command = ["make", "-C", EXAMPLE, *options, "all", f"{folder}/model.rxa"]
    done = subprocess.run(
        command, env={**os.environ, "CXXFLAGS": "-O0 -Wall -Werror"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def run(*command: Any) -> tuple[int, str, str]:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def expected(rows: int) -> Any:
    spec: Any = importlib.util.spec_from_file_location("cpp_model", EXAMPLE / "model.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    x = numpy.arange(rows * 4, dtype="float32").reshape(rows, 4)
    return (x @ example.WEIGHTS)[:, :8] + example.BIAS


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_loaded_program_and_a_linked_object(built: Path, rows: int) -> None:
    program = run(built / "run_program", LOADER, built / "model.rxa", rows, 4)
    linked = run(built / "call_object", rows, 4)
    assert program == (0, f"function main\n{linked[1]}", "") and linked[0] == 0 and linked[2] == ""
    sizes, _, values = linked[1].partition(" :")
    assert sizes == f"{rows} 8"
    numpy.testing.assert_allclose(
        [float(each) for each in values.split()], expected(rows).ravel(), rtol=1e-4, atol=1e-4
    )


def test_arguments_that_do_not_fit(built: Path) -> None:
    for command in ([built / "run_program", LOADER, built / "model.rxa"], [built / "call_object"]):
        for sizes, text in (
            (["2", "5"], "ValueError: main: argument #0 'x' dimension 1 expected size 4, got 5: shape (2, 5)\n"),
            (["2"], "ValueError: main: argument #0 'x' expected rank 2 (n, 4), got rank 1: shape (2,)\n"),
        ):
            status, _, errors = run(*command, *sizes)
            assert (status, errors) == (1, text)


def _put(place: int, kind: str, value: Any) -> Callable[[bytes], bytes]:
    return lambda data: data[:place] + struct.pack(kind, value) + data[place + struct.calcsize(kind) :]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda data: b"", "cannot be read"),
        (lambda data: data[:63], "not a program: too short"),
        (lambda data: b"\x7fELF" + data[4:], "not a program: it does not begin like one"),
        (_put(8, "<I", 7), "its format version is 7, this reads versions 3 to 5"),
        (lambda data: data[:-64], "damaged: its header tells another size"),
        (_put(12, "<I", 2**32 - 1), "damaged: its parts reach beyond its end"),
        (_put(16, "<Q", 2**64 - 1), "damaged: its parts reach beyond its end"),
        (lambda data: data[:64] + b"?" + data[65:], "damaged: its manifest is not JSON"),
        (
            lambda data: re.sub(rb'("objects":\[)(\d+)', lambda found: found[1] + b"9" * len(found[2]), data),
            "damaged: its objects reach beyond the code",
        ),
        (lambda data: data.replace(b'"constants":', b'"constantz":'), "damaged: its manifest lacks 'constants'"),
        (lambda data: data.replace(b'"offset":0', b'"offset":7'), "damaged: a constant is not in it"),
    ],
)
def test_programs_that_are_none(built: Path, tmp_path: Path, change: Callable[[bytes], bytes], text: str) -> None:
    path = tmp_path / "bad.rxa"
    path.write_bytes(change((built / "model.rxa").read_bytes()))
    status, _, errors = run(built / "run_program", LOADER, path, 1, 4)
    assert status == 1 and errors.startswith(f"RuntimeError: {path}: ") and text in errors, errors


def test_what_is_not_there(built: Path, tmp_path: Path) -> None:
    status, _, errors = run(built / "run_program", LOADER, tmp_path / "none.rxa", 1, 4)
    assert (status, errors) == (1, f"RuntimeError: {tmp_path / 'none.rxa'}: cannot be read\n")
    status, _, errors = run(built / "run_program", tmp_path / "none.so", built / "model.rxa", 1, 4)
    assert status == 1 and "none.so" in errors
    assert run(built / "run_program")[0] == 2


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler of C, which the codegen `c` needs")
def test_parts_of_codegens(built: Path, tmp_path: Path) -> None:
    """Run parts with their code in the program, and refuse the others by name."""
    module = rx.Module.from_file(built / "model.mlir")
    own, bytes_ = tmp_path / "own.rxa", tmp_path / "bytes.rxa"
    rx.compile(module, partition=["c"], strict_partition=True).save(own)
    rx.compile(module, partition=["example_npu"], strict_partition=True).save(bytes_)
    program = built / "run_program"
    assert run(program, LOADER, own, 5, 4) == run(program, LOADER, built / "model.rxa", 5, 4)
    status, _, errors = run(program, LOADER, bytes_, 5, 4)
    assert status == 1 and errors.startswith(f"RuntimeError: {bytes_}: its part ")
    assert errors.endswith("is run by codegen 'example_npu' in Python only\n")
