# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-reduce: planted failures are reduced to their known minimum, for any command."""

from __future__ import annotations

import io
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir_proof.reduce.search import smaller_texts
from relax_mlir_proof.relax_reduce import run

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "relax_mlir_proof.relax_reduce"]
OPT = shlex.join([sys.executable, "-m", "relax_mlir.tools.relax_opt"])
F = "tensor<4xf32>"
UNARY = f"({F}) -> {F}"
CHAIN = f"""
func.func @main(%x: {F} {{relax.name = "x"}}, %y: {F}) -> ({F}, {F}) {{
  %0 = "relax.exp"(%x) : {UNARY}
  %1 = "relax.tanh"(%0) : {UNARY}
  %2 = "relax.sqrt"(%1) : {UNARY}
  return %2, %0 : {F}, {F}
}}
func.func @other(%x: {F}) -> {F} {{
  %0 = "relax.exp"(%x) : {UNARY}
  return %0 : {F}
}}
"""


def fails_with(*words: str) -> str:
    """Return a command that fails for files with all of these words."""
    return " && ".join([*(f"grep -q -e {shlex.quote(word)} %s" for word in words), "exit 3"])


def outcome(path: Path, *arguments: str) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    code = run([str(path), *arguments], io.StringIO(), stdout, stderr)
    return code, stdout.getvalue(), stderr.getvalue()


def reduced(text: str, folder: Path, test: str, *options: str) -> str:
    """Return the reduced module, without the lines of the module itself."""
    path = folder / "input.mlir"
    path.write_text(text)
    code, out, errors = outcome(path, f"--test={test}", *options)
    assert code == 0, errors
    assert errors.startswith("relax-reduce: note: ")
    rx.Module.parse(out)
    lines = out.splitlines()
    assert (lines[0], lines[-1]) == ("module {", "}")
    return textwrap.dedent("\n".join(lines[1:-1]))


@pytest.mark.parametrize(
    ("text", "words", "left"),
    [
        (CHAIN, ["@other"], "func.func private @other()"),
        (
            CHAIN,
            ["relax.tanh"],
            """
            func.func @main(%arg0: tensor<1xf32>) {
              %0 = "relax.tanh"(%arg0) : (tensor<1xf32>) -> tensor<1xf32>
              return
            }""",
        ),
        # The reduced module still has the cause of the failure: a use, an attribute, a size, a region.
        (
            CHAIN,
            ["%0 = .relax.exp", "relax.tanh.*%0"],
            """
            func.func @main(%arg0: tensor<1xf32>) {
              %0 = "relax.exp"(%arg0) : (tensor<1xf32>) -> tensor<1xf32>
              %1 = "relax.tanh"(%0) : (tensor<1xf32>) -> tensor<1xf32>
              return
            }""",
        ),
        (CHAIN, ["relax.name"], 'func.func private @main(tensor<1xf32> {relax.name = "x"})'),
        (CHAIN, ["tensor<4xf32>"], "func.func private @main(tensor<4xf32>)"),
        (
            """
            func.func @f(%c: i1, %n: index) -> i32 {
              %0 = scf.if %c -> (i32) {
                %c0 = arith.constant 7 : i32
                %1 = arith.addi %c0, %c0 {note = 3 : i32} : i32
                scf.yield %1 : i32
              } else {
                %c1 = arith.constant 9 : i32
                scf.yield %c1 : i32
              }
              return %0 : i32
            }
            """,
            ["arith.addi"],
            """
            func.func @f(%arg0: i32) {
              %0 = arith.addi %arg0, %arg0 : i32
              return
            }""",
        ),
        (
            "func.func @f() -> tensor<2x3xi32> {\n"
            "%0 = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32> return %0 : tensor<2x3xi32> }",
            ["arith.constant"],
            """
            func.func @f() {
              %cst = arith.constant dense<0> : tensor<1x1xi32>
              return
            }""",
        ),
    ],
    ids=["declaration", "operation", "use", "attribute", "size", "region", "constant"],
)
def test_a_known_minimum(text: str, words: list[str], left: str, tmp_path: Path) -> None:
    assert reduced(text, tmp_path, fails_with(*words)) == textwrap.dedent(left).strip()


def test_a_failure_of_relax_opt(tmp_path: Path) -> None:
    left = reduced(CHAIN, tmp_path, f"{OPT} %s --one-shot-bufferize", "--message=error: op was not bufferized")
    assert left.count('"relax.') <= 2
    assert left.count("func.func") == 1


def test_the_same_input_takes_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "input.mlir"
    path.write_text(CHAIN)
    runs = [outcome(path, f"--test={fails_with('relax.tanh')}", "-v") for _ in range(2)]
    assert runs[0] == runs[1]
    assert " lines, by functions and other symbols\n" in runs[0][2]


def test_a_crash_is_another_failure_than_an_exit_code(tmp_path: Path) -> None:
    crash = "grep -q relax.tanh %s && kill -SEGV $$; exit 139"
    assert "relax.tanh" in reduced(CHAIN, tmp_path, crash)


def test_a_command_that_hangs_is_killed(tmp_path: Path) -> None:
    # The background process would keep the pipe open if it lived on.
    hang = "grep -q relax.tanh %s && exit 3; sleep 1000 & sleep 1000"
    assert "relax.tanh" in reduced(CHAIN, tmp_path, hang, "--timeout=0.5", "--time-limit=2")


def test_hanging_may_be_the_failure(tmp_path: Path) -> None:
    hang = "grep -q relax.tanh %s && sleep 1000; exit 3"
    assert "relax.tanh" in reduced(CHAIN, tmp_path, hang, "--timeout=0.5", "--time-limit=2")


def test_a_script(tmp_path: Path) -> None:
    path, script = tmp_path / "input.mlir", tmp_path / "looks.sh"
    path.write_text(CHAIN)
    script.write_text('#!/bin/sh\ngrep -q relax.tanh "$1"\n')
    code, _, errors = outcome(path, f"--script={script}")
    assert (code, errors) == (1, f"relax-reduce: error: --script: cannot run '{script}': Permission denied\n")
    script.chmod(0o755)
    code, out, _ = outcome(path, f"--script={script}")
    assert (code, out.count('"relax.')) == (0, 1)
    script.write_text("#!/bin/sh\necho why; exit 9\n")
    code, _, errors = outcome(path, f"--script={script}")
    assert "--script: for the input it ends with 9, not with 0; it printed: why" in errors


def test_no_time_at_all(tmp_path: Path) -> None:
    path = tmp_path / "input.mlir"
    path.write_text(CHAIN)
    code, out, errors = outcome(path, f"--test={fails_with('relax.tanh')}", "--time-limit=0")
    assert (code, out) == (0, str(rx.Module.parse(CHAIN)).rstrip("\n") + "\n")
    assert errors == "relax-reduce: note: 8 operations have become 8 in 2 runs of the command, and the time is up\n"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("module {", ["--test=false %s"], "input.mlir:1:7: "),
        ("module {}", ["--test=false %s", "-o", "none/out"], "cannot write output file 'none/out'"),
        (CHAIN, ["--test=grep -q @main %s && exit 1"], "an empty module fails in the same way, so there is nothing to"),
        ("module {}", ["--test=false %s", "--script=x"], "give one of --test=<command> and --script=<file>"),
        ("module {}", ["--script=x", "--message=y"], "--message belongs to --test"),
        ("module {}", ["--test=false %s", "--timeout=0"], "option --timeout expects more than 0"),
        ("module {}", ["--script=/no/such"], "--script: cannot run '/no/such': No such file"),
    ],
)
def test_errors(text: str, arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("input.mlir").write_text(text)
    code, out, errors = outcome(Path("input.mlir"), *arguments)
    assert (code, out, errors.count("error: ")) == (1, "", 1)
    assert message in errors
    assert "internal error" not in errors
    assert os.listdir() == ["input.mlir"]


def test_an_interrupt_writes_the_smallest_module_so_far(tmp_path: Path) -> None:
    path, output = tmp_path / "input.mlir", tmp_path / "out.mlir"
    path.write_text(CHAIN)
    # Waits for ever once something was found.
    again = f"test -e {tmp_path}/one && sleep 1000; touch {tmp_path}/one"
    test = f"grep -q relax.tanh %s || exit 1; grep -q @other %s && exit 3; {again}; exit 3"
    with subprocess.Popen(
        [*COMMAND, path, f"--test={test}", "-o", output, "-v"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
    assert process.returncode == 1
    assert errors.endswith("and it was interrupted\n")
    assert "relax.tanh" in output.read_text()
    assert "@other" not in output.read_text()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["input.mlir", "one", "out.mlir"]


def test_a_crash_of_the_tool_leaves_the_smallest_so_far(tmp_path: Path) -> None:
    path, output = tmp_path / "input.mlir", tmp_path / "out.mlir"
    path.write_text(CHAIN)
    code = """
        import os
        from relax_mlir_proof import relax_reduce
        from relax_mlir.tools.common import guard
        def work():
            from relax_mlir_proof.reduce import driver
            found = driver.Driver._found
            driver.Driver._found = lambda *arguments: (found(*arguments), os.abort())
            import sys
            return relax_reduce.run(sys.argv[1:])
        guard.run_guarded("relax-reduce", work)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), path, f"--test={fails_with('relax.tanh')}", "-o", output],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert "MLIR crashed (SIGABRT)" in done.stderr
    assert "@other" not in output.read_text()
    assert len(list(tmp_path.iterdir())) == 2


def test_sizes_change_in_types_and_in_what_must_agree() -> None:
    text = 'f(%4: tensor<4x?x4xf32, #relax.sym<["n4", 4]>>) {shape = [4, 14], note = "4x4", @s4}'
    assert list(smaller_texts(text)) == [
        'f(%4: tensor<1x?x1xf32, #relax.sym<["n4", 4]>>) {shape = [4, 14], note = "4x4", @s4}',
        'f(%4: tensor<1x?x1xf32, #relax.sym<["n4", 1]>>) {shape = [1, 14], note = "4x4", @s4}',
        'f(%4: tensor<2x?x2xf32, #relax.sym<["n4", 4]>>) {shape = [4, 14], note = "4x4", @s4}',
        'f(%4: tensor<2x?x2xf32, #relax.sym<["n4", 2]>>) {shape = [2, 14], note = "4x4", @s4}',
    ]
