# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders, databases and candidates that cannot be used: each costs a sentence, and nothing else is lost."""

from __future__ import annotations

import errno
import io
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.passes.kernels.schedule.tuned_plans import TunedKernel
from relax_mlir_tune import trials, tune
from relax_mlir_tune.measuring import KernelJob, Outcome
from relax_mlir_tune.runners import LocalRunner
from relax_mlir_tune.space import Plans
from relax_mlir_tune.tasks import tasks_of
from relax_mlir_tune.tool import run
from relax_mlir_tune.trials import FILE, Searched, Trials, searched_in

#: Program of a process that adds trials to a folder, as a search does.
_TRIALS = """
import sys
from pathlib import Path
from relax_mlir_tune.measuring import Outcome
from relax_mlir_tune.trials import Trials
trials = Trials(Path(sys.argv[1]), "cpu")
for number in range(100):
    trials.add("0123", "kernel", Outcome((f"{sys.argv[2]} {number}",), ((1.0, 0.9),) * 3))
assert not trials.problem, trials.problem
"""


def product(rows: int | str = 16, columns: int = 48) -> rx.Module:
    with rx.Module() as module:
        shapes = {"x": rx.tensor((rows, 32)), "w": rx.tensor((32, columns))}
        with module.function("main", shapes) as f:
            x, w = f
            f.returns(relax.matmul(x, w))
    return module


def told(*arguments: str) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    return run(arguments, stdout, stderr), stdout.getvalue(), stderr.getvalue()


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "product.mlir"
    path.write_text(str(product()))
    return str(path)


@pytest.fixture
def faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each plan faster than the default, without measurements."""

    def measured(self: LocalRunner, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        return iter([Outcome(each, ((1.0, 0.5),) * turns) for each in plans])

    monkeypatch.setattr(LocalRunner, "measured", measured)


# ---- folders ----


def test_a_folder_that_is_a_file_is_refused_before_a_trial(model: str, tmp_path: Path) -> None:
    (tmp_path / "tuned").write_text("")
    for options in ((model,), ("--list",), (model, "--prune"), ("--merge", str(tmp_path / "tuned"))):
        code, _, errors = told(*options, "-o", str(tmp_path / "tuned"))
        assert code == 1 and errors.count("\n") == 1, errors
        assert "cannot be written to" in errors or "cannot be read: Not a directory" in errors


def test_a_folder_that_cannot_be_written_is_refused_before_a_trial(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    monkeypatch.setattr(LocalRunner, "measured", lambda *arguments: pytest.fail("a trial ran"))
    code, _, errors = told(model, "-o", str(tmp_path / "tuned"))
    assert code == 1 and errors.endswith("tuned': Permission denied\n") and "cannot be written" in errors


@pytest.mark.usefixtures("faster")
def test_a_full_disk_loses_no_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: TunedKernel, folder: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(TunedKernel, "write", fail)
    found = tune(product(), trials=4, folder=tmp_path)
    assert [each for each in found.notes if "cannot be written" in each and "No space left on device" in each]
    assert len(searched_in(tmp_path)[0][0].outcomes) > 4
    monkeypatch.undo()


@pytest.mark.usefixtures("faster")
def test_damaged_files_of_kernels_are_left_out(model: str, tmp_path: Path) -> None:
    folder = tmp_path / "tuned"
    tune(product(), trials=4, folder=folder)
    (path,) = folder.glob("*.json")
    (folder / f"other-{path.name.partition('-')[2]}").write_text("{")
    found = tune(product(columns=64), trials=4, folder=folder)
    assert [each for each in found.notes if "is damaged: it is no JSON object" in each]
    for options in (("--list",), (model, "--prune"), ("--merge", str(folder))):
        code, _, errors = told(*options, "-o", str(folder))
        assert code == 0 and "warning: tuned kernel '" in errors and "is damaged" in errors
    assert path.exists()


# ---- databases ----


def outcome(number: int) -> Outcome:
    return Outcome((f"plan {number}",), ((1.0, 0.9),) * 3)


def test_a_database_that_is_read_only_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Trials(tmp_path, "cpu")
    first.add("0123", "kernel", outcome(1))
    first.close()
    connect = sqlite3.connect

    def read_only(path: Path, **options: float) -> sqlite3.Connection:
        return connect(f"{path.as_uri()}?mode=ro", uri=True)

    monkeypatch.setattr(trials.sqlite3, "connect", read_only)
    second = Trials(tmp_path, "cpu")
    second.add("0123", "kernel", outcome(2))
    assert "trials are not kept" in second.problem and "readonly" in second.problem
    assert list(second.known("0123")) == [("plan 1",)]
    second.close()


def test_a_full_database_keeps_its_trials(tmp_path: Path) -> None:
    kept = Trials(tmp_path, "cpu")
    assert kept._database is not None
    kept._database.execute("pragma max_page_count = 6")
    for number in range(1000):
        kept.add("0123", "kernel", outcome(number))
    assert "full" in kept.problem
    count = len(kept.known("0123"))
    kept.close()
    assert 0 < count < 1000
    assert len(Trials(tmp_path, "cpu").known("0123")) == count


def test_damaged_rows_are_left_out(tmp_path: Path) -> None:
    kept = Trials(tmp_path, "cpu")
    kept.add_kernel(Searched("0123", "", "kernel", ("plan 0",), 1e-3, 2))
    kept.add("0123", "kernel", outcome(1))
    assert kept._database is not None
    with kept._database:
        kept._database.execute("insert into trials (key, machine, plans, turns) values ('0123', 'cpu', '[', '[]')")
        kept._database.execute("insert into trials (key, machine, plans, turns) values ('0123', 'cpu', '[]', null)")
    assert list(kept.known("0123")) == [("plan 1",)]
    assert "2 damaged trials are not used" in kept.problem
    kept.add("0123", "kernel", outcome(2))
    kept.close()
    (searched,), damaged = searched_in(tmp_path)
    assert damaged == 2 and len(searched.outcomes) == 2 and searched.calls == 2


def test_a_database_of_another_version_is_told(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / FILE)
    database.execute("create table trials (key text, other text)")
    database.close()
    kept = Trials(tmp_path, "cpu")
    assert kept.known("0123") == {} and "no such column" in kept.problem
    kept.add("0123", "kernel", outcome(1))
    kept.close()
    with pytest.raises(rx.RelaxError, match="cannot be read: no such column"):
        searched_in(tmp_path)


def test_two_searches_share_a_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _TRIALS, str(tmp_path)]
    both = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in ("one", "two")]
    for each in both:
        _, errors = each.communicate(timeout=300)
        assert each.returncode == 0, errors
    (searched,), damaged = searched_in(tmp_path)
    assert damaged == 0 and len({each.plans for each in searched.outcomes}) == 200


# ---- candidates ----


def job(module: rx.Module, **sizes: int) -> KernelJob:
    (task,) = tasks_of(module, "llvm")
    return KernelJob(task.key, task.module.bytecode(), "llvm", 1, tuple(sizes.items()))


def test_a_candidate_without_memory_loses_its_trial_only() -> None:
    runner = LocalRunner()
    try:
        (large,) = runner.measured(job(product("n"), n=1 << 34), [("",)], 1)
        assert "memory" in large.problem.lower() and not large.turns
        (after,) = runner.measured(job(product()), [("start",)], 1)
        assert "operations, but" in after.problem
    finally:
        runner.close()
