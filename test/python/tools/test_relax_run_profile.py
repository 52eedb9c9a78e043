# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run --profile: a model's nodes next to their times, as a table and as data."""

from __future__ import annotations

import dataclasses
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import numpy
import onnx.parser
import pytest
import tvm_ffi
from noise import without_noise
from relax_mlir.runtime.artifact import read_artifact, write_artifact
from relax_mlir.tools.relax_run import run

import relax_mlir as rx

MODEL = """
<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
main (float[1,3,N,N] x, float[8,3,3,3] w, bool c) => (float[1,8,M,M] y) {
  [the_conv] conv = Conv<pads = [1, 1, 1, 1]>(x, w)
  [the_relu] relu = Relu(conv)
  [the_choice] chosen = If (c) <
    then_branch = then () => (t) { [the_sum] t = CumSum(relu, axis) },
    else_branch = other () => (e) { [the_exp] e = Exp(relu) }
  >
  [the_call] called = own.twice (chosen)
  [the_norm] y = MeanVarianceNormalization (called)
}
<domain: "own", opset_import: ["" : 21]>
twice (a) => (b) {
  [the_softmax] s = Softmax<axis = 3> (a)
  b = Add (s, s)
}
"""
FAILING = """func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> {
  %0 = "relax.call_dps_packed"(%x) {func = "test_relax_run_profile.fail"} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""

_calls: list[int] = []


@tvm_ffi.register_global_func("test_relax_run_profile.fail", override=True)
def fail(x: Any, y: Any) -> None:
    """Fail in the third call, after the printing one."""
    _calls.append(1)
    if len(_calls) == 3:
        raise OSError("no more")


def outcome(*arguments: str | Path) -> tuple[int, str, str]:
    """Return the exit code, standard output and standard error."""
    stdout, stderr = io.StringIO(), io.StringIO()
    code = run([str(argument) for argument in arguments], io.StringIO(), stdout, stderr)
    return code, stdout.getvalue(), without_noise(stderr.getvalue())


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = onnx.parser.parse_model(MODEL)
    model.graph.initializer.append(onnx.numpy_helper.from_array(numpy.array(2), "axis"))
    path = tmp_path_factory.mktemp("profile") / "model.rxa"
    rx.compile(rx.from_onnx(model)).save(path)
    return path


def profiled(program: Path, folder: Path, *more: str) -> dict[str, Any]:
    path = folder / "profile.json"
    code, _, errors = outcome(program, "--shape=x:1,3,6,6", f"--profile-json={path}", *more)
    assert (code, errors) == (0, "")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_nodes_of_a_model(program: Path, tmp_path: Path) -> None:
    """Check that a fused kernel has the names of all nodes. Kernels of an ONNX function have the name of its node."""
    numpy.save(tmp_path / "yes.npy", numpy.array(True))
    found = profiled(program, tmp_path, f"--input=c={tmp_path / 'yes.npy'}", "--repeat=3", "--warmup=0")
    assert found["repeat"] == 3
    kernels = {tuple(row["nodes"]): row for row in found["kernels"]}
    assert {name for nodes in kernels for name in nodes} == {
        "the_conv", "the_relu", "the_sum", "the_exp", "the_call/the_softmax", "the_call/b", "the_norm",
    }  # fmt: skip
    conv = kernels["the_conv", "the_relu"]
    assert conv["node_operators"] == ["onnx.Conv", "onnx.Relu"]
    assert (conv["main_operator"], conv["operators"]) == ("relax.nn.conv2d", ["relax.nn.conv2d", "relax.nn.relu"])
    assert conv["inputs"] == ["f32[1,3,N,N]", "f32[8,3,3,3]"]
    assert (conv["outputs"], conv["bytes"]) == (["f32[1,8,N,N]"], None)
    assert (kernels[("the_sum",)]["calls"], kernels[("the_exp",)]["calls"]) == (1, 0)
    norms = [row for row in found["kernels"] if "the_norm" in row["nodes"]]
    assert norms
    assert all(row["node_operators"] == ["onnx.MeanVarianceNormalization"] for row in norms if len(row["nodes"]) == 1)


def test_table(program: Path) -> None:
    code, out, errors = outcome(program, "--shape=x:1,3,6,6", "--profile", "--repeat=2", "--benchmark")
    assert (code, errors) == (0, "")
    before, table, operators, cost = out.split("\n\n")[0], *out.split("\n\n")[-3:]
    assert "2 calls: median" in before
    rows = [line.split() for line in table.splitlines()[-1:0:-1]]
    assert any(row[-2:] == ["the_conv,", "the_relu"] for row in rows)
    shares = [float(row[0]) for row in rows if row[1] == "%" and row[-1] != "total"]
    assert sum(shares) == pytest.approx(100, abs=0.1 * len(shares))
    assert "nn.conv2d" in operators
    assert cost.startswith("a call takes ")


def test_width_of_a_terminal(program: Path) -> None:
    main, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 72, 0, 0))
    command = [sys.executable, "-m", "relax_mlir.tools.relax_run", str(program), "--shape=x:1,3,6,6", "--profile"]
    with subprocess.Popen([*command, "--repeat=1"], stdout=end, stderr=subprocess.DEVNULL) as process:
        os.close(end)
        text = b""
        while piece := _read(main):
            text += piece
    os.close(main)
    assert process.returncode == 0
    lines = text.decode().splitlines()
    table = lines[next(index for index, line in enumerate(lines) if "kernel" in line) :]
    table = table[: table.index("")]
    assert max(map(len, table)) <= 72
    assert any("..." in line for line in table)


def _read(main: int) -> bytes:
    try:
        return os.read(main, 4096)
    except OSError:  # how a terminal ends
        return b""


def test_programs_without_clocks(program: Path, tmp_path: Path) -> None:
    artifact = read_artifact(program)
    entries = tuple({key: value for key, value in entry.items() if key != "profile"} for entry in artifact.entries)
    write_artifact(dataclasses.replace(artifact, entries=entries), tmp_path / "old.rxa")
    code, _, errors = outcome(
        tmp_path / "old.rxa", "--shape=x:1,3,6,6", "--profile", f"--profile-json={tmp_path}/p.json"
    )
    assert code == 1
    assert errors == (
        "relax-run: error: 'main' cannot be profiled: its program was compiled without clocks around its kernels, by "
        "an older release or without the pass host-profile-kernels; compile it again\n"
    )
    assert not (tmp_path / "p.json").exists()


def test_a_call_that_fails(tmp_path: Path) -> None:
    rx.compile(rx.Module.parse(FAILING)).save(tmp_path / "failing.rxa")
    _calls.clear()
    code, _, errors = outcome(tmp_path / "failing.rxa", "--profile", "--warmup=0", f"--profile-json={tmp_path}/p.json")
    assert (code, errors) == (1, "relax-run: error: main failed: OSError: no more\n")
    assert not (tmp_path / "p.json").exists()


def test_a_file_that_cannot_be_written(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "none" / "p.json"
    code, _, errors = outcome(program, "--shape=x:1,3,6,6", f"--profile-json={path}", "--repeat=1")
    assert (code, errors) == (1, f"relax-run: error: cannot write output file '{path}': No such file or directory\n")
