# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A saved program in an environment with only the runtime's requirements of docs/targets.md: neither MLIR nor numpy."""

from __future__ import annotations

import re
import sys
import venv
from pathlib import Path

import numpy
import pytest
from installing import PROJECT, REPOSITORY, build_wheel, requirement_name, run

import relax_mlir as rx
from relax_mlir import relax

pytestmark = pytest.mark.slow

# Requirements of the compiler only, and the requirements of the runtime's own dependencies.
COMPILER_ONLY = {"torch-mlir", "numpy"}
SECOND_HAND = ["typing_extensions"]

PROGRAM = """
import ctypes, importlib, sys
import relax_mlir
from relax_mlir import runtime

def refused(name):
    try:
        importlib.import_module(name)
    except ImportError:
        return True

assert all(map(refused, ["torch_mlir", "mlir", "numpy", "llvmlite"])), sorted(sys.modules)
executable = runtime.load(sys.argv[1])
weights = executable["weights"]()
result = executable["main"](weights)
values = (ctypes.c_float * 64).from_address(result.data_ptr())
print(tuple(result.shape), [round(value, 4) for value in values[:3]])
try:
    executable["main"](3)
except TypeError as error:
    print(error)
others = [name for name in sys.modules if name.startswith("relax_mlir.") and ".runtime" not in name]
print(sorted(name for name in others if ".support" not in name))
try:
    relax_mlir.compile
except Exception as error:
    print(type(error).__name__, error)
"""


def runtime_requirements() -> list[str]:
    """Return the requirements with the exact versions of pyproject.toml."""
    return [each for each in PROJECT["dependencies"] if requirement_name(each) not in COMPILER_ONLY]


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("artifact") / "model.rxa"
    module = rx.Module()
    with module.function("weights", []) as f:
        f.returns(relax.const(numpy.linspace(-3, 3, 64, dtype="float32").reshape(4, 16)))
    with module.function("main", [rx.tensor(("n", 16))]) as f:
        f.returns(relax.tanh(relax.add(*f, *f)))
    rx.compile(module).save(path)
    return path


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of a new environment with the runtime only."""
    wheel = build_wheel(tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel"))
    place = tmp_path_factory.mktemp("venv")
    venv.create(place, with_pip=False)
    interpreter = place / "bin" / "python"
    packages = [wheel, *runtime_requirements(), *SECOND_HAND]
    command = [sys.executable, "-m", "pip", "--python", interpreter, "install", "--quiet", "--no-deps", *packages]
    run(*command, cwd=place)
    return interpreter


def test_a_saved_program_runs_without_the_compiler(python: Path, artifact: Path, tmp_path: Path) -> None:
    done = run(python, "-c", PROGRAM, artifact, cwd=tmp_path)
    first = [round(float(numpy.tanh(2 * value)), 4) for value in numpy.linspace(-3, 3, 64)[:3]]
    result, refusal, others, missing, help_ = done.stdout.splitlines()
    assert result == f"(4, 16) {first}"
    assert "main" in refusal and "expected" in refusal
    assert others == "[]"
    assert missing.startswith("RelaxError no MLIR Python bindings found") and "pip install torch-mlir" in help_
    assert done.stderr == ""


def test_relax_run_says_what_it_lacks(python: Path, artifact: Path, tmp_path: Path) -> None:
    """Check that relax-run needs numpy in addition to the runtime, but not MLIR."""
    tool = python.parent / "relax-run"
    assert run(tool, "--version", cwd=tmp_path).stdout == f"relax-mlir {PROJECT['version']}\n"
    done = run(tool, artifact, "--function=weights", cwd=tmp_path, status=1)
    assert done.stderr == "relax-run: error: relax-run needs numpy for arrays: pip install numpy\n"


def test_the_documents_tell_how_to_install_the_runtime() -> None:
    text = (REPOSITORY / "docs" / "quickstart.md").read_text(encoding="utf-8")
    command = re.search(r"^pip install --no-deps \./relax_mlir.*\.whl\npip install (.*)$", text, re.MULTILINE)
    assert command, "it does not tell how to install the runtime alone"
    assert set(command.group(1).split()) == {"numpy", *runtime_requirements()}
