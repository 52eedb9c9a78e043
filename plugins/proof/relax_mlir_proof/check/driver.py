# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver of relax-check: runs the cases with progress, and prints and writes the report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from relax_mlir.support.errors import OptionError
from relax_mlir.support.files import write_whole
from relax_mlir.support.plugins import load_plugin
from relax_mlir.tools.common.command_line import Arguments, write_text
from relax_mlir.tools.opt.information import shows_information

from ..testing.case_lists import all_cases, is_chosen
from ..testing.checking import check, subject_of
from ..testing.page import page
from ..testing.report import Report
from ..testing.verdicts import Verdict
from .options import HELP_HEAD, OPTIONS, parse

_REPORTED_EVERY = 2.0


def start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool and return the exit code. Raise RelaxError."""
    arguments = parse(argv)
    if shows_information(arguments, stdout, "relax-check", HELP_HEAD, OPTIONS, has_mlir=True):
        return 0
    for name in arguments["load-plugin"] or ():
        load_plugin(name)
    name, only, groups = arguments.files[0], arguments["only"] or (), arguments["groups"] or ()
    if arguments["list"]:
        cases = (
            listed_case.name
            for listed_case in all_cases(subject_of(name, arguments["target"]), groups)
            if is_chosen(listed_case, only)
        )
        write_text(stdout, "".join(f"{case}\n" for case in cases))
        return 0
    older = _older(arguments["baseline"])
    progress = _Progress(None if arguments["q"] else stderr)
    try:
        report = check(
            name,
            target=arguments["target"],
            only=only,
            groups=groups,
            share=arguments["share"],
            draw=arguments["draw"],
            seed=arguments["seed"],
            jobs=arguments["j"],
            limit=arguments["limit"],
            seconds=arguments["time-limit"],
            tolerance=arguments["tolerance"],
            timed=arguments["time"],
            same_bits=arguments["same-bits"],
            schedules=arguments["schedules"],
            keep=arguments["keep"],
            cases=arguments["case"] or (),
            scheduler=arguments["scheduler"],
            told=lambda sentence: stderr.write(f"relax-check: warning: {sentence}\n"),
            progress=progress,
        )
    except KeyboardInterrupt:  # what was found until now is worth a report
        subject = subject_of(name, arguments["target"])
        left_out = {"interrupted": progress.count - len(progress.verdicts)}
        _tell(Report(subject, arguments["seed"], progress.verdicts, left_out=left_out), None, arguments, stdout)
        raise
    return _tell(report, older, arguments, stdout)


def _tell(report: Report, older: Report | None, arguments: Arguments, stdout: TextIO) -> int:
    if arguments["json"] is not None:
        write_whole(arguments["json"], report.to_json().encode())
    write_text(stdout, f"{report}\n")
    if arguments["html"] is not None:
        write_whole(arguments["html"], page(report).encode())
    if older is None:
        is_unchecked = bool(report.never_run) or not report.verdicts
        return 1 if report.faults or is_unchecked and not arguments["allow-unchecked"] else 0
    worse = report.worse_than(older)
    lines = [f"worse than in {arguments['baseline']}: {len(worse)} cases", *worse]
    write_text(stdout, "".join(f"{line}\n" for line in lines))
    return 1 if worse else 0


def _older(path: str | None) -> Report | None:
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            return Report.from_json(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read the baseline '{path}': {error}") from None


class _Progress:
    """Verdicts, and progress on standard error: faults at once, and the number of finished cases from time to time."""

    def __init__(self, stderr: TextIO | None) -> None:
        self._stderr = stderr
        self.verdicts: list[Verdict] = []
        #: Number of all cases.
        self.count = 0
        self._counts: Counter[str] = Counter()
        self._start = self._last = time.monotonic()

    def __call__(self, verdict: Verdict, done: int, count: int) -> None:
        self.verdicts.append(verdict)
        self.count = count
        self._counts[verdict.verdict] += 1
        if self._stderr is None:
            return
        if verdict.is_fault:
            again = f" (again: {verdict.again})" if verdict.again else ""
            self._stderr.write(f"{verdict.verdict}: {verdict.case}: {verdict.reason}{again}\n")
        now = time.monotonic()
        if now - self._last >= _REPORTED_EVERY or done == count:
            self._last = now
            counts = ", ".join(f"{number} {name}" for name, number in self._counts.most_common())
            self._stderr.write(f"{done} of {count} cases in {now - self._start:.0f} s: {counts}\n")
        self._stderr.flush()
