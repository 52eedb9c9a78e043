# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of samples of an entry together, and separately after a failure."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from op_comparison import Expected, difference, expected_of, with_updates
from op_entries import DTYPES, USUAL_LIMIT, Entry, Sample
from op_gradients import NothingCompiled, as_step, trained_program
from op_modules import SamplesFailed, exported
from op_peers import Exported, Peer, Refused, Run

#: Verdicts, the worst first. A failure of torch's own export or run is no failure of this project.
VERDICTS = ("error", "wrong", "refused", "not exported", "left out", "passes")
_LONGEST_REASON = 160


class Verdict(NamedTuple):
    """Verdict of a sample."""

    verdict: str
    reason: str = ""
    #: Its arguments, where the verdict is an error or wrong.
    sample: str = ""


class Case(NamedTuple):
    place: int
    sample: Sample
    expected: Expected


class Check:
    """Checks of one entry, dtype and mode."""

    def __init__(self, entry: Entry, dtype: str, mode: str, peer: Peer, known: Collection[str] = ()):
        """Prepare a check.

        `known` are reasons for which all samples of another dtype or mode were refused individually.
        """
        self._entry = entry
        self._known = known
        self._dtype = dtype
        self._is_dynamic = mode == "dynamic"
        self._is_trained = mode == "gradients"
        self._peer = peer
        self._found: dict[int, Verdict] = {}

    def run(self, places: Iterable[int] | None = None, limit: int = USUAL_LIMIT) -> dict[int, Verdict]:
        """Return verdicts by the sample's place, for all samples without `places`."""
        try:
            samples = self._entry.samples(DTYPES[self._dtype], limit, self._is_trained)
        except Exception as error:  # of whatever kind: torch makes none of this type
            return {0: Verdict("left out", f"torch raises {_line(error)}")}
        if self._is_trained:
            samples = [as_step(sample) for sample in samples]
        chosen = [place for place in (range(limit) if places is None else places) if place < len(samples)]
        self._together([case for place in chosen if (case := self._case(place, samples[place]))])
        return {place: self._found[place] for place in chosen}

    def _case(self, place: int, sample: Sample) -> Case | None:
        try:
            sample = with_updates(sample)
            expected = expected_of(self._entry, sample)
        except Exception as error:  # of whatever kind
            self._found[place] = Verdict("left out", f"torch raises {_line(error)}")
            return None
        if not expected.results:
            self._found[place] = Verdict("left out", "no result is a tensor")
            return None
        return Case(place, sample, expected)

    def _together(self, cases: list[Case]) -> None:
        """Export, import, compile and run the cases as one module. Separate them after a failure."""
        if not cases:
            return
        try:
            imported = self._imported(cases)
        except SamplesFailed as failed:
            for place, error in failed.errors.items():
                self._note(cases[place], _NotExported(_line(error)))
            self._together([case for place, case in enumerate(cases) if place not in failed.errors])
        except (_NotExported, Refused) as error:
            self._alone(cases, error)
        except Exception as error:  # a bug, of whatever kind
            self._halves(cases, error)
        else:
            self._compared(cases, imported)

    def _alone(self, cases: list[Case], error: Exception) -> None:
        """Import each case by itself, which is quick, and compile the accepted ones as one module."""
        if len(cases) == 1 or _verdict(error, "").reason in self._known:
            for case in cases:
                self._note(case, error)
            return
        taken = [case for case in cases if self._is_taken(case)]
        if len(taken) == len(cases):
            self._halves(cases, error)
        else:
            self._together(taken)

    def _imported(self, cases: list[Case]) -> object:
        try:
            program = self._program(cases)
        except SamplesFailed:
            raise
        except Exception as error:  # of whatever kind
            raise _NotExported(_line(error)) from error
        return program if self._is_trained else self._peer.imported(program)

    def _program(self, cases: list[Case]) -> torch.export.ExportedProgram:
        samples = [case.sample for case in cases]
        return trained_program(samples) if self._is_trained else exported(samples, self._is_dynamic)

    def _is_taken(self, case: Case) -> bool:
        """Check whether a case can be imported by itself, and record its verdict otherwise."""
        try:
            self._imported([case])
        except SamplesFailed as failed:
            self._note(case, _NotExported(_line(failed.errors[0])))
        except Exception as error:  # of whatever kind
            self._note(case, error)
        else:
            return True
        return False

    def _compared(self, cases: list[Case], imported: object) -> None:
        tensors = [tensor.clone() for case in cases for tensor in case.sample.tensors]
        try:
            results = list(self._run_of(self._peer, cases, imported)(tensors))
            counts = [len(case.expected.results) for case in cases]
            if len(results) != sum(counts):
                raise ValueError(f"{len(results)} results, torch has {sum(counts)}")
        except Exception as error:  # of whatever kind
            self._halves(cases, error)
            return
        for case, count in zip(cases, counts, strict=True):
            own, results = results[:count], results[count:]
            found = difference(self._entry, case.sample, case.expected, own)
            if found:
                of_torch = self._of_torch(case)
                wrong = Verdict("wrong", found, str(case.sample))
                self._found[case.place] = _verdict(of_torch, "") if of_torch else wrong
            else:
                self._found[case.place] = Verdict("passes")

    def _run_of(self, peer: Peer, cases: list[Case], imported: Any) -> Run:
        if not self._is_trained:
            return peer.compiled(imported)
        return peer.trained(imported, [len(case.sample.tensors) for case in cases])

    def _halves(self, cases: list[Case], error: Exception) -> None:
        if len(cases) == 1:
            self._note(cases[0], self._of_torch(cases[0]) or error)
            return
        middle = len(cases) // 2
        self._together(cases[:middle])
        self._together(cases[middle:])

    def _of_torch(self, case: Case) -> Exception | None:
        """Return an error of the program that torch has exported, which every user of the program gets."""
        tensors = [tensor.clone() for tensor in case.sample.tensors]
        peer = Exported()
        try:
            program = self._program([case])
            imported = program if self._is_trained else peer.imported(program)
            results = self._run_of(peer, [case], imported)(tensors)
        except Exception as error:  # of whatever kind
            return _NotExported(f"the program raises {_line(error)}")
        found = difference(self._entry, case.sample, case.expected, results)
        return _NotExported(f"the program gives something else: {found}") if found else None

    def _note(self, case: Case, error: Exception) -> None:
        self._found[case.place] = _verdict(error, str(case.sample))


def reasons_for_all(verdicts: Mapping[int, Verdict]) -> set[str]:
    """Return the reasons if all samples are refused, or nothing."""
    if any(verdict.verdict != "refused" for verdict in verdicts.values()):
        return set()
    return {verdict.reason for verdict in verdicts.values()}


class _NotExported(Exception):
    pass


def _verdict(error: Exception, sample: str) -> Verdict:
    if isinstance(error, _NotExported):
        return Verdict("not exported", str(error))
    if isinstance(error, Refused):
        return Verdict("refused", _cut(str(error)))
    if isinstance(error, NothingCompiled):
        return Verdict("left out", str(error))
    return Verdict("error", f"{_line(error)} ({_place(error)})", sample)


def _line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    return _cut(f"{type(error).__name__}: {lines[0]}")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "no place"


def without_noise() -> None:
    """Use one thread, and suppress torch's warnings, which it emits for most samples."""
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
