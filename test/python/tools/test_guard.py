# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guard of the tools: the work ends with 0 or 1 and at most one line of the guard, whatever happens."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from relax_mlir.tools.common.guard import Patience

PRELUDE = """
import os, signal, sys, time
from relax_mlir.tools.common.guard import announce, limited, kept_on_death, run_guarded, tell_long_stages
def work():
    {body}
    return 0
sys.exit(run_guarded("tool", work))
"""
LATE = """
class Late:
    def __del__(self): os.kill(os.getpid(), signal.SIGINT); time.sleep(9)
try:
    {}
    time.sleep(20)
except KeyboardInterrupt: print('in time')"""
FOREVER = "[None for _ in iter(int, 1)]"


def guarded(body: str, folder: Path) -> tuple[int, str, str]:
    """Return the exit code, standard output and standard error of a guarded function with this body."""
    code = PRELUDE.replace("{body}", textwrap.indent(textwrap.dedent(body), "    ").strip())
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("body", "code", "out", "errors"),
    [
        ("print('done')", 0, "done\n", ""),
        ("return 1", 1, "", ""),
        ("return 77", 1, "", ""),
        ("os._exit(77)", 1, "", "tool: error: a library ended the process by exit(77)\n"),
        (
            "announce('compiling x'); os._exit(0)",
            1,
            "",
            "tool: error: a library ended the process by exit(0) while compiling x\n",
        ),
        ("raise KeyboardInterrupt", 130, "", "tool: error: interrupted\n"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 1, "", "tool: error: MLIR crashed (SIGSEGV)\n"),
        ("announce('parsing x'); os.abort()", 1, "", "tool: error: MLIR crashed (SIGABRT) while parsing x\n"),
        ("announce('long ' * 9); announce('b'); os.abort()", 1, "", "tool: error: MLIR crashed (SIGABRT) while b\n"),
        ("announce('x' * 100_000); os.abort()", 1, "", f"tool: error: MLIR crashed (SIGABRT) while {'x' * 8191}\n"),
        (
            "os.kill(os.getpid(), signal.SIGBUS)",
            1,
            "",
            "tool: error: an input file was truncated while it was read (SIGBUS)\n",
        ),
        ("os.kill(os.getpid(), signal.SIGKILL)", 1, "", "tool: error: was killed (out of memory?)\n"),
        (
            f"announce('reading')\nwith limited(0.2): {FOREVER}",
            1,
            "",
            "tool: error: gave up, because MLIR did not come to an end while reading\n",
        ),
        ("with limited(60): pass\nreturn int(signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0))", 0, "", ""),
        ("os.kill(os.getppid(), signal.SIGTERM); time.sleep(9**9)", 143, "", "tool: error: interrupted\n"),
        ("os.kill(os.getppid(), signal.SIGINT); time.sleep(9**9)", 130, "", "tool: error: interrupted\n"),
        # Nor is one lost that comes while a destructor runs.
        (LATE.format("Late()"), 0, "in time\n", ""),
        (LATE.format("with limited(60): Late()"), 0, "in time\n", ""),
        # A process that does not listen is killed.
        (
            "signal.signal(signal.SIGTERM, signal.SIG_IGN); os.kill(os.getppid(), signal.SIGTERM); time.sleep(9**9)",
            143,
            "",
            "tool: error: interrupted\n",
        ),
    ],
)
def test_every_end_of_the_work_has_its_exit_code(body: str, code: int, out: str, errors: str, tmp_path: Path) -> None:
    assert guarded(body, tmp_path) == (code, out, errors)


def test_a_file_for_the_case_of_death(tmp_path: Path) -> None:
    body = "with kept_on_death('final', b'last words', 'reproducer') as kept: assert os.path.exists(kept); {}"
    assert guarded(body.replace("{}", "pass"), tmp_path)[0] == 0
    assert not any(tmp_path.iterdir())
    code, _, errors = guarded(body.replace("{}", "os.abort()"), tmp_path)
    assert (code, [(each.name, each.read_text()) for each in tmp_path.iterdir()]) == (1, [("final", "last words")])
    assert "tool: note: a reproducer was written to final" in errors


def test_an_exception_is_not_the_guard_s_business(tmp_path: Path) -> None:
    code, _, errors = guarded("raise ValueError('x')", tmp_path)
    assert code == 1
    assert "Traceback" not in errors


def test_a_crash_is_blamed_on_the_program(tmp_path: Path) -> None:
    code = PRELUDE.replace("{body}", "os.abort()").replace("work)", "work, blamed='the program')")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (1, "tool: error: the program crashed (SIGABRT)\n")


def test_a_stage_that_takes_long_is_reported_again_and_again() -> None:
    patience = Patience()
    lines = [(now, patience.line("compiling a" if now < 50 else "compiling b", now)) for now in range(100)]
    assert [(now, line) for now, line in lines if line] == [
        (10, "still compiling a, for 10 seconds"),
        (20, "still compiling a, for 20 seconds"),
        (40, "still compiling a, for 40 seconds"),
        (60, "still compiling b, for 10 seconds"),
        (70, "still compiling b, for 20 seconds"),
        (90, "still compiling b, for 40 seconds"),
    ]
    assert patience.line("", 999) == ""


def test_a_stage_that_hangs_is_reported_from_outside() -> None:
    body = f"tell_long_stages(); announce('compiling k')\n    with limited(20): {FOREVER}"
    code = "from relax_mlir.tools.common import guard\nguard._LONG_S = 0\n" + PRELUDE.replace("{body}", body)
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        process.terminate()
    assert line.startswith("tool: note: still compiling k, for ")
