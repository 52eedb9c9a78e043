# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of tuned programs in a folder: lists, repeated measurements, removal, and files of other folders."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import relax_mlir as rx
from relax_mlir.compilation.tuned_programs import TunedProgram, find_program, program_key, program_paths, read_program
from relax_mlir.support.plugins import named_plugins

from .program import all_choices, fitted
from .program_measuring import ProgramJob, measure_program
from .program_search import LIMIT_S, imports_of
from .runners import LocalRunner
from .search import FINAL_TURNS, is_faster


def list_programs(options: argparse.Namespace, folder: Path, stdout: TextIO, stderr: TextIO) -> None:
    """List the tuned programs of a folder, or add the programs of another folder."""
    if not options.list and options.merge is None:
        return
    programs, problems = programs_in(folder)
    if options.list:
        stdout.write(programs_table(programs))
    else:
        others, more = programs_in(Path(options.merge))
        problems += more
        if added := merge_programs(others, programs, folder):
            stdout.write(f"{added} files of programs added to {folder}\n")
    for problem in problems:
        stderr.write(f"relax-tune: warning: {problem}\n")


def check_programs(
    options: argparse.Namespace,
    folder: Path,
    module: rx.Module,
    bind: Mapping[str, int],
    sizes: Mapping[str, int],
    stdout: TextIO,
) -> None:
    """Measure a module's tuned program again, or remove the files of other programs."""
    if not (options.replay or options.prune):
        return
    program = fitted(module, options.target, bind)
    key = program_key(program.operation, options.target, options.precision)
    if options.prune:
        if removed := prune_programs(folder, key):
            stdout.write(f"{removed} files of programs removed from {folder}\n")
        return
    if (tuned_program := find_program(folder, key, options.target)) is not None:
        job = ProgramJob(
            *(key, program.bytecode(), options.target, options.threads, tuple(sizes.items()), named_plugins()),
            precision=options.precision,
            inexact=tuned_program.inexact,
            imports=imports_of(all_choices(), options.target),
        )
        stdout.write(_measured_again(tuned_program, job))


def programs_in(folder: Path) -> tuple[list[TunedProgram], list[str]]:
    """Return the tuned programs of a folder, and a sentence for each file that cannot be used."""
    programs, problems = [], []
    for path in program_paths(folder):
        try:
            programs.append(read_program(path))
        except rx.RelaxError as error:
            problems.append(error.message)
    return programs, problems


def programs_table(programs: Iterable[TunedProgram]) -> str:
    """Return a line for each tuned program, and a line for each of its edits."""
    lines = []
    for program in programs:
        times = program.times
        ratio = f"{times.tuned / times.default:.3f} +- {times.noise:.3f}"
        exact = ", inexact" if program.inexact else ""
        sizes = f"{program.machine.architecture} {program.machine.vector_bytes * 8} bits"
        lines.append(
            f"program {program.program}  {program.key}  {program.target}, {sizes}  {ratio}{exact}  {program.cpu}"
        )
        lines += [f"  {edit}" for edit in program.edits]
    return "".join(f"{line}\n" for line in lines)


def _measured_again(program: TunedProgram, job: ProgramJob) -> str:
    """Measure a program again, and remove its file if it is not faster. Return a line."""
    runner = LocalRunner(LIMIT_S, measure_program)
    with tempfile.TemporaryDirectory() as cache:
        try:
            (outcome,) = runner.measured(replace(job, cache=cache), [program.edits], FINAL_TURNS)
        finally:
            runner.close()
    if not (is_kept := is_faster(outcome)):
        Path(program.path).unlink()
    ratio = outcome.problem or f"{outcome.ratio:.3f}"
    return f"program {program.program}  {ratio}  {'kept' if is_kept else 'removed'}\n"


def prune_programs(folder: Path, key: str) -> int:
    """Remove the files of programs with another key. Return their number."""
    unused = [tuned_program for tuned_program in programs_in(folder)[0] if tuned_program.key != key]
    for program in unused:
        Path(program.path).unlink()
    return len(unused)


def merge_programs(others: Iterable[TunedProgram], own: Iterable[TunedProgram], folder: Path) -> int:
    """Add programs to a folder. Of two for a program and machine the faster one stays. Return their number."""
    known = {tuned_program.file_name: tuned_program for tuned_program in own}
    added = [tuned_program for tuned_program in others if _is_faster(tuned_program, known.get(tuned_program.file_name))]
    for program in added:
        program.write(folder)
    return len(added)


def _is_faster(one: TunedProgram, other: TunedProgram | None) -> bool:
    return other is None or one.times.tuned / one.times.default < other.times.tuned / other.times.default
