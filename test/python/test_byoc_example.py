# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/byoc, installed as a package of its own: the tools find it, and its programs run without the compiler."""

from __future__ import annotations

import shutil
import site
import sys
import venv
from pathlib import Path

import pytest
from installing import REPOSITORY, run

BYOC = REPOSITORY / "examples" / "byoc"
MOST_LINES = 60

RUN = """
import sys
import numpy
import relax_mlir as rx

main = rx.runtime.load("classifier.rxa")["main"]
for count in (1, 3):
    x = numpy.random.default_rng(count).normal(size=(count, 4)).astype("float32")
    w1 = numpy.array([[0.5, -1, 0.25], [1, 0, -0.5], [-0.25, 2, 1], [0, 0.5, -1.5]], "float32")
    hidden = numpy.maximum(x @ w1 + numpy.array([0.5, -0.25, 1], "float32"), 0)
    scores = numpy.tanh(hidden @ numpy.array([[1, -1], [0.5, 0.5], [-2, 1]]) + [0.25, -0.5])
    powers = numpy.exp(scores)
    found = numpy.from_dlpack(main(x))
    numpy.testing.assert_allclose(found, powers / powers.sum(1, keepdims=True), rtol=1e-5)
print(*sorted(name for name in ("mynpu_codegen", "torch_mlir") if name in sys.modules))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the example installed. It sees this environment's packages, too."""
    folder = tmp_path_factory.mktemp("byoc")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
    shared = [str(REPOSITORY), *site.getsitepackages()]
    (packages / "shared.pth").write_text("".join(f"{each}\n" for each in shared))
    source = folder / "source"
    shutil.copytree(BYOC, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(packages)]
    run(sys.executable, "-m", "pip", "install", *options, str(source), cwd=folder)
    return python


def test_its_lines() -> None:
    lines = (BYOC / "mynpu_codegen.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES and max(map(len, lines)) <= 120


def test_it_is_found_by_its_entry_point(python: Path, tmp_path: Path) -> None:
    tool = [python, "-m", "relax_mlir.tools.relax_compile"]
    listed = run(*tool, "--list-codegens", cwd=tmp_path).stdout
    assert "mynpu: Layers, and softmax of rows.\n  mynpu.layer: " in listed
    table = run(*tool, BYOC / "classifier.py", "-o", "classifier.rxa", "--partition=mynpu", cwd=tmp_path).stderr
    head, _, row = table.splitlines()
    assert head == "partition: 4 of 7 operators" and row.split()[:3] == ["mynpu", "4", "2"]


def test_its_program_runs_in_a_process_of_its_own(python: Path, tmp_path: Path) -> None:
    """Run the program in a process with the compiler: a codegen that shares a file with its runtime needs patterns."""
    tool = [python, "-m", "relax_mlir.tools.relax_compile"]
    run(*tool, BYOC / "classifier.py", "-o", "classifier.rxa", "--partition=mynpu", cwd=tmp_path)
    assert run(python, "-c", RUN, cwd=tmp_path).stdout.split() == ["mynpu_codegen", "torch_mlir"]
    without = run(sys.executable, "-c", RUN, cwd=tmp_path, status=1).stderr
    assert "nothing here runs what codegen 'mynpu' makes" in without


def test_relax_run_takes_it_as_a_plugin(python: Path, tmp_path: Path) -> None:
    """Run a program with a plug-in that no entry point announces: relax-run imports the named module."""
    tool = [python, "-m", "relax_mlir.tools.relax_compile"]
    run(*tool, BYOC / "classifier.py", "-o", "classifier.rxa", "--partition=mynpu", cwd=tmp_path)
    without = [sys.executable, "-m", "relax_mlir.tools.relax_run", "classifier.rxa", "--shape=x:3,4"]
    assert "--load-plugin" in run(*without, cwd=tmp_path, status=1).stderr
    assert "(3, 2)" in run(*without, f"--load-plugin={BYOC / 'mynpu_codegen.py'}", cwd=tmp_path).stdout
    unknown = run(*without, "--load-plugin=no_such_module", cwd=tmp_path, status=1).stderr
    assert "cannot load plug-in 'no_such_module'" in unknown and "Traceback" not in unknown
