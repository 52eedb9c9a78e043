# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-opt as a process: exit codes, streams, files and signals, whatever it is given."""

from __future__ import annotations

import os
import shlex
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest
from relax_mlir.bindings.mlir import wheel_folder
from relax_mlir.tools.compile import options as of_compile
from relax_mlir.tools.opt import options
from relax_mlir.tools.opt.driver import is_script
from relax_mlir.tools.run import options as of_run

import relax_mlir as rx

TEXT = "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}\n"
COMMAND = [sys.executable, "-m", "relax_mlir.tools.relax_opt"]
NESTED = 5000

# Waits until it is interrupted: in Python, or in C++, where no signal is heard.
SLOW_PASSES = '''
    """Passes that take their time."""
    import time
    from dataclasses import dataclass
    import relax_mlir as rx

    @rx.register_pass
    @dataclass(frozen=True)
    class Wait(rx.Pass):
        """Waits."""
        name = "wait"
        where: str = "python"

        def run(self, op):
            print("waiting", file=__import__("sys").stderr, flush=True)
            if self.where == "python":
                time.sleep(9**9)
            rx.ir.Module.parse("module attributes {a.b = " + "9" * 300000 + "} {}", op.context)
'''


def run(*arguments: str, data: bytes = TEXT.encode(), **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], input=data, capture_output=True, timeout=600, **options)  # type: ignore[call-overload]


def in_shell(command: str, folder: Path) -> tuple[int, str]:
    """Return the exit code and standard error of a command with `relax-opt`."""
    done = subprocess.run(
        ["bash", "-c", command.replace("relax-opt", shlex.join(COMMAND))], cwd=folder, capture_output=True, timeout=600
    )
    return done.returncode, done.stderr.decode()


def refused(*arguments: str, data: bytes = TEXT.encode()) -> str:
    """Return the error of a run that must fail: one error, exit code 1, nothing on standard output."""
    done = run(*arguments, data=data)
    errors = done.stderr.decode("utf-8", "replace")
    assert (done.returncode, done.stdout) == (1, b""), errors
    assert errors.count("error: ") == 1, errors
    assert "Traceback" not in errors
    assert "internal error" not in errors
    return errors


def nested(opening: str, closing: str, inside: str = "") -> bytes:
    return (opening * NESTED + inside + closing * NESTED).encode()


@pytest.mark.parametrize("arguments", [[], ["--cse"], ["--version"], ["--help"], ["--list-ops"], ["-o", os.devnull]])
def test_exit_code_0(arguments: Sequence[str]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"func.func @f(%", "<stdin>:1:14: error: "),
        (b"module {", "error: expected operation name in quotes"),
        (b'"relax.add"() : () -> ()', "'relax.add' op expects 2 operands (x1, x2), got 0"),
        (b"module {}\n\0", "<stdin>:2:1: error: the text contains a NUL byte"),
        (b"module {}\n  // \xff", "<stdin>:2:6: error: neither UTF-8 text nor MLIR bytecode"),
        (b"\xff\xfem\0", "<stdin>:1:1: error: neither UTF-8 text nor MLIR bytecode"),
        (b"ML\xefR", "<stdin>: error: attempting to parse a byte at the end of the bytecode"),
        (b"ML\xefR" + bytes(range(256)), "<stdin>: error: "),
        (nested("module {", "}"), "error: nested more than 1000 levels deep"),
        (nested('"a.b"() ({', "}) : () -> ()"), "error: nested more than 1000 levels deep"),
        (
            b"func.func @f(%c: i1) {" + nested("scf.if %c {", "}") + b" return }",
            "error: nested more than 1000 levels deep",
        ),
        (b"module attributes {a.b = " + nested("[", "]") + b"} {}", "error: nested more than 1000 levels deep"),
        (b"module attributes {a.b = " + nested("{c=", "}", "1") + b"} {}", "error: nested more than 1000 levels deep"),
        (b"func.func private @f(" + nested("tuple<", ">", "i32") + b")", "error: nested more than 1000 levels deep"),
        (b"module {} loc(" + nested('"a"(', ")", "unknown") + b")", "error: nested more than 1000 levels deep"),
        (
            b"module attributes {a.b = affine_map<(d0)->(" + nested("(", ")", "d0") + b")>} {}",
            "error: nested more than 1000 levels deep",
        ),
        (b"(" * 1_000_000, "error: nested more than 1000 levels deep"),
        (b"module attributes {a.b = [" + b"1," * 1_000_000 + b"]} {}", "error: expected attribute value"),
        (b"func.func private @f(tensor<" + b"9" * 5000 + b"xf32>)", "error: invalid dimension"),
        (b"func.func private @f(i" + b"9" * 5000 + b")", "error: invalid integer width"),
        (b"#a = [#b]\n#b = [#a]\nmodule attributes {a.b = #b} {}", "error: undefined symbol alias id 'b'"),
        (b'#l = loc("x"(#l))\nmodule {} loc(#l)', "error: undefined symbol alias id 'l'"),
    ],
)
def test_text_that_is_refused(data: bytes, message: str) -> None:
    errors = refused(data=data)
    assert message in errors
    assert max(map(len, errors.splitlines())) < 500  # a line of a megabyte is not shown whole


@pytest.mark.parametrize(
    "data", [b'"' * 100_001, b"/" * 100_001, b"%" * 100_001, b"a" * 1_000_000, b"\\" * 1000, b"\x80" * 9]
)
def test_junk_is_one_error_or_nothing(data: bytes) -> None:
    done = run(data=data)
    assert done.returncode in (0, 1)
    assert done.stderr.count(b"error: ") == done.returncode


def test_a_crash_of_mlir_is_one_error() -> None:
    # Each alias is nested in the next one, without brackets inside of brackets.
    aliases = "".join(f"#a{index} = [#a{index - 1}]\n" for index in range(1, 100_000))
    text = f"#a0 = [1]\n{aliases}module attributes {{x.y = #a99999}} {{}}"
    assert "error: MLIR crashed (SIGSEGV) while parsing <stdin>" in refused(data=text.encode())


def deep_bytecode(depth: int) -> bytes:
    """Text of this depth is refused; bytecode is built without the parser."""
    module = rx.Module()
    block = module.body
    with module:
        for _ in range(depth):
            with rx.ir.InsertionPoint(block):
                block = rx.ir.Operation.create("builtin.module", regions=1).regions[0].blocks.append()
    return module.bytecode()


def test_bytecode_nested_deep() -> None:
    done = run("-o", os.devnull, data=deep_bytecode(NESTED))
    assert done.returncode in (0, 1)
    assert done.stderr.count(b"error: ") == done.returncode


@pytest.mark.slow
def test_truncations_of_bytecode() -> None:
    whole = rx.Module.parse(TEXT).bytecode()
    for length in range(4, len(whole), 23):
        assert refused(data=whole[:length])


@pytest.mark.parametrize("name", ["none.mlir", ".", "", "a/b", "x" * 300])
def test_unreadable_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"relax-opt: error: cannot open input file '{name}': " in refused(name)


def test_file_names_are_any_bytes(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\xfe.mlir"
    with open(path, "wb") as file:
        file.write(b"module {")
    assert "\\udcff\\udcfe.mlir:1:7: error: " in refused(os.fsdecode(path))
    with open(path, "wb") as file:
        file.write(TEXT.encode())
    out = os.fsdecode(path) + ".out"
    assert run(os.fsdecode(path), "-o", out).returncode == 0
    assert "func.func @f" in Path(out).read_text()


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("relax-opt <&-", 1, "relax-opt: error: cannot open input file '-': Bad file descriptor\n"),
        ("relax-opt m.mlir >&-", 1, "relax-opt: error: cannot write to standard output: Bad file descriptor\n"),
        ("relax-opt --help >&-", 1, "relax-opt: error: cannot write to standard output: Bad file descriptor\n"),
        (
            "relax-opt m.mlir > /dev/full",
            1,
            "relax-opt: error: cannot write to standard output: No space left on device\n",
        ),
        (
            "relax-opt --help > /dev/full",
            1,
            "relax-opt: error: cannot write to standard output: No space left on device\n",
        ),
        ("relax-opt none.mlir 2>&-", 1, ""),
        ("relax-opt none.mlir 2> /dev/full", 1, ""),
        ("relax-opt m.mlir <&- >&- 2>&-", 1, ""),
        ("relax-opt m.mlir -o out.mlir <&- >&- 2>&- && grep -q func out.mlir", 0, ""),
        ("set -o pipefail; relax-opt --help | true", 0, ""),
        ("set -o pipefail; relax-opt --help | head -n 1", 0, ""),
        ("set -o pipefail; relax-opt none.mlir 2>&1 | true", 1, ""),
    ],
)
def test_standard_streams(command: str, code: int, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(TEXT)
    assert in_shell(command, tmp_path) == (code, message)


def test_an_output_file_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    plain, linked, link = tmp_path / "plain", tmp_path / "linked", tmp_path / "link"
    linked.write_text("old")
    linked.chmod(0o640)
    link.symlink_to(linked)
    assert run("-o", str(link)).returncode == 0
    assert link.is_symlink()
    assert "func.func" in linked.read_text()
    assert stat.S_IMODE(linked.stat().st_mode) == 0o640
    in_shell(f"umask 027; echo | relax-opt -o {shlex.quote(str(plain))}", tmp_path)
    assert stat.S_IMODE(plain.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "linked", "plain"]


def test_a_failed_run_leaves_the_output_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    refused("-o", str(out), data=b"module {")
    assert list(tmp_path.iterdir()) == []
    out.write_text("old")
    refused("-o", str(out), data=b"module {")
    refused("-o", str(out), "--csee")
    assert out.read_text() == "old"
    refused("-o", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_write_protection_is_respected(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("old")
    out.chmod(0o444)
    assert "cannot write output file" in refused("-o", str(out))
    assert out.read_text() == "old"
    tmp_path.chmod(0o555)
    assert "cannot write output file" in refused("-o", str(tmp_path / "new"))
    tmp_path.chmod(0o755)


def test_a_reproducer_does_not_remove_a_device(tmp_path: Path) -> None:
    device = tmp_path / "pipe"
    os.mkfifo(device)
    assert run("--cse", f"--mlir-pass-pipeline-crash-reproducer={device}").returncode == 0
    assert stat.S_ISFIFO(device.stat().st_mode)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", ["python", "mlir"])
@pytest.mark.parametrize("to_all", [False, True])
def test_interruption(number: signal.Signals, where: str, to_all: bool, tmp_path: Path) -> None:
    (tmp_path / "slow_passes.py").write_text(textwrap.dedent(SLOW_PASSES))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    reproducer = tmp_path / "reproducer.mlir"
    arguments = [
        "--load-plugin=slow_passes",
        f"--wait=where={where}",
        f"--mlir-pass-pipeline-crash-reproducer={reproducer}",
    ]
    process = subprocess.Popen(
        [*COMMAND, *arguments, "-o", str(tmp_path / "out")],
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == b"waiting\n"
    if to_all:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.send_signal(number)
    _, errors = process.communicate(timeout=600)
    assert (process.returncode, errors) == (128 + number, b"relax-opt: error: interrupted\n")
    left = {path.name for path in tmp_path.iterdir()} - {"__pycache__"}
    assert left == {"slow_passes.py"}


def test_options_given_in_other_ways() -> None:
    for arguments in (["-cse"], ["--cse"], ["--mlir-disable-threading", "-cse"], ["--verify-each=true", "--cse", "-"]):
        assert run(*arguments).returncode == 0
    assert run("--", "-", data=b"").returncode == 0
    assert "unknown option '--'" not in refused("--", "--cse")


@pytest.mark.slow
def test_number_options_are_bounded() -> None:
    for value in ("", "-1", "1.5", "x", "2147483648", "9" * 5000):
        errors = refused(f"--mlir-elide-elementsattrs-if-larger={value}")
        assert "expects a number from 0 to 2147483647" in errors
    assert run("--mlir-elide-elementsattrs-if-larger=2147483647").returncode == 0


def test_numpy_is_not_imported() -> None:
    code = "import sys; from relax_mlir.tools.relax_opt import run; run(['--cse']); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], input=TEXT, capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines()[-1] == "False", done.stderr


@pytest.mark.parametrize(
    "pipeline",
    [
        "builtin.module(cse,func.func(canonicalize,cse),any(canonicalize),symbol-dce)",
        "builtin.module(func.func(canonicalize),cse)",
        "builtin.module(builtin.module(func.func(cse)),cse)",
    ],
)
@pytest.mark.parametrize("when", [["after"], ["before"], ["before", "after"]], ids="-".join)
def test_the_tree_of_dumps_is_upstreams(pipeline: str, when: Sequence[str], tmp_path: Path) -> None:
    upstream = next(wheel_folder().glob("_mlir_libs/*-opt"))
    source = tmp_path / "source.mlir"
    source.write_text(f'{TEXT}module @m {{\n  func.func @"a.b"() {{\n    return\n  }}\n  module {{}}\n}}\n')
    options = [f"--pass-pipeline={pipeline}", *(f"--mlir-print-ir-{each}-all" for each in when), "-o", os.devnull]
    trees = []
    for name, command in (("ours", COMMAND), ("upstream", [str(upstream)])):
        folder = tmp_path / name
        done = subprocess.run([*command, str(source), *options, f"--mlir-print-ir-tree-dir={folder}"], timeout=600)
        assert done.returncode == 0
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        # The first line names the pass, upstream with its class.
        trees.append([(str(path.relative_to(folder)), path.read_text().strip().split("\n")[1:]) for path in files])
    assert trees[0] == trees[1]
    assert len(trees[0]) > 1


BODY = '@R.function\ndef main(x: R.Tensor((4,), "float32")):\n    return x\n'


@pytest.mark.parametrize("head", ["", "from a import R\n", "import a\n", "# SPDX\n\n  #\n", '"""What it is."""\n'])
def test_a_script_without_a_name_is_known_by_its_beginning(head: str) -> None:
    assert is_script("-", head + BODY) and is_script("model.py", "")
    assert not is_script("model.mlir", head + BODY)


@pytest.mark.parametrize("text", [TEXT, "", "// @f\n" + TEXT, "#a = 1\nmodule {}", '"a.b"() : () -> ()', "from.a\n"])
def test_other_text_without_a_name_is_mlirs(text: str) -> None:
    assert not is_script("-", text)


def test_options_of_other_tools_exist() -> None:
    """Name the tool of an unknown option, such as --emit."""
    tools = {"relax-compile": of_compile.OPTIONS, "relax-run": of_run.OPTIONS}
    assert options.tool_with("emit") == "relax-compile" and options.tool_with("benchmark") == "relax-run"
    for name, tool in options._ELSEWHERE.items():
        assert name in tools[tool] and name not in options.OPTIONS
