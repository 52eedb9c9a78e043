# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.tune and relax-tune: real trials of small kernels, files, and bad input."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.compilation.schedules import planned, until_rules
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.passes.kernels.schedule.tuned_plans import TunedFolder, TunedKernel, kernel_key, plans_of, read_tuned
from relax_mlir_tune import tune
from relax_mlir_tune.measuring import KernelJob, Outcome, measure
from relax_mlir_tune.runners import DaskRunner, LocalRunner
from relax_mlir_tune.tasks import tasks_of
from relax_mlir_tune.tool import run


def product(rows: Any = 64, columns: int = 80) -> rx.Module:
    with rx.Module() as module:
        weights = numpy.random.default_rng(0).standard_normal((96, columns)).astype("float32")
        with module.function("main", {"x": rx.tensor((rows, 96))}) as f:
            (x,) = f
            f.returns(relax.nn.relu(relax.matmul(x, relax.const(weights))))
    return module


def job_of(module: rx.Module, **sizes: int) -> KernelJob:
    (task,) = tasks_of(module, "llvm")
    return KernelJob(task.key, task.module.bytecode(), "llvm", 1, tuple(sizes.items()))


def test_trials_have_times_and_equal_results(tmp_path: Path) -> None:
    found = tune(product(), trials=6, folder=tmp_path)
    (task,) = found.tasks
    assert task.search is not None and len(task.search.outcomes) == 6
    assert any(each.turns for each in task.search.outcomes.values()) and not found.wrong
    assert task.seconds > 0 and task.share == 1
    assert "all kernels" in found.table() and task.task.name in found.table()


def test_the_next_call_continues(tmp_path: Path) -> None:
    tune(product(), trials=3, folder=tmp_path)
    counts = []
    found = tune(product(), trials=5, folder=tmp_path, progress=lambda each: counts.append(each.trial))
    assert found.tasks[0].search is not None and len(found.tasks[0].search.outcomes) == 5
    assert min(counts) == 4


@pytest.fixture
def tuned(tmp_path: Path) -> TunedKernel:
    """Write a tuned kernel with another plan, without a search."""
    (task,) = tasks_of(product(), "llvm")
    from random import Random

    from relax_mlir.compilation.schedules import planned
    from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts, Times
    from relax_mlir_tune.space import Space

    space = Space(rx.lower(task.module, "llvm", pipeline=planned(rx.stages("llvm"))), "llvm")
    plans = space.neighbour(space.default, Random(1))
    assert plans is not None
    facts = MachineFacts.of(space.machine)
    kernel = TunedKernel(task.name, task.key, task.types, facts, plans, space.default, Times(10.0, 9.0, 0.01))
    return read_tuned(kernel.write(tmp_path))


def plans_in(module: rx.Module, folder: Path) -> str:
    stages = rx.stages("llvm").until("plan")
    return str(rx.lower(module, "llvm", pipeline=stages, tuned=folder))


def test_programs_use_tuned_plans(tuned: TunedKernel, tmp_path: Path) -> None:
    assert "rule tuned" in plans_in(product(), tmp_path)
    x = numpy.random.default_rng(1).standard_normal((64, 96)).astype("float32")
    one, other = (rx.compile(product(), tuned=folder)["main"](x) for folder in (None, tmp_path))
    assert numpy.array_equal(numpy.from_dlpack(one), numpy.from_dlpack(other))


def test_other_sizes_keep_the_rules(tuned: TunedKernel, tmp_path: Path) -> None:
    assert "rule tuned" not in plans_in(product(columns=64), tmp_path)


def test_other_machines_keep_the_rules(tuned: TunedKernel, tmp_path: Path) -> None:
    path = Path(tuned.path)
    content = json.loads(path.read_text())
    content["machine"]["vector_bytes"] = 8
    path.write_text(json.dumps(content))
    assert "rule tuned" not in plans_in(product(), tmp_path)


def damaged(path: Path, how: str) -> str:
    """Damage a file. Return words of the warning."""
    content = json.loads(path.read_text())
    if how == "text":
        path.write_text("{")
        return "no JSON object"
    if how == "version":
        content["version"] = 99
    elif how == "field":
        content["unknown"] = 1
    elif how == "plans":
        content["plans"] = content["plans"][1:]
    else:
        content["plans"] = [each.replace("order", "ordre") for each in content["plans"]]
    path.write_text(json.dumps(content))
    words = {"version": "version 99, expected 1", "field": "field 'unknown' is unknown", "plans": "operations, but"}
    return words.get(how, "expected one of order")


@pytest.mark.parametrize("how", ["text", "version", "field", "plans", "words"])
def test_damaged_files_are_left_out_with_a_warning(tuned: TunedKernel, tmp_path: Path, how: str) -> None:
    words = damaged(Path(tuned.path), how)
    with pytest.warns(RuntimeWarning, match=words):
        assert "rule tuned" not in plans_in(product(), tmp_path)


def test_a_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    rx.compile(product(), tuned=tmp_path, cache=tmp_path / "cache")  # the same plans, with a folder
    with pytest.raises(rx.RelaxError, match="cannot be read: No such file"):
        rx.compile(product(), tuned=tmp_path / "missing", cache=tmp_path / "cache")


def test_the_program_cache_sees_tuned_files(tuned: TunedKernel, tmp_path: Path) -> None:
    """A program compiled before a file changes is not found again after it."""
    cache, folder = tmp_path / "cache", tmp_path
    first = rx.compile(product(), tuned=folder, cache=cache)
    Path(tuned.path).unlink()
    x = numpy.zeros((64, 96), "float32")
    again = rx.compile(product(), tuned=folder, cache=cache)
    assert numpy.array_equal(numpy.from_dlpack(first["main"](x)), numpy.from_dlpack(again["main"](x)))
    assert "rule tuned" not in plans_in(product(), folder)


def test_keys_do_not_depend_on_names() -> None:
    def key(name: str) -> str:
        with rx.Module() as module, module.function(name, {"x": rx.tensor((8, 8))}) as f:
            f.returns(relax.exp(f["x"] if hasattr(f, "__getitem__") else next(iter(f))))
        lowered = rx.lower(module, pipeline=until_rules(rx.stages("llvm")))
        return kernel_key(prim_funcs_in(lowered.operation)[0])

    assert key("main") == key("other")


def test_a_hanging_trial_is_ended() -> None:
    runner, job = LocalRunner(limit=0.01), job_of(product())
    try:
        (outcome,) = runner.measured(job, [("start",)], 1)
        assert outcome.problem == "took more than 0.01 s"
    finally:
        runner.close()


def test_a_crash_loses_one_trial() -> None:
    runner, job = LocalRunner(), job_of(product())
    try:
        (first,) = runner.measured(job, [("start",)], 1)
        assert first.problem
        planned_module = rx.lower(rx.Module.parse(job.module), pipeline=planned(rx.stages("llvm")))
        default = plans_of(prim_funcs_in(planned_module.operation)[0])
        worker = runner._processes[1]._worker
        assert worker is not None
        threading.Timer(1.0, lambda: os.kill(worker.pid, signal.SIGKILL)).start()
        (crashed,) = runner.measured(job, [default], 1_000_000)
        assert crashed.problem == "the process was killed (out of memory?)"
        (after,) = runner.measured(job, [("start",)], 1)
        assert "operations, but" in after.problem
    finally:
        runner.close()


def test_plans_that_do_not_fit_have_a_reason() -> None:
    outcome = measure(job_of(product()), ("start",), 1)
    assert "operations, but there are plans for 1" in outcome.problem and not outcome.turns


def test_dynamic_sizes_need_a_value(tmp_path: Path) -> None:
    with pytest.raises(rx.RelaxError, match=r"@.*: the size n has no value: pass it in sizes="):
        tune(product("n"), trials=2, folder=tmp_path)
    for options in ({"bind": {"n": 8}}, {"sizes": {"n": 8}}):
        bound = tune(product("n"), trials=2, folder=tmp_path, **options)
        assert bound.tasks[0].search is not None and len(bound.tasks[0].search.outcomes) == 2


def test_a_damaged_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "trials.sqlite").write_bytes(b"no database" * 1000)
    found = tune(product(), trials=2, folder=tmp_path)
    assert any("trials are not kept" in note for note in found.notes)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"effort": "best"}, "effort='best' is unknown; expected one of quick, full"),
        ({"trials": 0}, "trials=0: expected at least 1"),
        ({"target": "lvm"}, "lvm"),
        ({"target": "c"}, "no kernel can be measured for target 'c': @.*: target 'c' writes source files"),
        ({"target": "reference"}, "no kernels to tune for target 'reference'"),
    ],
)
def test_bad_options(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(rx.RelaxError, match=words):
        tune(product(), folder=tmp_path, **options)


# ---- the tool ----


def told(*arguments: str) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    return run(arguments, stdout, stderr), stdout.getvalue(), stderr.getvalue()


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "product.mlir"
    path.write_text(str(product()))
    return str(path)


def test_the_tool_tunes_and_lists(model: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "tuned")
    code, out, err = told(model, "-o", folder, "--trials", "2")
    assert code == 0 and "all kernels" in out and "kernel 1 of 1" in err
    code, out, _ = told("--list", "-o", folder)
    assert code == 0 and out.startswith("kernel")


def test_replay_removes_what_is_not_faster(
    model: str, tuned: TunedKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = ((1.0, 1.1),) * 31
    monkeypatch.setattr(LocalRunner, "measured", lambda self, job, plans, turns: iter([Outcome(plans[0], slow)]))
    code, out, _ = told(model, "--replay", "-o", str(tmp_path))
    assert code == 0 and "1.100" in out and "removed" in out and not Path(tuned.path).exists()


def test_prune_removes_kernels_that_the_model_lacks(model: str, tuned: TunedKernel, tmp_path: Path) -> None:
    assert told(model, "--prune", "-o", str(tmp_path))[1].startswith("0 files")
    other = tmp_path / "other.mlir"
    other.write_text(str(product(columns=64)))
    assert told(str(other), "--prune", "-o", str(tmp_path))[1].startswith("1 files")
    assert not list(TunedFolder(tmp_path).all())


def test_merge_keeps_the_faster(tuned: TunedKernel, tmp_path: Path) -> None:
    from dataclasses import replace

    other = tmp_path / "other"
    replace(tuned, times=tuned.times._replace(tuned=8.0)).write(other)
    assert told("--merge", str(other), "-o", str(tmp_path))[1].startswith("1 files")
    assert read_tuned(Path(tuned.path)).times.tuned == 8.0
    assert told("--merge", str(other), "-o", str(tmp_path))[1].startswith("0 files")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "expected a model"),
        (["missing.onnx"], "missing.onnx"),
        (["--list", "-o", "missing"], "'missing' cannot be read"),
        (["{model}", "--bind", "n=8"], "--bind n=8: expected name:size"),
        (["{model}", "--target", "lvm"], "lvm"),
    ],
)
def test_bad_arguments_are_one_line(arguments: list[str], words: str, model: str) -> None:
    code, _, err = told(*(each.format(model=model) for each in arguments))
    assert code == 1 and words in err and err.startswith("relax-tune: error: ") and "Traceback" not in err


def test_a_scheduler_that_does_not_answer() -> None:
    with pytest.raises(rx.RelaxError, match=r"no Dask scheduler answers|needs the package distributed"):
        DaskRunner("tcp://127.0.0.1:9")
