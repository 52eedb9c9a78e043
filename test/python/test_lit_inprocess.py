# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The in-process lit format agrees with real processes on tests that pass, fail, pipe, redirect or crash."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

TEST_FOLDER = Path(__file__).parents[1]

# Upper-cases a file or stdin; its flags are the ways in which a tool can go wrong.
FAKE_TOOL = """
import os, sys, time

def run(argv, stdin=None, stdout=None, stderr=None):
    if "--raise" in argv:
        raise ValueError("a bug in the tool")
    if "--exit" in argv:
        sys.exit(0)
    if "--crash" in argv:
        os.kill(os.getpid(), 11)
    if "--hang" in argv:
        time.sleep(600)
    if "--fail" in argv:
        stderr.write("error: asked to fail\\n")
        return 1
    if "--variable" in argv:
        import beside
        stdout.write(f"{os.environ['A']} {beside.__name__} {beside.COUNT}\\n")
        beside.COUNT += 1
        return 0
    if "--no-variable" in argv:
        stdout.write(f"{os.environ.get('A')} {'beside' in sys.modules}\\n")
        return 0
    if "--who" in argv:
        stdout.write("in lit\\n" if "lit.worker" in sys.modules else "a process\\n")
        return 0
    if "--descriptors" in argv:
        stdout.write("one\\n")
        os.write(1, b"two\\n")
        print("three")
        os.write(2, b"four\\n")
        return 0
    if "--bytes" in argv:
        stdout.buffer.write(b"\\xff\\x00binary")
        return 0
    names = [word for word in argv if not word.startswith("-")]
    text = open(names[0]).read() if names else stdin.read()
    stdout.write(text.upper())
    return 0

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr))
"""

CONFIG = f"""
import shlex, sys
from pathlib import Path
here = Path(__file__).parent
sys.path[:0] = [{str(TEST_FOLDER)!r}, str(here)]
from lit_inprocess import Tool, configure, python_tool
config.name, config.suffixes, config.test_source_root = "fake", [".txt"], str(here)
config.test_exec_root = str(here / lit_config.params["build"])
config.available_features.add("present")
tool = Tool("fake_tool:run", shlex.join([sys.executable, str(here / "fake_tool.py")]))
check = Tool("lit_builtins:filecheck", python_tool("filecheck", "filecheck"))
configure(config, lit_config, {{"tool": tool, "FileCheck": check}})
"""


# For one folder: tests that hang there have a shorter timeout.
IMPATIENT = """
import copy
config.test_format = copy.copy(config.test_format)
config.test_format.timeout_s = 2
"""


class Case(NamedTuple):
    """Test file with its result code and the expected texts of its log."""

    text: str
    code: str
    log: tuple[str, ...] = ()
    only_in_process: bool = False


CASES = {
    "pass": Case("RUN: tool %s | FileCheck %s\nabc\nCHECK: ABC\n", "PASS"),
    "stays-in-process": Case("RUN: tool --who | FileCheck %s\nCHECK: in lit\n", "PASS", (), True),
    "wrong-output": Case(
        "RUN: tool %s | FileCheck %s\nabc\nCHECK: nowhere\n",
        "FAIL",
        ("RUN: at line 1", "$ tool ", "FileCheck", "nowhere", "ABC"),
        True,
    ),
    "tool-fails": Case("RUN: tool --fail %s\n", "FAIL", ("asked to fail",)),
    "tool-fails-in-pipe": Case("RUN: tool --fail | FileCheck --allow-empty %s\nCHECK-NOT: x\n", "FAIL"),
    "second-line-fails": Case("RUN: tool %s\nRUN: tool --fail\n", "FAIL", ("asked to fail",)),
    "not": Case("RUN: not tool --fail 2>&1 | FileCheck %s\nCHECK: error: asked\n", "PASS"),
    "not-of-success": Case("RUN: not tool %s\n", "FAIL"),
    "not-not": Case("RUN: not not tool %s\n", "PASS"),
    "stderr-is-not-piped": Case("RUN: not tool --fail | FileCheck %s\nCHECK: asked\n", "FAIL"),
    "stderr-to-file": Case(
        "RUN: not tool --fail 2> %t\nRUN: FileCheck %s < %t\nRUN: FileCheck %s --input-file=%t\nCHECK: asked\n",
        "PASS",
    ),
    "prefix-and-variable": Case(
        "RUN: tool %s | FileCheck %s --check-prefix=TWO -DNAME=ABC\nabc\nTWO: [[NAME]]\n", "PASS"
    ),
    "unknown-check-option": Case("RUN: tool %s | FileCheck %s --no-such\nCHECK: RUN\n", "FAIL"),
    "stdin": Case("RUN: tool < %s | FileCheck %s\nabc\nCHECK: ABC\n", "PASS"),
    "pipe-of-tools": Case("RUN: cat %s | tool | tool - | FileCheck %s\nabc\nCHECK: ABC\n", "PASS"),
    "files": Case(
        "RUN: rm -f %t.a\nRUN: tool %s > %t.a && tool %s >> %t.b\nRUN: diff %t.a %t.a && cmp %t.a %t.a\n"
        "RUN: not diff %s %t.a\nRUN: not cmp -s %s %t.a\n",
        "PASS",
    ),
    "files-differ": Case("RUN: tool %s > %t\nRUN: diff %s %t\nabc\n", "FAIL", ("ABC",)),
    "missing-file": Case("RUN: cat %S/missing.txt\n", "FAIL", ("missing.txt",)),
    "grep": Case(
        "RUN: tool %s | grep -c '^A' | grep '^1$'\nRUN: echo aa | not grep -q 'a+'\n"
        "RUN: grep -E 'b+c|zz' %s\nRUN: echo x.y | grep -F x.y\nabbc\n",
        "PASS",
    ),
    "grep-finds-nothing": Case("RUN: echo one | grep two\n", "FAIL"),
    "continued-line": Case("RUN: tool %s \\\nRUN:   | FileCheck %s\nabc\nCHECK: ABC\n", "PASS"),
    "or-else": Case("RUN: tool --fail || tool --who; echo done\n", "PASS"),
    "substitutions": Case("RUN: echo %{s:basename} %% | FileCheck %s\nCHECK: substitutions.txt %\n", "PASS"),
    "defined": Case("DEFINE: %{run} = tool %s\nRUN: %{run} | FileCheck %s\nabc\nCHECK: ABC\n", "PASS"),
    "globs": Case("RUN: echo %S/gl*s.txt | FileCheck %s\nCHECK: globs.txt\n", "PASS"),
    "descriptors": Case(
        "RUN: tool --descriptors 2>&1 | FileCheck %s\nCHECK: one\nCHECK-NEXT: two\nCHECK-NEXT: three\n",
        "PASS",
        (),
        True,
    ),
    "bytes": Case("RUN: tool --bytes > %t && grep -c binary %t\n", "PASS"),
    "name-in-a-path": Case("RUN: echo a/tool.b ./tool | FileCheck %s\nCHECK: a/tool.b ./tool\n", "PASS"),
    "env": Case(
        "RUN: env A='b c' PYTHONPATH=%S/beside tool --variable | FileCheck %s\n"
        "RUN: env A='b c' PYTHONPATH=%S/beside tool --variable | FileCheck %s\n"
        "RUN: tool --no-variable | FileCheck %s --check-prefix=AFTER\nCHECK: b c beside 0\nAFTER: None False\n",
        "PASS",
    ),
    "env-stays-in-lit": Case("RUN: env A=1 tool --who | FileCheck %s\nCHECK: in lit\n", "PASS", (), True),
    "env-fails": Case("RUN: env A=1 tool --fail\n", "FAIL", ("asked to fail",)),
    "env-and-not": Case("RUN: not env A=1 tool --fail 2>&1 | FileCheck %s\nCHECK: error: asked\n", "PASS"),
    "env-and-exception": Case("RUN: not env A=1 tool --raise\n", "FAIL", ("a bug in the tool", "SIGABRT"), True),
    "env-and-crash": Case("RUN: not env A=1 tool --crash\n", "FAIL", ("crashed with SIGSEGV", "fake_tool.py"), True),
    "falls-back": Case("RUN: env -u A tool --who | FileCheck %s\nCHECK: a process\n", "PASS"),
    "falls-back-and-fails": Case("RUN: env -u A tool --fail\n", "FAIL", ("asked to fail",)),
    "sed": Case(
        "RUN: sed s,a.c=+,x/y,g %s | FileCheck %s\n"
        "RUN: cat %s | sed 's/^a''.c/x/' | grep x=+a.c=+$\na.c=+a.c=+\nCHECK: x/yx/y\n",
        "PASS",
    ),
    "sed-falls-back": Case("RUN: sed 's/b+/[&/' %s | FileCheck %s\nab+\nCHECK: a{{\\[}}b+\n", "PASS"),
    "sed-of-a-missing-file": Case("RUN: sed s/a/b/ %S/missing.txt\n", "FAIL", ("missing.txt",)),
    "folders": Case("RUN: rm -rf %t.none %S/scrap && not cat %S/scrap/a.out\n", "PASS"),
    "unknown-command": Case("RUN: no-such-command-here %s\n", "FAIL", ("command not found",)),
    "bad-syntax": Case("RUN: tool %s |\n", "UNRESOLVED"),
    "no-script": Case("nothing to run\n", "UNRESOLVED"),
    "expected-to-fail": Case("RUN: tool --fail\nXFAIL: *\n", "XFAIL"),
    "unexpected-pass": Case("RUN: tool %s\nXFAIL: *\n", "XPASS"),
    "requires-present": Case("REQUIRES: present\nRUN: tool %s\n", "PASS"),
    "requires-absent": Case("REQUIRES: absent\nRUN: tool --fail\n", "UNSUPPORTED"),
    "unsupported": Case("UNSUPPORTED: present\nRUN: tool --fail\n", "UNSUPPORTED"),
    "exception": Case("RUN: tool --raise\n", "FAIL", ("Traceback", "a bug in the tool")),
    "exception-under-not": Case("RUN: not tool --raise\n", "FAIL", ("Traceback", "a bug in the tool"), True),
    "leaves-by-exit": Case("RUN: tool --exit\n", "FAIL", ("SystemExit",), True),
    "crash": Case("RUN: tool --crash\n", "FAIL", ("crashed with SIGSEGV", "fake_tool.py"), True),
    "crash-under-not": Case("RUN: not tool --crash 2>&1 | FileCheck %s\n", "FAIL", ("SIGSEGV",), True),
    "hang": Case("RUN: tool --hang\n", "TIMEOUT", ("no result after 2 s",), True),
}


def lit_results(folder: Path, *options: str) -> dict[str, tuple[str, str]]:
    """Test -> code and log."""
    report = folder / f"report{len(options)}.json"
    command = [sys.executable, "-c", "import lit.main; lit.main.main()", "-j2", "-o", str(report), *options]
    run = subprocess.run([*command, str(folder)], capture_output=True, text=True, timeout=600, check=False)
    assert report.exists(), run.stdout + run.stderr
    tests = json.loads(report.read_text())["tests"]
    return {Path(test["name"]).stem.split(":: ")[-1]: (test["code"], test["output"]) for test in tests}


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "lit.cfg.py").write_text(CONFIG)
    (folder / "fake_tool.py").write_text(FAKE_TOOL)
    for name, case in CASES.items():
        _place(folder, name).write_text(case.text)
    (folder / "scrap").mkdir()
    (folder / "scrap" / "a.out").touch()
    (folder / "beside").mkdir()
    (folder / "beside" / "beside.py").write_text("COUNT = 0\n")
    (folder / "impatient" / "lit.local.cfg").write_text(IMPATIENT)
    return folder


def _place(folder: Path, name: str) -> Path:
    inside = folder / "impatient" if name == "hang" else folder
    inside.mkdir(exist_ok=True)
    return inside / f"{name}.txt"


@pytest.fixture(scope="module")
def in_process(suite):
    return lit_results(suite, "-Dbuild=in-process")


@pytest.fixture(scope="module")
def as_processes(suite):
    for name, case in CASES.items():
        if case.only_in_process:
            _place(suite, name).unlink()
    return lit_results(suite, "-Dbuild=processes", "--param", "processes=1")


@pytest.mark.parametrize("name", CASES)
def test_in_process(in_process, name):
    code, log = in_process[name]
    assert code == CASES[name].code, log
    assert [words for words in CASES[name].log if words not in log] == [], log


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.only_in_process])
def test_real_processes_agree(in_process, as_processes, name):
    code, log = as_processes[name]
    assert code == CASES[name].code, log
    assert [words for words in CASES[name].log if words not in log] == [], log


def test_every_file_was_a_test(in_process):
    assert set(in_process) == set(CASES)
