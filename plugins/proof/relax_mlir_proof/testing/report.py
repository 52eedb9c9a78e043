# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports of checks: tables, JSON, and comparison with an older report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from relax_mlir.dialects.core.infos import DTYPE_BY_NAME
from relax_mlir.support.errors import OptionError
from relax_mlir.support.registry import table
from relax_mlir.support.suggest import counted
from relax_mlir.support.version import VERSION

from .trial import Subject
from .verdicts import ABSENT, FAULTS, VERDICTS, WITHIN_STEPS, Error, Verdict

FORMAT_VERSION = 1
#: Reasons that a report lists for cases without a module.
_MOST_REASONS = 5


class Report:
    """Verdicts of the cases of a codegen or a target."""

    def __init__(
        self,
        subject: Subject,
        seed: int,
        verdicts: Sequence[Verdict],
        never_run: Mapping[str, str] = MappingProxyType({}),
        left_out: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.subject = subject
        #: Patterns of the codegen and layers of its recipe that computed none of their cases, and the reason.
        self.never_run = dict(never_run)
        #: Numbers of cases that did not run, by reason.
        self.left_out = dict(left_out)
        self.seed = seed
        found = [verdict for verdict in verdicts if verdict.verdict != ABSENT]
        self.verdicts = sorted(found, key=lambda each: (VERDICTS.index(each.verdict), each.case))
        #: Cases that have no module, with the reason.
        self.absent = [verdict for verdict in verdicts if verdict.verdict == ABSENT]

    @property
    def faults(self) -> list[Verdict]:
        """The faults, the worst first."""
        return [verdict for verdict in self.verdicts if verdict.is_fault]

    @property
    def is_right(self) -> bool:
        """Check that a case is right, none is a fault, and each pattern ran."""
        return not self.faults and not self.never_run and any(verdict.verdict == "right" for verdict in self.verdicts)

    def __str__(self) -> str:
        return "\n".join([self.summary(), "", self.support_table(), *self._problems()])

    def __repr__(self) -> str:
        return f"<check of {self.subject.name}: {self.summary()}>"

    def summary(self) -> str:
        """Return a line with the number of cases per verdict."""
        counts = Counter(verdict.verdict for verdict in self.verdicts)
        parts = [f"{counts[verdict]} {verdict}" for verdict in reversed(VERDICTS) if counts[verdict]]
        others = [f"{counted(len(self.absent), 'other')} without a module"] if self.absent else []
        listed = "; ".join([", ".join(parts) or "none ran", *others])
        return f"{self.subject.name}: {len(self.verdicts)} cases: {listed} (seed {self.seed})"

    def support_rows(self) -> list[Sequence[str]]:
        """Return a row per operator, pattern and model: cases taken and right, and the errors."""
        subjects: dict[str, list[Verdict]] = {}
        for verdict in sorted(self.verdicts, key=lambda each: each.case):
            subjects.setdefault(verdict.case.partition(" ")[0], []).append(verdict)
        # A target takes all cases. The column counts cases in which the target's own rules took an operator or a
        # kernel.
        taken = "own rules" if self.subject.name == self.subject.target else "not taken"
        rows: list[Sequence[str]] = [
            ("", "cases", "right", taken, "wrong", "deviates", "types", "largest error", "time")
        ]
        return rows + [_row(name, subject, taken) for name, subject in subjects.items()]

    def support_table(self) -> str:
        """Return the rows as text."""
        return table(*self.support_rows())

    def _problems(self) -> list[str]:
        lines = [_fault(fault) for fault in self.faults]
        others = (verdict for verdict in self.verdicts if verdict.verdict in ("deviates", "refused", "unchecked"))
        counts = Counter((each.verdict, each.reason) for each in others)
        lines += [f"\n{verdict} ({count}): {reason}" for (verdict, reason), count in counts.most_common()]
        lines += [f"\nnever run: {name}: {reason}" for name, reason in self.never_run.items()]
        lines += [f"\nleft out ({count}): {reason}" for reason, count in self.left_out.items()]
        reasons = Counter(each.reason for each in self.absent).most_common(_MOST_REASONS)
        lines += [f"\nwithout a module ({count}): {reason}" for reason, count in reasons]
        near = sum(verdict.verdict == "right" and verdict.reason.endswith(WITHIN_STEPS) for verdict in self.verdicts)
        return lines + ([f"\nright ({near}): up to 1 step away: {WITHIN_STEPS}"] if near else []) + self._kinds()

    def _kinds(self) -> list[str]:
        """Return a line for each pattern or operator with the kinds of its wrong integers."""
        kinds: dict[str, Counter[str]] = {}
        for fault in self.faults:
            if fault.kind:
                kinds.setdefault(fault.case.partition(" ")[0], Counter())[fault.kind] += 1
        lines = []
        for name, found in kinds.items():
            parts = (f"{kind} in {counted(count, 'case')}" for kind, count in found.most_common())
            lines.append(f"\n{name}: {', '.join(parts)}")
        return lines

    def to_json(self) -> str:
        """Return all verdicts as JSON, for comparison with `--baseline`."""
        rows = [verdict._asdict() | {"error": verdict.error and verdict.error._asdict()} for verdict in self.verdicts]
        return json.dumps(
            {"format": FORMAT_VERSION, "version": VERSION, "subject": self.subject.name, "target": self.subject.target,
             "seed": self.seed, "cases": rows, "absent": {each.case: each.reason for each in self.absent},
             "left_out": self.left_out, "never_run": self.never_run}, indent=1
        )  # fmt: skip

    @staticmethod
    def from_json(text: str) -> Report:
        """Parse a report of `to_json`. Raise OptionError for anything else."""
        try:
            data: Mapping[str, Any] = json.loads(text)
            verdicts = [
                Verdict(**{**row, "error": Error(**row["error"]) if row["error"] else None}) for row in data["cases"]
            ]
            return Report(Subject(data["subject"], data["target"]), data["seed"], verdicts)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise OptionError(f"this is no report of relax-check: {error}") from None

    def worse_than(self, older: Report) -> list[str]:
        """Describe regressions: new faults, and cases that are no longer taken."""
        before = {each.case: each for each in older.verdicts}
        lines = []
        for verdict in self.verdicts:
            if (was := before.get(verdict.case)) is None or was.verdict == verdict.verdict:
                continue
            if verdict.is_fault and not was.is_fault or was.verdict == "right":
                lines.append(f"{verdict.case}: {verdict.verdict}, was {was.verdict}: {verdict.reason}")
        return lines


def _fault(verdict: Verdict) -> str:
    """Return the lines of a fault: its description, and the command that runs its case again."""
    call = f"call {verdict.call + 1}: " if verdict.call else ""
    again = f"\n  again: {verdict.again}" if verdict.again else ""
    return f"\n{verdict.verdict}: {verdict.case}: {call}{verdict.reason}{again}"


def type_of(verdict: Verdict) -> str:
    """Return the element type of an operator's case, or an empty text."""
    _, _, rest = verdict.case.partition(" ")
    word = rest.partition(" ")[0]
    return word if word in DTYPE_BY_NAME.values() else ""


def _row(name: str, verdicts: Sequence[Verdict], taken: str) -> Sequence[str]:
    right = [verdict for verdict in verdicts if verdict.verdict == "right"]
    counts = [
        len(verdicts), len(right),
        sum(verdict.taken > 0 if taken == "own rules" else verdict.verdict == "not taken" for verdict in verdicts),
        sum(verdict.verdict in FAULTS for verdict in verdicts),
        sum(verdict.verdict == "deviates" for verdict in verdicts),
    ]  # fmt: skip
    errors = [verdict.error for verdict in right if verdict.error is not None]
    worst = max((error.ulp for error in errors), default=0.0)
    types = dict.fromkeys(filter(None, (type_of(verdict) for verdict in right if verdict.group == "operators")))
    ratios = [
        verdict.seconds / verdict.target_seconds for verdict in right if verdict.seconds and verdict.target_seconds
    ]
    time = f"{min(ratios):.2f}" if ratios else ""
    return (name, *map(str, counts), " ".join(types), f"{worst:.3g} ulp" if worst else "0" if errors else "", time)
