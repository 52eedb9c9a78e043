# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-new-codegen: its package passes its own tests as pip would install it."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from installing import build_wheel
from relax_mlir.tools.new_codegen.driver import package as package_of
from relax_mlir.tools.relax_new_codegen import run

REPOSITORY = Path(__file__).resolve().parents[3]


def new_codegen(*arguments: str) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    return run(arguments, stdout=out, stderr=errors), out.getvalue(), errors.getvalue()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("made") / "othernpu", "--operator", "--target")


def written(folder: Path, *options: str) -> Path:
    """Write a package, named after its folder, and install it as pip would."""
    name = folder.name
    code, out, errors = new_codegen(name, f"-o={folder}", *options)
    assert code == 0, errors
    assert re.match(rf"{re.escape(str(folder))}: \d\d files\n", out) and "make test" in out
    points = (folder / "pyproject.toml").read_text().partition('[project.entry-points."relax_mlir.plugins"]\n')[2]
    lines = [line.replace('"', "") for line in points.partition("\n\n")[0].splitlines()]
    installed = folder / f"relax_{name}-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: relax-{name}\nVersion: 0.1.0\n")
    (installed / "entry_points.txt").write_text("\n".join(["[relax_mlir.plugins]", *lines, ""]))
    return folder


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), str(REPOSITORY)])
    environment = {**os.environ, "PYTHONPATH": path, "MYPYPATH": str(REPOSITORY / "build" / "types")}
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )


@pytest.mark.slow
def test_a_new_codegen_passes_in_a_fresh_environment(tmp_path: Path) -> None:
    """Install requirements from this environment, so that nothing is downloaded, and relax-mlir from its wheel."""
    (tmp_path / "source").mkdir()
    wheel = build_wheel(tmp_path / "source", tmp_path / "wheels")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True, timeout=100)
    for words in (
        ["install", "--no-deps", "--no-index", wheel],
        ["uninstall", "--yes", "setuptools"],
    ):  # venv brings it
        subprocess.run([venv / "bin" / "pip", "--quiet", *words], check=True, timeout=100)
    (packages,) = venv.glob("lib/*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    line = f"{venv}/bin/relax-new-codegen mynpu --operator --target && make -C mynpu fresh VENV={venv}"
    settings = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MAKE"))}
    done = subprocess.run(
        line, shell=True, cwd=tmp_path, env=environment | settings, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Success: no issues found" in done.stdout and " passed" in done.stdout
    assert (packages / "relax_mlir" / "compilation").is_dir()


def test_its_lit_tests_pass(package: Path) -> None:
    done = command(package, "lit.main", "-sv", "test")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def quantized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "bytenpu"
    return written(folder, "--quantized", "--operator", "--process")


def test_of_quantized_layers_its_lit_tests_pass(quantized: Path) -> None:
    done = command(quantized, "lit.main", "-sv", "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (quantized / "bytenpu" / "precision.py").exists()


@pytest.mark.slow
def test_of_quantized_layers_its_tests_pass(quantized: Path) -> None:
    for words in (["mypy"], ["pytest", "-q", "test/test_codegen.py"]):
        done = command(quantized, *words)
        assert done.returncode == 0, done.stdout + done.stderr


#: Units of quantized codegens: each choice of each option once with NumPy, and once in C.
UNITS = (
    ("--activations=u8", "--layout=NHWC", "--requantize=q15"),
    ("--layout=NHWC", "--requantize=q31"),
    ("--activations=u8", "--requantize=power_of_two"),
    ("--quantized", "--operator"),
)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("runs", [(), ("--native",)])
def test_units_have_the_bits_of_their_recipes(unit: tuple[str, ...], runs: tuple[str, ...], tmp_path: Path) -> None:
    folder = written(tmp_path / "bitnpu", *unit, *runs)
    for words in (["lit.main", "-sv", "test"], ["pytest", "-q", "--ignore=test/test_conformance.py", "test"]):
        done = command(folder, *words)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "bitnpu" / "runtime.py").exists() is not bool(runs)


@pytest.mark.slow
def test_conformance_is_of_layers_in_bits(tmp_path: Path) -> None:
    folder = written(tmp_path / "kitnpu", *UNITS[0])
    assert "tolerance" not in "".join((folder / path).read_text() for path in ("Makefile", "test/test_conformance.py"))
    done = command(folder, "pytest", "-q", "test/test_conformance.py")
    assert done.returncode == 0, done.stdout + done.stderr
    unit = folder / "kitnpu" / "unit.py"
    unit.write_text(unit.read_text().replace("CHANNELS, KERNEL = 1024, 7", "CHANNELS, KERNEL = 0, 7"))
    done = command(folder, "pytest", "-q", "test/test_conformance.py")  # the unit takes no layer: no case is right
    assert done.returncode == 1 and "2 failed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("activations", ["i8", "u8"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("requantize", ["float", "q31", "q15", "power_of_two"])
def test_all_choices_give_python(activations: str, layout: str, requantize: str) -> None:
    choices = [activations, layout, requantize]
    for parts in ([], ["native", "operator"], ["process", "target"], ["native", "target"]):
        for path, text in package_of("chosen_npu", parts, choices).items():
            assert not re.search(r"@\w+@", text), path
            if path.endswith(".py"):
                compile(text, path, "exec")
            if path == "chosen_npu/codegen.py":
                assert ('layout="NHWC:HWIO"' in text) == (layout == "NHWC")
        assert max(map(len, text.splitlines())) <= 160


NATIVE = """
import numpy
import relax_mlir as rx
import test_codegen

program = rx.compile(test_codegen.images(), partition=["{name}"], strict_partition=True)
program.save("images.rxa")
y = numpy.asarray(program["main"](numpy.arange(2 * 9 * 8 * 3, dtype="float32").reshape(2, 9, 8, 3)))
print(*y.shape, ":", *(f"{{each:.6g}}" for each in y.reshape(-1)))
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="no compiler of C++")
def test_a_native_part_runs_in_a_cpp_program_without_python(tmp_path: Path) -> None:
    folder = written(tmp_path / "cppnpu", "--activations=u8", "--layout=NHWC", "--requantize=q15", "--native")
    (folder / "test" / "native.py").write_text(NATIVE.format(name="cppnpu"))
    done = subprocess.run(
        [sys.executable, "test/native.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(REPOSITORY)])},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    make = ["make", "-s", "-C", str(REPOSITORY / "examples" / "cpp"), f"OUT={tmp_path}", f"PYTHON={sys.executable}"]
    subprocess.run([*make, str(tmp_path / "run_program")], check=True, timeout=600)
    import tvm_ffi_orcjit

    host = [tmp_path / "run_program", tvm_ffi_orcjit._lib_path, folder / "images.rxa", "2", "9", "8", "3"]
    ran = subprocess.run(host, env={"PATH": ""}, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == done.stdout.strip()


def test_boards_behind_sockets_answer(quantized: Path, tmp_path: Path) -> None:
    for folder in (quantized, written(tmp_path / "floatnpu", "--process")):
        done = command(folder, "pytest", "-q", "test/test_board.py")
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_plain_codegen_has_no_optional_files(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    assert new_codegen("plain_npu", f"-o={folder}")[0] == 0
    texts = {path: path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert folder / "plain_npu" / "codegen.py" in texts
    words = "name Name NAME operator target real quantized local process numpy native fixed u8 nchw q15".split()
    marks = [f"@{mark}@" for mark in words]
    assert not any(mark in text for text in texts.values() for mark in marks)
    absent = ("operators", "target", "board", "link", "messages")
    assert not any(word in path.name for path in texts for word in absent)
    assert "class PlainNpu(" in (folder / "plain_npu" / "codegen.py").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected the codegen's name, got none"),
        (["My-Npu"], "a codegen's name must be a Python identifier in lower case, such as mynpu, got 'My-Npu'"),
        (["class"], "got 'class'"),
        (["example_npu"], "there is a codegen 'example_npu' already"),
        (["llvm"], "there is a target 'llvm' already: choose another name"),
        (["relax"], "there is a dialect 'relax' already"),
        (["mynpu", "--native", "--process"], "--native and --process exclude each other: C code runs in"),
        (["mynpu", "--layout=NWHC"], "NWHC"),
    ],
)
def test_refusals(arguments: list[str], message: str) -> None:
    code, _, errors = new_codegen(*arguments)
    assert code == 1
    assert errors.startswith("relax-new-codegen: error: ") and message in errors, errors


def test_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, errors = new_codegen("othernpu", "-o=.")
    assert code == 0, errors
    assert (tmp_path / "othernpu" / "codegen.py").exists() and os.path.samefile(os.curdir, tmp_path)
    assert not list(tmp_path.parent.glob(f".{tmp_path.name}.*"))


def test_a_folder_with_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    code, _, errors = new_codegen("othernpu", f"-o={tmp_path}")
    assert code == 1 and "not an empty folder" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
