# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of scheduled kernels become scripts, refusals with the expected diagnostics."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from lit_schedules import Case, read_table, run
from lit_schedules import script_of as script_of_test

KERNEL = """@T.prim_func
def sums(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        pass
"""
SECTION = '''
split = """
on sums: B(i, k)
  # A comment.
  sch.split(k, [3])
  error: too few
on sums: B C(i)
  # schedule 2
  sch.split(i, [4, None])
  error without loops: unknown version
"""
'''


def script_of(tmp_path: Path, *texts: str) -> str:
    paths = [tmp_path / f"{number}.py" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    output = io.StringIO()
    assert run(list(map(str, paths)), sys.stdin, output, sys.stderr) == 0
    return output.getvalue()


def test_each_case_is_a_kernel_with_a_schedule(tmp_path: Path) -> None:
    script = script_of(tmp_path, KERNEL, SECTION)
    first, second = script.split("# -----\n")
    assert first.splitlines()[2:6] == [
        "@T.prim_func",
        "# expected-note@+2 {{the loops as they stand}}",
        "# expected-error@+1 {{too few}}",
        'def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):',
    ]
    assert "the loops" not in second and "# expected-error@+1 {{unknown version}}\ndef f(" in second
    _, cases = read_table(tmp_path / "1.py")
    lookups = ('B = sch.get_block("B")', "i, k = sch.get_loops(B)")
    assert cases[0] == Case("split", "sums", ("# schedule 1", *lookups, "sch.split(k, [3])"), "too few", True)
    assert cases[1].steps[:2] == ("# schedule 2", lookups[0])
    assert cases[1].steps[2:] == ('C = sch.get_block("C")', "i, = sch.get_loops(C)", "sch.split(i, [4, None])")


def test_cases_that_pass_are_functions_of_one_module(tmp_path: Path) -> None:
    case = 'rows = """\non sums: B(i, k)\n  sch.split(i, [None, 2])\nCHECK-LABEL: def rows(\n"""\n'
    script = script_of(tmp_path, KERNEL, case + case.replace("rows", "pairs"))
    assert script.count("class Module:") == 1 and "expected-error" not in script and "CHECK" not in script
    assert "    def rows(A: T.Buffer" in script and "    def pairs(A: T.Buffer" in script
    (tmp_path / "2.py").write_text(f"# RUN: schedules %S/0.py %s | relax-opt -\n{case}")
    assert "    def rows(" in script_of_test(tmp_path / "2.py")


def test_every_kernel_and_every_step_is_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no case uses sums"):
        script_of(tmp_path, KERNEL)
    with pytest.raises(ValueError, match="split: steps without an error"):
        script_of(tmp_path, KERNEL, SECTION.rpartition("  error")[0] + '"""\n')
    with pytest.raises(KeyError, match="sums"):
        script_of(tmp_path, SECTION)
