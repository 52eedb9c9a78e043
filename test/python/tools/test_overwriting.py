# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools never overwrite their inputs, through any name or link, and the error names the option."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.files import refuse_overwriting
from relax_mlir.tools import relax_compile, relax_opt, relax_run

import relax_mlir as rx

Tool = Callable[..., int]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model with external data, a module, a program, and an input."""
    folder = tmp_path_factory.mktemp("made")
    weights = onnx.numpy_helper.from_array(numpy.ones((64, 64), "float32"), "w")
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 64]) for name in "xy"]
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = onnx.helper.make_graph([node], "graph", value[:1], value[1:], [weights])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=10)
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=100)
    rx.compile(rx.from_onnx(folder / "m.onnx")).save(folder / "m.rxa")
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2,))}) as f:
        f.returns(*f)
    (folder / "m.mlir").write_text(str(module))
    (folder / "empty.irdl").write_text("module {}")
    numpy.save(folder / "y.npy", numpy.ones((2, 64), "float32"))
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    for name in ("m.onnx", "m.data", "m.mlir", "m.rxa", "y.npy"):
        os.symlink(name, f"symbolic.{name}")
        os.link(name, f"hard.{name}")
    os.makedirs("dumped")
    shutil.copy("m.mlir", "dumped/00-import.mlir")
    return folder


def run(tool: Any, *arguments: str) -> tuple[int, str]:
    errors = io.StringIO()
    return tool.run(arguments, io.StringIO(), io.TextIOWrapper(io.BytesIO()), errors), errors.getvalue()


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("tool", "arguments", "option"),
    [
        (relax_compile, "m.onnx -o m.onnx", "-o"),
        (relax_compile, "m.onnx -o ./m.onnx", "-o"),
        (relax_compile, "m.onnx -o symbolic.m.onnx", "-o"),
        (relax_compile, "symbolic.m.onnx -o m.onnx", "-o"),
        (relax_compile, "m.onnx -o hard.m.onnx", "-o"),
        (relax_compile, "m.onnx -o m.data", "-o"),
        (relax_compile, "m.onnx -o hard.m.data --no-cache", "-o"),
        (relax_compile, "m.onnx -o symbolic.m.data --emit=relax", "-o"),
        (relax_compile, "m.onnx -o m.data --emit=obj", "-o"),
        (relax_compile, "m.onnx -o new.rxa --report m.onnx", "--report"),
        (relax_compile, "m.onnx -o new.rxa --report m.data", "--report"),
        (relax_compile, "m.mlir -o hard.m.mlir --emit=llvm", "-o"),
        (relax_compile, "dumped/00-import.mlir -o new.rxa --save-ir-dir dumped", "--save-ir-dir"),
        (relax_opt, "m.mlir -o m.mlir", "-o"),
        (relax_opt, "hard.m.mlir -o m.mlir --cse", "-o"),
        (relax_opt, "m.mlir --cse --mlir-generate-reproducer=symbolic.m.mlir", "--mlir-generate-reproducer"),
        (
            relax_opt,
            "m.mlir --cse --mlir-pass-pipeline-crash-reproducer=m.mlir",
            "--mlir-pass-pipeline-crash-reproducer",
        ),
        (relax_opt, "m.mlir --irdl-file=empty.irdl -o empty.irdl", "-o"),
        (relax_run, "m.rxa --profile-json=hard.m.rxa", "--profile-json"),
        (relax_run, "m.rxa --input x=y.npy --output hard.y.npy", "--output"),
        (relax_run, "m.rxa --input x=hard.y.npy --output-dir .", "--output-dir"),
        (relax_run, "m.rxa --compare m.onnx --profile-json=m.onnx", "--profile-json"),
    ],
)
def test_inputs_are_not_overwritten(here: Path, tool: Any, arguments: str, option: str) -> None:
    before = content(here)
    for _ in range(2):  # the second time from a cache, where there is one
        status, errors = run(tool, *arguments.split())
        assert status == 1 and f"error: {option} names an input, '" in errors, errors
        assert content(here) == before


def test_from_the_cache(here: Path) -> None:
    """Refuse to overwrite the model or its data with a cached program."""
    assert run(relax_compile, "m.onnx", "-o", "new.rxa") == (0, "")
    before = content(here)
    for output in ("m.data", "hard.m.data", "symbolic.m.onnx"):
        status, errors = run(relax_compile, "m.onnx", "-o", output)
        assert status == 1 and f"-o names an input, '{output}'" in errors
    assert content(here) == before


def test_older_outputs_are_overwritten(here: Path) -> None:
    """Overwrite older outputs, devices, and the file that a program was loaded from."""
    for _ in range(2):
        assert run(relax_compile, "m.onnx", "-o", "new.rxa") == (0, "")
        assert run(relax_opt, "m.mlir", "-o", "new.mlir") == (0, "")
        assert run(relax_run, "m.rxa", "--output", "new.npy") == (0, "")
    refuse_overwriting({"-o": "/dev/null", "--report": "-", "--sign": None}, ["/dev/null", "-", "m.onnx"])
    refuse_overwriting({"-o": "none"}, ["none", "nor/this", "m\0"])
    loaded = rx.runtime.load("m.rxa")
    before = Path("m.rxa").read_bytes()
    loaded.save("m.rxa")
    assert Path("m.rxa").read_bytes() == before
    assert loaded["main"](numpy.ones((2, 64), "float32")).sum() == 2 * 64 * 64
    with pytest.raises(RelaxError, match=r"--x names an input, 'hard\.m\.mlir', which is the same file as"):
        refuse_overwriting({"--x": "hard.m.mlir"}, ["other", "m.mlir"])
    status, errors = run(relax_compile, "m.onnx", "-o", "new.html", "--report", "./new.html")
    assert status == 1 and "-o and --report name the same file" in errors
