# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-opt's ways of printing, against upstream's own tool, colors, reproducers of one pass, and texts' versions."""

from __future__ import annotations

import io
import re
import subprocess
import time
from pathlib import Path

import pytest
from relax_mlir.bindings.mlir import wheel_folder
from relax_mlir.tools.opt import value_users
from relax_mlir.tools.opt.listing import mlir_version
from relax_mlir.tools.relax_compile import run as relax_compile
from relax_mlir.tools.relax_opt import run as relax_opt

import relax_mlir as rx

UPSTREAM = wheel_folder() / "_mlir_libs" / "torch-mlir-opt"
TEXT = """
func.func @f(%a: i32, %c: i1, %n: index) -> i32 {
  %0 = arith.addi %a, %a : i32 loc("sum")
  %u = arith.muli %a, %0 : i32
  %3:2 = scf.if %c -> (i32, i32) {
    %4 = arith.subi %0, %0 : i32
    scf.yield %4, %0 : i32, i32
  } else {
    scf.yield %0, %0 : i32, i32
  }
  %z = arith.constant 0 : index
  scf.for %i = %z to %n step %n {
    %y = arith.addi %i, %i : index
    scf.for %j = %z to %n step %y {
      func.call @g(%j) : (index) -> ()
    }
  }
  cf.br ^bb1(%3#0 : i32)
^bb1(%q: i32):
  %both = arith.addi %q, %q : i32
  return %both : i32
}
func.func private @g(index)
"""


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def run(*argv: str, text: str = TEXT, terminal: bool = False) -> tuple[int, str, str]:
    streams = [io.TextIOWrapper(io.BytesIO(text.encode())), io.TextIOWrapper(io.BytesIO())]
    errors = (Terminal if terminal else io.TextIOWrapper)(io.BytesIO())
    code = relax_opt(argv, *streams, errors)
    texts = []
    for stream in (streams[1], errors):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return code, texts[0], texts[1]


def upstream(option: str, tmp_path: Path) -> str:
    if not UPSTREAM.exists():
        pytest.skip("the bindings' wheel has no opt tool")
    (tmp_path / "in.mlir").write_text(TEXT)
    command = [str(UPSTREAM), str(tmp_path / "in.mlir"), option]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


def test_value_users_are_upstreams(tmp_path: Path) -> None:
    code, ours, _ = run("--mlir-print-value-users")
    theirs = upstream("--mlir-print-value-users", tmp_path)
    assert code == 0
    # Upstream gives one number to several operations, so names are not compared.
    without = [
        [re.sub(r"[%#][\w#]+", "_", line.rstrip()) for line in text.strip().split("\n")] for text in (ours, theirs)
    ]
    assert without[0] == without[1]
    assert "%0 = arith.addi %arg0, %arg0 : i32 // users: #3, #2, %5, %1" in ours
    assert "scf.yield %5, %0 : i32, i32 // id: #2" in ours and "// %arg2 is used by #4, #5" in ours
    assert "%1 = arith.muli %arg0, %0 : i32 // unused" in ours


def test_value_users_are_comments(tmp_path: Path) -> None:
    for options in ((), ("--mlir-print-op-generic",)):
        _, printed, _ = run("--mlir-print-value-users", *options)
        _, plain, _ = run(*options)
        assert run(*options, text=printed)[1] == plain
    _, twice, _ = run("--mlir-print-value-users", "--mlir-print-ir-before=cse", "--cse", "--mlir-print-debuginfo=false")
    assert "loc(" not in twice


def test_value_users_of_many_loops_take_no_time_that_grows_with_the_square() -> None:
    nest = """scf.for %i = %a to %b step %b {
        scf.for %j = %a to %b step %b {
          func.call @g(%i, %j) : (index, index) -> ()
        }
      }"""
    head = "func.func private @g(index, index)\nfunc.func @f(%a: index, %b: index) {"
    took = {}
    for count in (400, 1600):
        module = rx.Module.parse("\n".join([head, *[nest] * count, "return }"]))
        start = time.process_time()
        assert value_users.print_asm(module.operation).count("is used by") == 2 * count + 2
        took[count] = time.process_time() - start
    assert took[1600] < 8 * took[400]


@pytest.mark.parametrize("option", ["--mlir-use-nameloc-as-prefix", "--mlir-print-skip-regions"])
def test_ways_of_printing_are_upstreams(option: str, tmp_path: Path) -> None:
    code, ours, _ = run(option)
    assert code == 0
    assert ours.strip() == upstream(option, tmp_path).strip()
    assert ours.strip() != run()[1].strip()


@pytest.mark.parametrize("option", ["--debug-only=canonicalize", "--debug"])
def test_debug_output_is_refused_with_the_reason(option: str) -> None:
    code, _, errors = run(option)
    assert code == 1
    assert "MLIR's wheel is built without debug output" in errors and "--mlir-print-ir-after-change" in errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--mlir-print-value-users", "--print-script"), "exclude each other"),
        (("--mlir-print-value-users", "--mlir-print-debuginfo"), "exclude each other"),
        (("--mlir-print-skip-regions", "--emit-bytecode"), "is for MLIR's syntax"),
        (("--mlir-use-nameloc-as-prefix", "--mlir-print-unique-ssa-ids"), "exclude each other"),
        (("--mlir-pass-pipeline-local-reproducer",), "needs --mlir-pass-pipeline-crash-reproducer=<file>"),
    ],
)
def test_exclusive_options_are_refused(options: tuple[str, ...], message: str) -> None:
    code, _, errors = run(*options)
    assert code == 1 and message in errors


def test_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    bad = 'func.func @f() { "relax.ad"() : () -> () }'
    plain, colored = "error: unregistered", "\033[1;31merror:\033[0m unregistered"
    assert colored in run("--color", text=bad)[2]
    assert "\033[1;32m" in run("--color", text=bad)[2], "the caret"
    assert plain in run(text=bad)[2] and "\033" not in run(text=bad)[2], "a file has no colors"
    assert colored in run(text=bad, terminal=True)[2]
    assert plain in run("--color=false", text=bad, terminal=True)[2]
    monkeypatch.setenv("NO_COLOR", "1")
    assert plain in run(text=bad, terminal=True)[2] and colored in run("--color", text=bad)[2]
    assert "\033[1;31merror:\033[0m unknown option" in run("--color", "--nosuch")[2]


def test_a_local_reproducer_holds_the_pass_that_failed(tmp_path: Path) -> None:
    file = tmp_path / "one.mlir"
    text = """
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %b = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %c = "relax.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %c : tensor<4xf32>
    }"""
    pipeline = "builtin.module(func.func(cse,relax-canonicalize),relax-gradient{wrt=nosuch},symbol-dce)"
    options = (f"--pass-pipeline={pipeline}", f"--mlir-pass-pipeline-crash-reproducer={file}")
    code, _, errors = run(*options, "--mlir-pass-pipeline-local-reproducer", text=text)
    assert code == 1 and "no function @main" in errors and f"a reproducer was written to {file}" in errors
    local = file.read_text()
    assert 'pipeline: "builtin.module(relax-gradient{wrt=nosuch})"' in local
    assert local.count("relax.exp") == 1, "the IR from before the pass that failed"
    again = run("--run-reproducer", text=local)
    assert again[0] == 1 and "no function @main" in again[2]
    run(*options, text=text)
    whole = file.read_text()
    assert "symbol-dce" in whole and whole.count("relax.exp") == 2
    file.unlink()
    inner = "builtin.module(func.func(cse,relax-canonicalize{fold-limit=8}))"
    assert run(f"--pass-pipeline={inner}", *options[1:], "--mlir-pass-pipeline-local-reproducer", text=text)[0] == 0
    assert not file.exists(), "all went well"


def test_texts_for_other_tools_state_the_version(tmp_path: Path) -> None:
    version = mlir_version().replace("MLIR", "LLVM")
    assert re.fullmatch(r"LLVM \d+\.\d+\.\d+\w*", version)
    assert run("--dump-irdl=tir")[1].startswith(f"// IRDL of {version}, by relax-mlir ")
    source = tmp_path / "m.mlir"
    exp = '%y = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>'
    source.write_text(f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{exp}\nreturn %y : tensor<4xf32>\n}}\n")
    dialect, lowered = tmp_path / "m.llvm.mlir", tmp_path / "m.ll"
    for emit, file in (("llvm", dialect), ("ll", lowered)):
        assert relax_compile([str(source), f"--emit={emit}", "-o", str(file)], stderr=io.StringIO()) == 0
    assert dialect.read_text().startswith(f"// the LLVM dialect of {version}, by relax-mlir ")
    assert run(text=dialect.read_text())[0] == 0, "the first line is a comment"
    text = lowered.read_text()
    assert text.startswith(f"; LLVM IR of {version}, by relax-mlir ")
    assert "source_filename" in text and re.search(r"(?m)^define .*main", text)
    errors = io.StringIO()
    assert relax_compile([str(source), "--emit=ll", "--target=cuda{arch=sm_80}", "-o", "-"], stderr=errors) == 1
    assert "--emit=ll: gpu.module" in errors.getvalue() and "which LLVM IR cannot say" in errors.getvalue()
