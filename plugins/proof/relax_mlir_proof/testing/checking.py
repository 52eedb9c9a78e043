# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conformance check of a codegen or a target, `rx.testing.check("mynpu")`: all cases, each in its own process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from relax_mlir.passes.graph.partition.codegen import all_codegens, find_codegen
from relax_mlir.support.errors import OptionError
from relax_mlir.support.plugins import load_plugins
from relax_mlir.support.suggest import suggest
from relax_mlir.targets.core.registry import all_targets

from . import isolated
from .case_lists import all_cases, cases_by_pattern, in_rounds, is_chosen, named_operators, preload
from .core.cases import Case, seeded
from .kept_cases import keep_case, kept_case
from .report import Report
from .trial import CHECKED, WITHOUT_MEMORY, Subject, makes_sources, tried
from .verdicts import ABSENT, Verdict

#: Callback for each verdict, with the number of finished cases and of all cases.
Progress = Callable[[Verdict, int, int], None]
_PATIENCE = 60.0
#: Factor of the time limit with `same_bits`: a case has this many programs.
_PROGRAMS = 8


def check(
    name: str,
    *,
    target: str | None = None,
    only: Iterable[str] = (),
    groups: Iterable[str] = (),
    share: float = 1.0,
    draw: int = 0,
    seed: int = 0,
    jobs: int | None = None,
    limit: float = _PATIENCE,
    seconds: float | None = None,
    tolerance: float | None = None,
    timed: bool = False,
    same_bits: bool = False,
    schedules: int = 0,
    keep: str | None = None,
    cases: Sequence[str] = (),
    scheduler: str | None = None,
    told: Callable[[str], object] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Check a codegen or a target on all cases. Return a report of the verdicts.

    A codegen is checked with `target` (llvm by default) for the rest of the program. There is both a codegen `c` and a
    target `c`. `check("c")` means the codegen, `check("c", target="c")` the target.

    `only` has patterns of case names ("relax.nn.conv2d*"). `groups` are some of composites, recipes, operators,
    models and graphs. Without both, operators that no pattern of a codegen names are left out. A `share` of the cases,
    such as 0.1, is drawn by the number `draw`.

    Each case runs in its own process, `jobs` at once, for at most `limit` seconds, with `same_bits` for eight times
    that. Cases of all patterns take turns. After `seconds` no more cases start, and the report says how many were left
    out. Results are compared with the reference's. They may differ by rounding, and by `tolerance` times the largest
    number of a result. An operator that a codegen does not take is no fault.

    With `same_bits`, the check compares bits instead of the reference: of repeated calls, other numbers of threads,
    code for other CPUs, and other batches. A codegen has to declare `same_bits`. `schedules` is the number of random
    schedules of each kernel that are compared as well, for llvm and its children. They are drawn by `seed`.

    With `keep`, the case of each fault is written to its own folder: module, inputs, expected results. `cases` are such
    folders, which are run instead of all other cases.

    With the address of a Dask `scheduler`, its workers run the cases, as many at once as they have threads. `told` gets
    a sentence for each worker that gets no cases.
    """
    if schedules and not same_bits:
        raise OptionError("schedules are compared with same_bits=True only")
    subject = subject_of(name, target)._replace(
        tolerance=tolerance, is_timed=timed, compares_bits=same_bits, schedule_count=schedules
    )
    if same_bits:
        _check_declared(subject)
    if cases:
        chosen, left_out = [kept_case(path) for path in cases], dict[str, int]()
    else:
        chosen, left_out = _drawn(subject, list(groups), list(only), share, draw)
    run = _CheckRun(subject, seed, limit, keep, progress, scheduler, cases, told)
    verdicts = list(run.verdicts(chosen, jobs, seconds))
    if len(verdicts) < len(chosen):
        left_out["the time was up"] = len(chosen) - len(verdicts)
    is_judged = not cases and share == 1.0
    never = _never_run(subject, chosen, verdicts, not (only or groups)) if is_judged else {}
    return Report(subject, seed, verdicts, never, left_out)


def _never_run(subject: Subject, chosen: Sequence[Case], verdicts: Sequence[Verdict], is_whole: bool) -> dict[str, str]:
    """Return the patterns of a codegen that ran none of their cases, with the first reason.

    A pattern with some of its cases chosen counts if none of these has a module.
    """
    names, found = {listed_case.name for listed_case in chosen}, {}
    for pattern, cases in cases_by_pattern(subject).items():
        own = [verdict for verdict in verdicts if verdict.case in cases]
        has_run = any(verdict.taken or verdict.is_fault for verdict in own)
        if has_run or not (cases & names or is_whole and not cases):
            continue
        if cases <= names or all(verdict.verdict == ABSENT for verdict in own):
            reason = next((verdict.reason for verdict in own if verdict.reason), "")
            found[pattern] = reason or ("none of its cases began" if cases and not own else "no module could be made")
    return found


def _drawn(
    subject: Subject, groups: Sequence[str], only: Sequence[str], share: float, draw: int
) -> tuple[list[Case], dict[str, int]]:
    """Return the cases in the order of execution, and numbers of cases that are left out, by reason."""
    if not (cases := [case for case in all_cases(subject, groups) if is_chosen(case, only)]):
        raise OptionError(f"no case is called {' or '.join(only)}: names begin with an operator, 'relax.nn.conv2d*'")
    named, left_out = named_operators(subject), {}
    if named is not None and not (groups or only):
        kept = [case for case in cases if case.group != "operators" or case.subject in named]
        if len(kept) < len(cases):
            left_out["operators that no pattern names; --groups=operators runs them"] = len(cases) - len(kept)
        cases = kept
    return in_rounds(subject, [case for case in cases if seeded(case.name, draw).random() < share]), left_out


def subject_of(name: str, target: str | None = None) -> Subject:
    """The codegen of a name, or the target, with options, `mynpu{cores=4}`. Raises OptionError for others."""
    codegens, targets = ([each.name for each in found] for found in (all_codegens(), all_targets()))
    plain = name.partition("{")[0]
    if target == name and plain in targets:
        return Subject(name, target=name)
    if plain in codegens:
        if target is not None and makes_sources(target):
            raise OptionError(f"target '{target}' generates source files, which codegens do not support")
        return Subject(name, target or "llvm", codegens=(name,))
    if plain in targets:
        return Subject(name, target=name)
    for kind in ("codegen", "target"):  # tells why an installed package of this name cannot be imported
        load_plugins(kind, plain)
    listed = ", ".join((*codegens, *targets))
    raise OptionError(f"no codegen or target '{name}'{suggest(name, [*codegens, *targets])}; there are {listed}")


def _check_declared(subject: Subject) -> None:
    """Raise OptionError for a codegen that does not declare `same_bits`."""
    for name in subject.codegens:
        plain = name.partition("{")[0]
        if not find_codegen(plain).same_bits:
            raise OptionError(
                f"codegen '{plain}' does not declare same_bits: set `same_bits = True` in its class if its results do "
                "not depend on threads and batches"
            )


class _CheckRun(NamedTuple):
    """One check of a subject, with the settings for its cases."""

    subject: Subject
    seed: int
    limit: float
    #: Folder for the cases of faults.
    keep: str | None
    progress: Progress | None
    scheduler: str | None = None
    #: Folders of the cases, if they are kept ones.
    folders: Sequence[str] = ()
    told: Callable[[str], object] | None = None

    @property
    def _limit(self) -> float:
        programs = _PROGRAMS + self.subject.schedule_count if self.subject.compares_bits else 1
        return self.limit * programs

    def verdicts(self, cases: Sequence[Case], jobs: int | None, seconds: float | None) -> Iterator[Verdict]:
        """Run the cases, each in a process that may die, and return their verdicts as they come."""
        end = None if seconds is None else time.monotonic() + seconds
        found = self._run_on_workers(cases, end) if self.scheduler else self._run_in_processes(cases, jobs, end)
        for done, (index, verdict) in enumerate(found, 1):
            told = self._tell(verdict, cases[index])
            if self.progress is not None:
                self.progress(told, done, len(cases))
            yield told

    def _run_in_processes(
        self, cases: Sequence[Case], jobs: int | None, end: float | None
    ) -> Iterator[tuple[int, Verdict]]:
        preload(self.subject.target)
        queue = iter([(index,) for index in range(len(cases))])
        for (index,), verdict in isolated.run(
            lambda index: tried(self.subject, cases[index], self.seed),
            *(queue, jobs or len(os.sched_getaffinity(0)), end, self._limit, _make_crash_verdict),
        ):
            yield index, verdict

    def _run_on_workers(self, cases: Sequence[Case], end: float | None) -> Iterator[tuple[int, Verdict]]:
        from . import cluster, remote_cases

        queue = remote_cases.arguments_of(self.subject, cases, self.folders, self.seed)
        for (_, case, _), verdict in cluster.run(
            *(remote_cases.try_case, queue, 1, end, self._limit, _make_crash_verdict),
            scheduler=self.scheduler,
            prepare=remote_cases.prepare,
            told=self.told,
        ):
            yield case.place, verdict

    def _tell(self, verdict: Verdict, case: Case) -> Verdict:
        """Return the verdict with its case's name, and keep the case of a fault."""
        named = _named(verdict, case)
        if self.keep is None or not named.is_fault:
            return named
        kept = keep_case(self.subject, case, self.seed, self.keep, self.limit)
        return named._replace(kept=kept.folder, again=kept.command)


def verdict_of(subject: Subject, case: Case, seed: int, limit: float = _PATIENCE) -> Verdict:
    """Run one case in its own process."""
    preload(subject.target)
    return _named(isolated.alone(lambda: tried(subject, case, seed), limit, _make_crash_verdict), case)


def _named(verdict: Verdict, case: Case) -> Verdict:
    return verdict if verdict.case else verdict._replace(case=case.name, group=case.group)


def _make_crash_verdict(cause: str, phase: int) -> Verdict:
    """Return the verdict of a process that died. The caller adds the case's name."""
    if phase == WITHOUT_MEMORY:
        return Verdict("", "", "no memory", f"without memory, {cause}")
    if phase != CHECKED:
        return Verdict("", "", "unchecked", f"the reference: {cause}")
    return Verdict("", "", "hang" if "no result" in cause else "crash", cause)
