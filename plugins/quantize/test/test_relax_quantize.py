# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-quantize: files in and out, reports, errors without a traceback, and no file that is half written."""

from __future__ import annotations

import inspect
import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir_quantize.tool import run

RANDOM = numpy.random.default_rng(1)


def quantize(*arguments: object) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    return run([str(each) for each in arguments], stdout=out, stderr=errors), out.getvalue(), errors.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a model in two formats, and samples."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 8))}) as f:
        hidden = relax.nn.relu(relax.matmul(*f, relax.const(RANDOM.normal(size=(8, 16)).astype("float32"))))
        f.returns(relax.tanh(relax.matmul(hidden, relax.const(RANDOM.normal(size=(16, 4)).astype("float32")))))
    (tmp_path / "model.mlir").write_text(module.print())
    onnx.save(rx.to_onnx(module), tmp_path / "model.onnx")
    numpy.savez(tmp_path / "data.npz", x=RANDOM.normal(size=(20, 8)).astype("float32"))
    return tmp_path


@pytest.mark.parametrize("output", ["q.onnx", "q.mlir", "q.mlirbc"])
@pytest.mark.parametrize("source", ["model.onnx", "model.mlir"])
def test_every_format_in_and_out(source: str, output: str, folder: Path) -> None:
    code, out, errors = quantize(folder / source, "--data", folder / "data.npz", "-o", folder / output)
    assert (code, out) == (0, ""), errors
    assert errors == "relax-quantize: note: 2 layers quantized, 1 node in floating point\n"
    read = rx.from_onnx(folder / output) if output.endswith("onnx") else rx.Module.from_file(folder / output)
    float_ = rx.Module.from_file(folder / "model.mlir")
    x = RANDOM.normal(size=(3, 8)).astype("float32")
    found, expected = (numpy.asarray(rx.compile(each)["main"](x)) for each in (read, float_))
    numpy.testing.assert_allclose(found, expected, atol=0.1)
    assert (found != expected).any()


def test_the_table_and_the_report(folder: Path) -> None:
    code, out, errors = quantize(
        *(folder / "model.onnx", "--data", folder / "data.npz", "-o", folder / "q.onnx", "-q", "--table"),
        *("--json", folder / "report.json", "--keep=tanh", "--calibrate=mse", "--samples=10"),
    )
    assert (code, errors) == (0, "")
    assert out.startswith("node") and "linear" in out
    assert out.endswith("(relax.tanh): kept by request: 'tanh'\n")
    report = json.loads((folder / "report.json").read_text())
    assert [row["pattern"] for row in report["layers"]] == ["linear", "linear"]
    assert [each["operator"] for each in report["kept"]] == ["relax.tanh"]


def test_corrections_are_options_of_quantize(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option reaches rx.quantize. Without options, its defaults hold."""
    from relax_mlir_quantize import quantize as quantization

    given: list[dict[str, Any]] = []
    defaults = {name: each.default for name, each in inspect.signature(rx.quantize).parameters.items()}
    monkeypatch.setattr(quantization, "quantize", lambda *_, **options: given.append(options) or rx.quantize(*_))
    words = [folder / "model.onnx", "--data", folder / "data.npz", "-o", folder / "q.onnx"]
    assert quantize(*words)[0] == 0
    assert {name: each for name, each in given[0].items() if callable(each) is False} == {
        name: defaults[name] for name in given[0] if name not in ("progress", "tell")
    }
    corrections = ["--smooth=none", "--no-equalize", "--no-bias-correction", "--no-clip-weights"]
    assert quantize(*words, *corrections, "--snr=20", "--bytes=4K")[0] == 0
    names = ("smooth", "equalize", "bias_correction", "clip_weights", "snr", "bytes")
    assert [given[1][name] for name in names] == [None, False, False, False, 20, 4096]
    assert quantize(*words, "--smooth=0.25")[0] == 0
    assert given[2]["smooth"] == 0.25


def test_the_layout_of_a_chip(folder: Path) -> None:
    """Nodes keep their names in another layout."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 3, 8, 8))}) as f:
        f.returns(relax.nn.conv2d(*f, relax.const(RANDOM.normal(size=(4, 3, 3, 3)).astype("float32"))))
    onnx.save(rx.to_onnx(module), folder / "images.onnx")
    numpy.savez(folder / "images.npz", x=RANDOM.normal(size=(20, 3, 8, 8)).astype("float32"))
    given = folder / "images.onnx", "--data", folder / "images.npz", "-o", folder / "q.mlir"
    tables = []
    for layout in ("", "NHWC:HWIO"):
        code, out, errors = quantize(*given, "--table", f"--layout={layout}")
        assert code == 0, errors
        tables.append(out.split("\n")[1].split()[0])
        text = (folder / "q.mlir").read_text()
        assert ('data_layout = "NHWC"' in text and 'kernel_layout = "HWIO"' in text) is bool(layout)
    assert tables[0] == tables[1] and ".mlir" not in tables[0]
    code, _, errors = quantize(*given, "--layout=NHW")
    assert code == 1 and "layout='NHW': expected the layout of data, such as 'NHWC'" in errors


def test_measured_errors_and_a_page(folder: Path) -> None:
    code, out, errors = quantize(
        *(folder / "model.onnx", "--data", folder / "data.npz", "-o", folder / "q.onnx", "-q", "--table", "--measure"),
        *("--html", folder / "report.html", "--json", folder / "report.json"),
    )
    assert (code, errors) == (0, "")
    assert "float-fake" in out.splitlines()[0] and "result 0" in out
    assert "integers-device is not measured: llvm has no codegen" in out
    page = (folder / "report.html").read_text()
    assert "<svg" in page and "float-fake" in page
    assert json.loads((folder / "report.json").read_text())["results"][0]["fake"] > 20


def test_a_budget_of_a_score_tells_its_measurements(folder: Path) -> None:
    (folder / "sizes.py").write_text("ROWS = 5\n")
    (folder / "score.py").write_text(
        "import numpy\nfrom sizes import ROWS\nx = numpy.ones((ROWS, 8), 'float32')\n\n\n"
        "def evaluate(program):\n    return numpy.asarray(program['main'](x)).shape[0]\n"
    )
    words = [folder / "model.onnx", "--data", folder / "data.npz", "-o", folder / "q.onnx", "--drop=0"]
    words.append(f"--evaluate={folder / 'score.py'}")
    code, _, errors = quantize(*words)
    assert code == 0, errors
    first, second, note = errors.splitlines()
    assert first == "relax-quantize: score in floating point: 5"
    assert second.startswith("relax-quantize: quantized: 0 layers real, ") and second.endswith(", score 5")
    assert note == "relax-quantize: note: 2 layers quantized, 1 node in floating point"
    assert quantize(*words, "-q") == (0, "", "")


def test_a_budget_of_bytes_that_does_not_fit(folder: Path) -> None:
    words = [folder / "model.onnx", "--data", folder / "data.npz", "-o", folder / "q.onnx"]
    code, _, errors = quantize(*words, "--bytes=1")
    assert code == 1 and "bytes=1: the constants of the quantized model have at least" in errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("score = 1", "has no function evaluate\nrelax-quantize: note: define `def evaluate(program) -> float`"),
        ("evaluate = 1", "has no function evaluate"),
        ("import nothing_of_this_name", "score.py': ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("raise SystemExit(3)", "score.py': SystemExit: 3"),
        ("def evaluate(program) return 1", "score.py': SyntaxError: "),
        ("def evaluate(program):\n    return program['lost']", "evaluate: "),
        ("def evaluate(program):\n    raise ValueError('no images')", "evaluate: ValueError: no images (at "),
        ("def evaluate(program):\n    raise ValueError('no images')", "score.py:2)"),
        ("def evaluate(program):\n    pass", "evaluate: expected a number, the score of the program, got None"),
        ("def evaluate(program):\n    return float('nan')", "evaluate: expected a finite score, got nan"),
        ("def evaluate():\n    return 1.0", "evaluate: TypeError: "),
    ],
)
def test_errors_of_evaluate(text: str, message: str, folder: Path) -> None:
    (folder / "score.py").write_text(text)
    words = [folder / "model.onnx", "--data", folder / "data.npz", "-o", folder / "q.onnx", "--drop=1"]
    code, _, errors = quantize(*words, "--evaluate", folder / "score.py")
    assert code == 1 and not (folder / "q.onnx").exists()
    last = errors[errors.index("relax-quantize: error: ") :]
    assert message in last and "Traceback" not in errors and "internal error" not in errors, errors


def test_warnings_are_lines(folder: Path) -> None:
    numpy.savez(folder / "few.npz", x=numpy.zeros((2, 8), "float32"))
    code, _, errors = quantize(folder / "model.onnx", "--data", folder / "few.npz", "-o", folder / "q.onnx")
    assert code == 0
    assert errors.startswith("relax-quantize: warning: 2 samples rarely show the ranges of a model: use about a hund")
    assert "all samples give 0, so the scale is 1\n" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.onnx"], "--data is missing: samples show the ranges of the model's tensors"),
        (["model.onnx", "--data=data.npz"], "-o is missing: expected a file that ends with .onnx, .mlir, .mlirbc"),
        (["model.onnx", "--data=data.npz", "-o=q.rxa"], "-o 'q.rxa': expected a file that ends with .onnx"),
        (["model.onnx", "--data=data.npz", "-o=model.onnx"], "model.onnx"),
        (["model.onnx", "--data=data.npz", "-o=none/q.onnx"], "none/q.onnx"),
        (["none.onnx", "--data=data.npz", "-o=q.onnx"], "none.onnx"),
        (["model.onnx", "--data=none.npz", "-o=q.onnx"], "cannot read none.npz: No such file or directory"),
        (["model.onnx", "--data=model.onnx", "-o=q.onnx"], "cannot read model.onnx: it is no file of numpy arrays"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--for=llvn"], "did you mean 'llvm'?"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--calibrate=max"], "expects one of minmax, percentile, mse"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--samples=0"], "option --samples expects at least 1"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--keep=tan"], "did you mean 'Tanh'?"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--function=f"], "no function @f"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--trust"], "option --trust is for .pt2 files"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--resume=data.npz"], "data.npz"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--drop=1"], "--drop needs --evaluate: the largest drop of"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--evaluate=a.py"], "--evaluate needs --drop: the largest"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--drop=1", "--evaluate=a.py"], "there is no file 'a.py'"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--smooth=2"], "expects a number from 0 to 1, or none, got"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--smooth=all"], "or none, got 'all'"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--bytes=4X"], "a size such as 500000, 512K or 4M, got '4X'"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--snr=much"], "option --snr expects a number"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--snr=200", "-q"], "no quantized model holds snr=200"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--measure"], "--measure needs --table, --json or --html"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--html=none/r.html"], "none/r.html"),
        (["model.onnx", "--data=data.npz", "-o=q.onnx", "--html=data.npz"], "--html names an input, 'data.npz'"),
        (["model.onnx", "--dat=data.npz"], "unknown option '--dat=data.npz'; did you mean 'data'"),
        ([], "expected one model, got none"),
    ],
)
def test_errors(arguments: list[str], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, out, errors = quantize(*arguments)
    assert (code, out) == (1, "")
    assert errors.startswith("relax-quantize: error: ") and message in errors and "Traceback" not in errors, errors
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_recipes_are_listed() -> None:
    code, out, _ = quantize("--list-recipes")
    assert code == 0 and "llvm" in out.splitlines()


def test_an_interrupt_leaves_the_state_and_nothing_else(folder: Path) -> None:
    numpy.savez(folder / "many.npz", x=RANDOM.normal(size=(200_000, 8)).astype("float32"))
    words = [folder / "model.onnx", "--data=many.npz", "--samples=200000", "--resume=state.npz", "-o=q.onnx"]
    before = {path.name for path in folder.iterdir()}
    process = subprocess.Popen(
        [sys.executable, "-m", "relax_mlir_quantize.tool", *words], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and not (folder / "state.npz").exists():
        pass
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130, errors
    assert errors == "relax-quantize: error: interrupted\n"
    assert {path.name for path in folder.iterdir()} - before == {"state.npz"}
    with numpy.load(folder / "state.npz") as state:
        assert state["count"] > 0


def test_recipe_files_of_other_quantizers(folder: Path) -> None:
    config, other = folder / "config.json", folder / "other.json"
    defaults = {"ops": {"is_output_quantized": "True"}, "params": {"is_quantized": "True", "is_symmetric": "True"}}
    config.write_text(json.dumps({"defaults": defaults}))
    other.write_text("{}")
    output = ("--data", folder / "data.npz", "-o", folder / "q.onnx")
    code, _, errors = quantize(folder / "model.onnx", "--for", config, *output)
    assert code == 0 and "4 layers quantized" in errors, errors
    assert f"relax-quantize: warning: {config}:1: model_input: left out: layers of recipes" in errors
    (folder / "q.onnx").unlink()
    code, out, errors = quantize(folder / "model.onnx", "--for", other, *output)
    assert (code, out) == (1, "") and not (folder / "q.onnx").exists()
    assert f"{other}: neither a quantsim configuration of AIMET" in errors
