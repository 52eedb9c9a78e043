# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-check on the command line: output, files, exit codes, refusals."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import faulty_codegen  # noqa: F401  # registers it
import pytest
from c_programs import needs_compiler
from relax_mlir.testing import Report
from relax_mlir_proof.relax_check import run

ONLY = "--only=tanh f32"


def check(*arguments: str) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    return run(arguments, stdout=out, stderr=errors), out.getvalue(), errors.getvalue()


def test_right_cases_exit_with_0(tmp_path: Path) -> None:
    kept, page = tmp_path / "kept.json", tmp_path / "page.html"
    code, out, errors = check("faulty", ONLY, f"--json={kept}", f"--html={page}")
    assert code == 0, out
    assert "1 right" in out and "relax.tanh" in out
    assert "1 of 1 cases" in errors
    assert json.loads(kept.read_text())["cases"][0]["verdict"] == "right"
    assert "<table>" in page.read_text() and "faulty" in page.read_text()
    report = Report.from_json(kept.read_text())
    assert report.is_right and not report.faults


def test_cases_that_got_worse_are_reported(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    assert check("faulty", "--only=tanh f32", "-q", f"--json={kept}")[0] == 0
    changed = json.loads(kept.read_text())
    changed["cases"][0]["verdict"] = "wrong"
    was_wrong = tmp_path / "was_wrong.json"
    was_wrong.write_text(json.dumps(changed))
    assert check("faulty", ONLY, "-q", f"--baseline={was_wrong}")[0] == 0
    code, out, _ = check("faulty{fault=empty}", ONLY, "-q", "--only=tanh f32 empty", f"--baseline={kept}")
    assert code == 0, out  # the case that is wrong now was not in the baseline


def test_no_case_that_ran_is_no_success() -> None:
    code, out, _ = check("llvm", "--only=take f32 empty n", "-q")
    assert code == 1 and "llvm: 0 cases: none ran; 1 other without a module" in out, out
    assert "without a module (1): there is no element from 0.0 to below 0.0" in out
    assert check("llvm", "--only=take f32 empty n", "-q", "--allow-unchecked")[0] == 0


def test_an_interrupted_check_writes_its_report(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    command = ["-m", "relax_mlir_proof.relax_check", "llvm", "--only=relax.[a-m]*", f"--json={kept}"]
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None and "cases in" in run.stderr.readline()
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=120)
    assert run.returncode == 130 and re.search(r"left out \(\d+\): interrupted", out), out
    found = json.loads(kept.read_text())
    assert found["cases"] and found["left_out"]["interrupted"] > 100


def test_cases_are_listed() -> None:
    code, out, _ = check("llvm", "--only=tanh*", "--list")
    assert code == 0
    assert "relax.tanh f32\n" in out and "relax.exp" not in out


def test_a_share_is_drawn() -> None:
    chosen = "--only=relax.add f32*", "-q", "--share=0.2"
    outs = [check("faulty", *chosen, f"--draw={draw}")[1].splitlines()[0] for draw in (0, 0, 1, 2)]
    counts = [int(out.split()[1]) for out in outs]
    assert outs[0] == outs[1] and len(set(counts)) > 1 and max(counts) < 12, outs


@needs_compiler
def test_a_target_of_a_codegens_name_is_checked() -> None:
    code, out, _ = check("c", "--target=c", "--only=nn.softmax f32 dynamic", "-q")
    assert code == 0 and "c: 1 cases: 1 right" in out, out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no codegen or target 'nowhere'"),
        (["llvm", "--only=nothing*"], "no case is called nothing*"),
        (["llvm", "--groups=operator"], "no group 'operator' of cases; did you mean 'operators'?"),
        (["llvm", "--baseline=/nowhere.json"], "cannot read the baseline '/nowhere.json'"),
        (["llvm", "--limit=0"], "option --limit expects more than 0"),
        (["faulty", "--target=c"], "target 'c' generates source files, which codegens do not support"),
        ([], "expected one codegen or target, got none"),
    ],
)
def test_refusals(arguments: list[str], message: str) -> None:
    code, _, errors = check(*arguments)
    assert code == 1
    assert errors.startswith("relax-check: error: ") and message in errors, errors


def test_a_damaged_baseline_is_refused(tmp_path: Path) -> None:
    (tmp_path / "damaged.json").write_text('{"cases": [{"verdict": 1}]}')
    code, _, errors = check("llvm", ONLY, f"--baseline={tmp_path / 'damaged.json'}")
    assert code == 1 and "this is no report of relax-check" in errors
