# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of tuned kernels: lists, repeated measurements, removal of unused files, and files of other folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import relax_mlir as rx
from relax_mlir.passes.kernels.schedule.tuned_plans import TunedFolder, TunedKernel, read_tuned
from relax_mlir.support.plugins import named_plugins
from relax_mlir.targets.core.registry import parse_target

from .decisions import point_of
from .measuring import KernelJob
from .program import stages_of
from .runners import runner_for
from .search import FINAL_TURNS, is_faster
from .space import machine_of
from .tasks import tasks_of


def kernels_in(folder: Path) -> tuple[list[TunedKernel], list[str]]:
    """Return the tuned kernels of a folder, and a sentence for each file that cannot be used.

    Raises RelaxError if the folder cannot be read.
    """
    kernels, problems = [], []
    for path in TunedFolder(folder).paths():
        try:
            kernels.append(read_tuned(path))
        except rx.RelaxError as error:
            problems.append(error.message)
    return kernels, problems


def table_of(kernels: Iterable[TunedKernel]) -> str:
    """Return a line for each tuned kernel."""
    rows: list[tuple[str, ...]] = [("kernel", "key", "machine", "default us", "tuned us", "ratio", "CPU")]
    for kernel in sorted(kernels, key=lambda each: each.file_name):
        machine = f"{kernel.machine.architecture} {kernel.machine.vector_bytes * 8} bits"
        times = kernel.times
        ratio = f"{times.tuned / times.default:.3f} +- {times.noise:.3f}"
        rows.append(
            (kernel.kernel, kernel.key, machine, f"{times.default:.1f}", f"{times.tuned:.1f}", ratio, kernel.cpu)
        )
    return as_table(rows)


def as_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text with aligned columns, one line each."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def measured_again(
    folder: Path,
    module: rx.Module,
    target: str,
    bind: Mapping[str, int],
    sizes: Mapping[str, int],
    precision: str,
    threads: int,
    scheduler: str | None = None,
    board: str | None = None,
) -> str:
    """Measure the tuned kernels of a module again, and remove the files of slow ones.

    With a Dask scheduler, its workers measure, or workers with the name or tag `board`.
    """
    tuned, machine = TunedFolder(folder), machine_of(target)
    rows, runner = [("kernel", "ratio", "")], runner_for(scheduler, board)
    try:
        stages = stages_of(module, target, folder, bind, precision)
        for task in tasks_of(module, target, bind, precision, stages):
            try:
                kernel = tuned.find(task.key, machine, parse_target(target).name)
            except rx.RelaxError as error:
                rows.append((task.name, "-", error.message))
                continue
            if kernel is None:
                continue
            job = KernelJob(task.key, task.module.bytecode(), target, threads, tuple(sizes.items()), named_plugins())
            point = point_of(kernel.rule, kernel.decisions) if kernel.steps else kernel.plans
            (outcome,) = runner.measured(job, [point], FINAL_TURNS)
            if not (is_kept := is_faster(outcome)):
                Path(kernel.path).unlink()
            ratio = outcome.problem or f"{outcome.ratio:.3f}"
            rows.append((kernel.kernel, ratio, "kept" if is_kept else "removed"))
    finally:
        runner.close()
    return as_table(rows)


def pruned(
    folder: Path, module: rx.Module, target: str, bind: Mapping[str, int], precision: str
) -> tuple[int, list[str]]:
    """Remove files of kernels that a module does not have on a target. Return their number, and a sentence for each
    file that cannot be used."""
    both = None, stages_of(module, target, folder, bind, precision)
    keys = {task.key for stages in both for task in tasks_of(module, target, bind, precision, stages)}
    kernels, problems = kernels_in(folder)
    unused = [kernel for kernel in kernels if kernel.key not in keys]
    for kernel in unused:
        Path(kernel.path).unlink()
    return len(unused), problems


def merged(source: Path, folder: Path) -> tuple[int, list[str]]:
    """Add the files of another folder. Of two for a kernel and machine the faster one stays.

    Return the number of files, and a sentence for each file that cannot be used.
    """
    own, problems = kernels_in(folder) if folder.is_dir() else ([], [])
    others, more = kernels_in(source)
    known = {each.file_name: each for each in own}
    count = 0
    for kernel in others:
        other = known.get(kernel.file_name)
        if other is None or _ratio(kernel) < _ratio(other):
            kernel.write(folder)
            count += 1
    return count, problems + more


def _ratio(kernel: TunedKernel) -> float:
    return kernel.times.tuned / kernel.times.default
