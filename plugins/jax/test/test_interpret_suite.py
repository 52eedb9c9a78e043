# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`suite.py stablehlo-interpret`: parsing of the interpreter's tests, and failing runs."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "dev"))

import stablehlo_interpret  # noqa: E402  # found by the line above, as the next
import upstream_tests  # noqa: E402
from case_results import CaseResult  # noqa: E402

_SUITE = """// RUN: stablehlo-translate --interpret %s
func.func @right() {
  %0 = stablehlo.constant dense<[[1, 2],
                                 [3, 4]]> : tensor<2x2xi64>
  check.expect_eq_const %0, dense<[[1, 2],
                                   [3, 4]]> : tensor<2x2xi64>
  func.return
}
// -----
func.func @right() {
  %0:2 = stablehlo.optimization_barrier %a, %a : tensor<f32>, tensor<f32>
  check.expect_close %0#0, %0#1, max_ulp_difference = 3 : tensor<f32>, tensor<f32>
  func.return
}
// -----
func.func @nothing() { func.return }
"""


def test_checks_become_generic_operations(tmp_path: Path) -> None:
    path = tmp_path / "some.mlir"
    path.write_text(_SUITE)
    pieces = dict(stablehlo_interpret.pieces_of(path))
    assert list(pieces) == ["some.mlir/right", "some.mlir/right-2"]
    first, second = map(stablehlo_interpret.in_generic_form, pieces.values())
    assert '"check.expect_eq"(%0, %expected_1) : (tensor<2x2xi64>, tensor<2x2xi64>) -> ()' in first
    assert "%expected_1 = stablehlo.constant dense<[[1, 2],\n" in first
    closeness = '"check.expect_close"(%0#0, %0#1) {max_ulp_difference = 3} : (tensor<f32>, tensor<f32>) -> ()'
    assert closeness in second
    changed = stablehlo_interpret.broken(first)
    assert "%expected_1 = stablehlo.constant dense<[[0, 2],\n" in changed and changed.count("[[1, 2]") == 1
    assert stablehlo_interpret.broken(second) == second


def test_a_run_fails_for_what_is_not_listed_and_for_what_is_not_noticed(tmp_path: Path) -> None:
    (tmp_path / "suite.mlir").write_text(
        """func.func @right() {
  %0 = stablehlo.constant dense<true> : tensor<i1>
  check.expect_eq_const %0, dense<true> : tensor<i1>
  func.return
}
// -----
func.func @wrong() {
  %0 = stablehlo.constant dense<2.5> : tensor<2xf32>
  check.expect_almost_eq_const %0, dense<0.0> : tensor<2xf32>
  func.return
}
"""
    )
    command = [sys.executable, str(ROOT / "tools" / "dev" / "stablehlo_interpret.py"), "--jobs", "1", "--tests"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("1 passed, 1 failed of 2\nerror: suite.mlir/wrong failed: ")
    assert "is too far from what check.expect_almost_eq expects" in done.stdout
    done = subprocess.run(
        [*command, str(tmp_path), "--break"], capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stdout) == (0, "2 failed of 2\n"), done.stderr
    done = subprocess.run([*command, str(tmp_path / "no")], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 2 and "openxla/stablehlo, folder stablehlo/tests/interpret" in done.stderr


def test_the_folder_of_a_suite(tmp_path: Path) -> None:
    archive, unpacked = tmp_path / "tests.tar.gz", tmp_path / "unpacked"
    assert "get them from github" in str(upstream_tests.folder_of("", "jax", "github", archive, unpacked))
    (tmp_path / "a_test.py").write_text("")
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(tmp_path / "a_test.py", "jax/a_test.py")
        packed.add(tmp_path / "a_test.py", "../jax/b_test.py")
    assert upstream_tests.folder_of("", "jax", "github", archive, unpacked) == unpacked / "jax"
    assert [each.name for each in (unpacked / "jax").iterdir()] == ["a_test.py"]
    assert "has no folder torch" in str(upstream_tests.folder_of("", "torch", "github", archive, unpacked))
    assert upstream_tests.folder_of(str(tmp_path), "jax", "github", archive, unpacked) == tmp_path


def test_lists_have_names_and_patterns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "list.txt"
    path.write_text("# header\na.*: one device\nb.x: why\nc.y: gone\n")
    results = [
        CaseResult("a.p", "passed", "", 1.0),
        CaseResult("a.q", "crashed", "SIGSEGV", 1.0),
        CaseResult("b.x", "failed", "why", 1.0),
        CaseResult("c.z", "left out", "needs a GPU", 1.0),
    ]
    assert upstream_tests.finish(results, path, "", is_written=False) == 0
    worse = [*results, CaseResult("c.y", "passed", "", 1.0), CaseResult("d", "failed", "new", 1.0)]
    assert upstream_tests.finish(worse, path, "", is_written=False) == 1
    errors = [line for line in capsys.readouterr().out.splitlines() if line.startswith("error: ")]
    assert errors == ["error: d failed: new", "error: c.y passes: take it off the list"]
    assert upstream_tests.finish(worse, path, "# header\n", is_written=True) == 0
    assert path.read_text() == "# header\na.*: one device\nb.x: why\nd: new\n"


def test_a_draw_decides_each_case_by_itself() -> None:
    names = [f"case {number}" for number in range(1000)]

    def drawn(share: float, draw: int) -> set[str]:
        options = argparse.Namespace(only=[], share=share, draw=draw)
        return {name for name in names if upstream_tests.is_drawn(name, options)}

    assert drawn(1.0, 1) == set(names) and not drawn(0.0, 1)
    assert 50 < len(drawn(0.1, 1)) < 200 and drawn(0.1, 1) < drawn(0.3, 1) and drawn(0.1, 1) != drawn(0.1, 2)
