# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run --trace: a file that Perfetto reads, or one message and none."""

from __future__ import annotations

import io
from pathlib import Path

import numpy
import onnx.numpy_helper
import onnx.parser
import pytest
from noise import without_noise
from partitioning import codegen
from relax_mlir.tools.relax_run import run
from trace_format import checked_trace

import relax_mlir as rx
from relax_mlir.patterns import is_op

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
main (float[n,3,8,8] x) => (float[n,4,4,4] y) {
  [the_conv] conv = Conv<pads = [1, 1, 1, 1]>(x, w)
  [the_relu] relu = Relu(conv)
  [the_pool] pool = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(relu)
  [the_norm] y = Softmax<axis = 1>(pool)
}
"""


def outcome(*arguments: str | Path) -> tuple[int, str, str]:
    """Return the exit code, standard output and standard error."""
    stdout, stderr = io.StringIO(), io.StringIO()
    code = run([str(argument) for argument in arguments], io.StringIO(), stdout, stderr)
    return code, stdout.getvalue(), without_noise(stderr.getvalue())


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = onnx.parser.parse_model(MODEL)
    weight = numpy.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype("float32")
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    path = tmp_path_factory.mktemp("trace") / "model.rxa"
    rx.compile(rx.from_onnx(model), partition=["example_npu"]).save(path)
    return path


def test_host_kernels_parts_and_steps(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    code, out, errors = outcome(program, "--shape=x:2,3,8,8", f"--trace={path}", "--repeat=2", "--warmup=1")
    assert (code, errors) == (0, "")
    assert out.splitlines()[-1].startswith(f"{path}: 2 calls of main, ")
    events = checked_trace(path.read_text(encoding="utf-8"))
    by_kind = {kind: [each for each in events if each["cat"] == kind] for kind in ("call", "part", "kernel", "step")}
    assert [len(by_kind[kind]) for kind in ("call", "part", "kernel")] == [2, 2, 2]
    (part, _), (kernel, _) = by_kind["part"], by_kind["kernel"]
    assert part["name"].startswith("example_npu: ")
    assert part["args"]["nodes"] == ["the_conv", "the_relu", "the_pool"]
    assert kernel["args"]["nodes"] == ["the_norm"]
    steps = by_kind["step"][: len(by_kind["step"]) // 2]
    named = [(each["name"], each["args"]["nodes"]) for each in steps if each["name"] != "permute_dims"]
    assert named == [("conv2d", ["the_conv"]), ("relu", ["the_relu"]), ("max_pool2d", ["the_pool"])]
    assert all(part["ts"] <= each["ts"] and each["dur"] <= part["dur"] for each in steps)


def test_a_profile_has_parts_by_their_steps(program: Path) -> None:
    code, out, errors = outcome(program, "--shape=x:2,3,8,8", "--profile", "--repeat=3")
    assert (code, errors) == (0, "")
    kernels, operators = (part.splitlines() for part in out.split("\n\n")[-3:-1])
    assert any(line.split()[4:] == ["max_pool2d", "the_pool"] for line in kernels)
    assert {line.partition("example_npu: ")[2] for line in operators} >= {"onnx.Conv", "onnx.Relu", "between steps"}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none/t.json", "cannot write output file 'none/t.json': there is no folder"),
        (".", "cannot write output file '.': it is a folder"),
        ("model.rxa", "--trace names an input, 'model.rxa'"),
    ],
)
def test_where_it_cannot_be_written_nothing_runs(
    program: Path, path: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    monkeypatch.setattr("relax_mlir.tools.run.driver.load", lambda *_, **__: pytest.fail("it was loaded"))
    code, out, errors = outcome("model.rxa", f"--trace={path}")
    assert (code, out) == (1, "") and errors.startswith(f"relax-run: error: {message}")


def test_a_program_that_cannot_run_here(tmp_path: Path) -> None:
    """Trace a program for which the machine lacks a part: the error is the same as without a trace, and no file
    appears."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4,))}) as f:
        f.returns(rx.relax.exp(*f))
    with codegen([("npu.exp", is_op("relax.exp"))]) as npu:
        rx.compile(module, partition=npu).save(tmp_path / "p.rxa")
    code, _, errors = outcome(tmp_path / "p.rxa", f"--trace={tmp_path}/t.json")
    assert code == 1 and "nothing here runs what codegen 'npu' makes" in errors
    assert not (tmp_path / "t.json").exists()


def test_code_of_an_older_release(tmp_path: Path) -> None:
    """Refuse the artifact of contract 1.0, which has clocks but no log."""
    here = Path(__file__).resolve().parents[1]
    plugin = f"--load-plugin={here / 'helpers' / 'contract_1_codegen.py'}"
    kept = here / "runtime" / "contract-1.rxa"
    code, _, errors = outcome(kept, plugin, "--shape=arg0:2,6", f"--trace={tmp_path}/t.json")
    assert code == 1
    assert errors == (
        "relax-run: error: the program's code keeps no log of its calls: it was compiled by an older release; compile "
        "it again\n"
    )
    assert not (tmp_path / "t.json").exists()
    assert outcome(kept, plugin, "--shape=arg0:2,6", "--profile", "--repeat=1")[0] == 0
