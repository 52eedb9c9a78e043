# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MetaSchedule's search for operators of TVM's te_workload: the best schedule as a library, and times of all trials.

    build/models/env-metaschedule/bin/python bench/models/metaschedule.py build/metaschedule [GMM ...] [--trials 32]

Each operator is searched in a process of its own, which is ended after the time limit; the best schedule so far counts.
This file runs in an environment with TVM, without relax_mlir: MetaSchedule crashes with the version of apache-tvm-ffi
that relax_mlir needs. bench/tune.py reads the results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

OPERATORS = ("C1D", "C2D", "C3D", "GMM", "GRP", "DIL", "DEP", "T2D", "CAP", "NRM", "SFM", "CBR", "TBG")
#: Trials of a round. A new model of costs chooses the trials of the next round.
_ROUND = 8
#: Fewest schedules of a population that are drawn anew, as MetaSchedule has it for its population of 512.
_FEWEST_DRAWN = 50
#: Seconds that a build may take, beside other work on the machine.
_BUILD_S = 60.0
#: Seconds above which a recorded time means that a trial failed.
_FAILED = 1e6


class Searched(TypedDict):
    """Result of a search, as in its file."""

    operator: str
    cpu: str
    threads: int
    target: dict[str, Any]
    limit_minutes: float
    population: int
    seconds: float
    #: Seconds of a call for each trial, in order; None for a trial that failed.
    trials: list[float | None]
    problem: str


def result_file(folder: Path, operator: str) -> Path:
    return folder / f"{operator}.json"


def library_file(folder: Path, operator: str) -> Path:
    return folder / f"{operator}.so"


def read_results(folder: Path, cpu: str, threads: int) -> dict[str, Searched]:
    """Return the results of earlier searches on this CPU with as many threads."""
    found: dict[str, Searched] = {}
    for operator in OPERATORS:
        file = result_file(folder, operator)
        if file.exists():
            read: Searched = json.loads(file.read_text(encoding="utf-8"))
            if (read["cpu"], read["threads"]) == (cpu, threads):
                found[operator] = read
    return found


def search_all(python: str, folder: Path, operators: Sequence[str], options: Sequence[str]) -> None:
    """Run this file with another Python."""
    subprocess.run([python, __file__, str(folder), *operators, *options], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--trials", type=int, default=32)
    parser.add_argument("--minutes", type=float, default=2.0, help="time limit of an operator")
    parser.add_argument("--population", type=int, default=512, help="schedules that a round draws its trials from")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu", default="", help="name of the CPU, for the file of results")
    parser.add_argument("--step", choices=("search", "export"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step = search if options.step == "search" else export
        step(options)
        return
    for operator in options.operators or OPERATORS:
        _searched(options, operator)


def _searched(options: argparse.Namespace, operator: str) -> None:
    """Search an operator, export the best schedule, and write the result's file."""
    records = _records(options.folder, operator)
    shutil.rmtree(records, ignore_errors=True)
    records.mkdir(parents=True)
    for file in (result_file(options.folder, operator), library_file(options.folder, operator)):
        file.unlink(missing_ok=True)
    start = time.perf_counter()
    problem = _run_step(options, operator, "search", 60 * options.minutes)
    seconds = time.perf_counter() - start
    trials = _times(records / "database_tuning_record.json")
    if trials:
        problem = _run_step(options, operator, "export", 120) or problem
    result = Searched(
        operator=operator,
        cpu=options.cpu,
        threads=options.threads,
        target=target_of(options.threads),
        limit_minutes=options.minutes,
        population=options.population,
        seconds=seconds,
        trials=trials,
        problem=problem,
    )
    result_file(options.folder, operator).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    best = min((each for each in trials if each is not None), default=float("nan"))
    print(f"{operator}: {len(trials)} trials in {seconds:.0f} s, best {best * 1e3:.3f} ms {problem}", flush=True)


def _records(folder: Path, operator: str) -> Path:
    return folder / operator


def _run_step(options: argparse.Namespace, operator: str, step: str, limit: float) -> str:
    """Run a step in a process of its own. Return why it failed, or nothing."""
    command = [sys.executable, __file__, str(options.folder), operator, f"--step={step}"]
    command += [f"--trials={options.trials}", f"--threads={options.threads}", f"--population={options.population}"]
    environment = {**os.environ, "TVM_NUM_THREADS": str(options.threads)}
    with (_records(options.folder, operator) / f"{step}.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return f"{step} took more than {limit:.0f} s"
        finally:
            # The process has workers of its own, which its end does not end.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return f"{step} failed with exit code {code}" if code else ""


def _times(file: Path) -> list[float | None]:
    """Return the mean times of a database's records, in the order of the trials."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    runs: list[list[float] | None] = [json.loads(line)[1][1] for line in lines]
    means = [sum(each) / len(each) if each else None for each in runs]
    return [each if each is not None and each < _FAILED else None for each in means]


# ---- steps, in processes with TVM ----


def target_of(threads: int) -> dict[str, Any]:
    """Return TVM's target of this machine's CPU."""
    import tvm  # noqa: F401  # registers the function
    from tvm_ffi import get_global_func

    return {"kind": "llvm", "mcpu": str(get_global_func("target.llvm_get_system_cpu")()), "num-cores": threads}


def operator_of(name: str) -> Any:
    """Return the PrimFunc of an operator, of the first size."""
    from tvm.s_tir.meta_schedule.testing.te_workload import create_te_workload

    return create_te_workload(name, 0).with_attr("global_symbol", "main")


def import_intrinsics() -> None:
    """Import TVM's instructions of x86 only. MetaSchedule imports instructions of all devices: 30 to 75 s."""
    import importlib
    import types

    import tvm.s_tir

    name = "tvm.s_tir.tensor_intrin"
    package = types.ModuleType(name)
    package.__path__ = [str(Path(tvm.s_tir.__file__).parent / "tensor_intrin")]
    sys.modules[name] = package
    importlib.import_module(f"{name}.x86")


def build(module: Any, target: Any, parameters: Any = None) -> Any:
    """Build a scheduled module, in a worker. MetaSchedule's own function imports the instructions of all devices."""
    from tvm.driver import build as build_module
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

    return build_module(RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(module), target=target)


def search(options: argparse.Namespace) -> None:
    from tvm.s_tir import meta_schedule
    from tvm.target import Target

    import_intrinsics()
    (operator,) = options.operators
    meta_schedule.tune_tir(
        operator_of(operator),
        Target(target_of(options.threads)),
        str(_records(options.folder, operator)),
        options.trials,
        num_trials_per_iter=min(_ROUND, options.trials),
        builder=meta_schedule.builder.LocalBuilder(max_workers=options.threads, timeout_sec=_BUILD_S, f_build=build),
        strategy=meta_schedule.search_strategy.EvolutionarySearch(
            population_size=options.population, init_min_unmeasured=min(_FEWEST_DRAWN, options.population // 4)
        ),
        num_tuning_cores=options.threads,
        seed=0,
    )


def export(options: argparse.Namespace) -> None:
    from tvm.s_tir import meta_schedule
    from tvm.target import Target

    import_intrinsics()
    (operator,) = options.operators
    target = Target(target_of(options.threads))
    database = meta_schedule.database.JSONDatabase(work_dir=str(_records(options.folder, operator)))
    schedule = meta_schedule.tir_integration.compile_tir(database, operator_of(operator), target)
    build(schedule.mod, target).export_library(str(library_file(options.folder, operator)))


if __name__ == "__main__":
    main()
