# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trials of placements: regions and whole programs, each measured once and kept in the folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import relax_mlir as rx
from relax_mlir.compilation.claimed_regions import module_key
from relax_mlir.passes.graph.partition.codegen import parse_codegen
from relax_mlir.passes.graph.partition.placement import MeasuredPlacement, PlacedMatch

from .measuring import Outcome
from .placement_trials import MeasuredRows, PlacementChoice, PlacementJob, measure_choices
from .runners import LocalRunner, TrialLost
from .trials import Trials

_KEY_BYTES = 8
#: Largest error of results with other options, relative to the error with the stated options.
_MORE_ERROR, _LEAST_ERROR = 2.0, 1e-6


@dataclass(frozen=True)
class Candidate:
    """MeasuredPlacement of a model that may be measured. Without matches it is the target by itself."""

    name: str
    codegens: tuple[str, ...] = ()
    matches: tuple[PlacedMatch, ...] = ()
    #: Owners of the pieces that the placement was made from.
    owners: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        matches = [match[:4] for match in self.matches]
        return _hash([self.codegens, matches, *map(_fingerprint, self.codegens)])


class Meter:
    """Measures regions and placements of one model in a process of their own."""

    def __init__(self, job: PlacementJob, empty: MeasuredPlacement, folder: Path, scratch: Path, runner: LocalRunner):
        """Open the trials of a folder. Files of placements are written to `scratch`."""
        self.job, self.folder = job, folder
        self._empty, self._scratch, self._runner = empty, scratch, runner
        self._trials = Trials(folder, f"{empty.cpu} x{job.threads}")
        #: Names of the tuned kernels, which programs use.
        self._tuned = " ".join(sorted(path.name for path in folder.glob("*.json"))) if job.tuned else ""
        self._key = _hash([empty.model, job.target, job.sizes, self._tuned])

    @property
    def problems(self) -> list[str]:
        return [*filter(None, [self._trials.problem])]

    def close(self) -> None:
        self._trials.close()

    def placement(self, candidate: Candidate) -> MeasuredPlacement:
        """Return the placement of a candidate, without times."""
        if not candidate.matches:
            return self._empty
        return replace(self._empty, codegens=candidate.codegens, matches=candidate.matches)

    def region(self, module: rx.Module, codegen: str, turns: int) -> Outcome:
        """Return the times of a region by the target, and by a codegen with its borders."""
        job = replace(self.job, module=module.bytecode(), precision="f32", bind=())
        key = module_key(module.operation, self.job.target, self._tuned)
        choices = PlacementChoice(), PlacementChoice((codegen,))
        return self._measure(job, key, choices, (codegen, _fingerprint(codegen)), turns)

    def pair(self, base: Candidate, candidate: Candidate, turns: int, *, is_as_exact: bool = False) -> Outcome:
        """Return the times of two programs. With `is_as_exact`, the second one may not be less exact."""
        plans = (base.digest, candidate.digest, "exact" if is_as_exact else "")
        choices = self._choice(base), self._choice(candidate)
        return self._measure(self.job, self._key, choices, plans, turns, is_as_exact=is_as_exact)

    def rows(self, candidates: Sequence[Candidate], turns: int) -> MeasuredRows:
        """Return the times of several programs in turns."""
        return self._run(self.job, [self._choice(candidate) for candidate in candidates], turns)

    def _choice(self, candidate: Candidate) -> PlacementChoice:
        if not candidate.matches:
            return PlacementChoice()
        path = self.placement(candidate).write(self._scratch, f"{candidate.digest}.placement")
        return PlacementChoice(candidate.codegens, str(path))

    def _measure(
        self,
        job: PlacementJob,
        key: str,
        choices: Sequence[PlacementChoice],
        plans: tuple[str, ...],
        turns: int,
        *,
        is_as_exact: bool = False,
    ) -> Outcome:
        known = self._trials.known(key).get(plans)
        if known is not None and len(known.turns) >= turns:
            return known
        rows = self._run(job, choices, turns)
        problem, pairs = rows.problem, tuple((one, other) for one, other in rows.turns)
        if is_as_exact and not problem and rows.errors[1] > _MORE_ERROR * rows.errors[0] + _LEAST_ERROR:
            problem, pairs = "the results are less exact", ()
        outcome = Outcome(plans, pairs, problem, rows.is_wrong, rows.seconds)
        self._trials.add(key, "placement", outcome)
        return outcome

    def _run(self, job: PlacementJob, choices: Sequence[PlacementChoice], turns: int) -> MeasuredRows:
        # A new process imports the compiler, which is no time of a candidate.
        self._runner.start(job.threads, measure_choices, job, [PlacementChoice()], 1)
        try:
            return self._runner.call(job.threads, measure_choices, job, choices, turns)
        except TrialLost as lost:
            return MeasuredRows(problem=str(lost))


def _hash(parts: object) -> str:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=_KEY_BYTES).hexdigest()


def _fingerprint(codegen: str) -> str:
    """Return the version of a codegen's code, or "" if the codegen does not tell it."""
    chosen = parse_codegen(codegen)
    try:
        return chosen.codegen().fingerprint(chosen.values)
    except Exception:  # users' code; the compilation reports its errors
        return ""
