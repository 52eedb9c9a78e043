# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks, fuzzers and suites on Dask workers have the outcomes of this machine."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="workers are processes of the package distributed (relax-mlir[dask])")
from dask_workers import WITHOUT_PACKAGE, DaskCluster
from relax_mlir.testing import check
from relax_mlir_proof.testing.verdicts import Verdict

#: Processes of workers take seconds to start.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[4]
_ONLY = ["relax.nn.relu f32*", "relax.add f32*", "relax.sort*"]


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    made = DaskCluster(tmp_path_factory.mktemp("dask"))
    made.add_worker("one")
    made.add_worker("two")
    made.wait_for(2)
    yield made
    made.close()


def verdicts(found: list[Verdict]) -> list[tuple[str, str, str]]:
    return [(each.case, each.verdict, each.reason) for each in found]


def test_a_check_has_the_same_report(dask: DaskCluster) -> None:
    here = check("c", only=_ONLY, share=0.2)
    there = check("c", only=_ONLY, share=0.2, scheduler=dask.address)
    assert len(here.verdicts) > 4
    assert verdicts(there.verdicts) == verdicts(here.verdicts)
    assert there.summary() == here.summary()


def test_remote_faults_are_saved_locally_and_run_again_remotely(dask: DaskCluster, tmp_path: Path) -> None:
    plugin = tmp_path / "faulty_on_workers.py"
    plugin.write_text((ROOT / "plugins/proof/test/faulty_codegen.py").read_text())
    tool = [
        sys.executable,
        "-m",
        "relax_mlir_proof.relax_check",
        "faulty{fault=bound}",
        f"--load-plugin={plugin}",
        "-q",
    ]
    given = ["--only=faulty.layer*", f"--scheduler={dask.address}", f"--keep={tmp_path / 'kept'}", "-j=1"]
    done = subprocess.run([*tool, *given], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    folders = sorted(path.parent for path in (tmp_path / "kept").rglob("case.mlir"))
    assert folders, done.stdout
    again = [*tool, f"--case={folders[0]}", f"--scheduler={dask.address}"]
    done = subprocess.run(again, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and folders[0].name in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["test/fuzz/differential.py", "--kind", "relax", "--seed", "3", "--cases", "6"], r"seed 3: 6 graphs"),
        (["test/fuzz/run.py", "--seed", "3", "--cases", "40"], r"seed 3: 40 cases"),
        (["test/fuzz/partitions.py", "--seed", "3", "--cases", "4"], r"seed 3: 4 graphs"),
        (["tools/dev/conformance.py", "--kinds", "node", "--only", "test_relu"], r"node +(\d+)"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_scripts_have_the_same_summary(command: list[str], words: str, dask: DaskCluster) -> None:
    lines = []
    for more in ([], ["--scheduler", dask.address]):
        done = subprocess.run([sys.executable, *command, *more], cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        lines.append(next(line for line in done.stdout.splitlines() if re.match(words, line)))
    assert lines[0] == lines[1]


def test_a_cluster_without_a_usable_worker_is_one_error(tmp_path: Path) -> None:
    made = DaskCluster(tmp_path)
    try:
        made.add_worker("empty", startup=WITHOUT_PACKAGE)
        made.wait_for(1)
        command = [sys.executable, "-m", "relax_mlir_proof.relax_check", "c", "--only=relax.nn.relu f32*", "-q"]
        done = subprocess.run([*command, f"--scheduler={made.address}"], capture_output=True, text=True, timeout=300)
    finally:
        made.close()
    warning, error = done.stderr.splitlines()
    assert done.returncode == 1
    assert warning.startswith("relax-check: warning: the worker 'empty' at tcp://") and "lacks relax-mlir" in warning
    assert error.startswith("relax-check: error: no worker of 'tcp://") and "'empty' lacks relax-mlir" in error
