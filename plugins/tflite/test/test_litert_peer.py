# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run --compare: results beside LiteRT's interpreter."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import relax_mlir as rx
from noise import without_noise
from relax_mlir import relax
from relax_mlir.tools.relax_run import run

MODEL = Path(__file__).parent / "models" / "transformer.tflite"


def outcome(*arguments: str | Path) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    code = run([str(argument) for argument in arguments], io.StringIO(), stdout, stderr)
    return code, stdout.getvalue(), without_noise(stderr.getvalue())


@pytest.fixture(scope="module")
def addition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program with two inputs."""
    path = tmp_path_factory.mktemp("addition") / "add.rxa"
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((3, 4)), "w": rx.tensor((4,))}) as f:
        f.returns(relax.add(*f))
    rx.compile(module).save(path)
    return path


def test_a_model_is_run_by_litert(addition: Path, tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert")
    program = tmp_path / "model.rxa"
    rx.compile(rx.from_tflite(MODEL)).save(program)
    code, out, errors = outcome(program, "--shape=rows:2,6,16", "--compare", MODEL)
    assert (code, errors) == (0, "") and out.count("close") == 1
    code, _, errors = outcome(addition, "--compare", MODEL)
    assert code == 1 and "the program has 2 inputs, " in errors and errors.endswith("transformer.tflite' 1\n")
    other = tmp_path / "broken.tflite"
    other.write_bytes(b"none")
    code, _, errors = outcome(program, "--shape=rows:2,6,16", "--compare", other)
    assert code == 1 and "LiteRT cannot run" in errors


def test_the_missing_package_is_named(addition: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    code, _, errors = outcome(addition, "--compare", "x.tflite")
    assert code == 1 and "needs LiteRT: pip install ai-edge-litert" in errors and "Traceback" not in errors
