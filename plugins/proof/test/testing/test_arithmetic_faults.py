# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planted faults of integer arithmetic: the kit finds each one, and names the pattern and the kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

import pytest
from arithmetic_faults import FAULTS, Fault
from relax_mlir_proof.testing.case_lists import all_cases
from relax_mlir_proof.testing.checking import subject_of
from relax_mlir_proof.testing.core.cases import Case
from relax_mlir_proof.testing.core.variants import EDGES
from relax_mlir_proof.testing.trial import tried
from relax_mlir_proof.testing.verdicts import Verdict

_EDGES = [each.name for each in EDGES if each.name not in ("one", "prime")]
#: Names of rows with padding.
_PADDED = (" by 2 padded ", " of channels last ")
CHIPS = sorted({fault.chip for fault in FAULTS})


@cache
def _cases(chip: str) -> dict[str, list[Case]]:
    """Return the cases at the edges of integers, by pattern: of the largest layer, or of rows with padding."""
    found: dict[str, list[Case]] = {}
    for case in all_cases(subject_of(chip), ["composites", "recipes"]):
        words = case.name.removesuffix(" quantized")
        edge = next((each for each in _EDGES if words.endswith(f" {each}")), None)
        if edge is not None and (any(each in words for each in _PADDED) or not case.subject.startswith("relax.")):
            found.setdefault(case.subject, []).append(case)
    return {subject: list(_first_trees(cases)) for subject, cases in found.items()}


def _first_trees(cases: Sequence[Case]) -> Iterator[Case]:
    """Yield the cases of the trees without relu and with at most one sum, and one of a tree with relu."""
    trees = list(dict.fromkeys(map(_tree, cases)))
    smaller = [each for each in trees if each.count("add") < 2] or trees
    plain = [each for each in smaller if "relu" not in each] or smaller
    for case in cases:
        if _tree(case) in plain or _tree(case) == smaller[-1] and case.variant == "uneven scales":
            yield case


def _tree(case: Case) -> str:
    """Return the operators of a case. Trees of the same operators have numbers."""
    _, tree, word, *_ = case.name.split(" ")
    return f"{tree} {word}" if word.isdecimal() else tree


def _faults_of(chip: str, subjects: Sequence[str]) -> list[Verdict]:
    subject = subject_of(chip)
    verdicts = [tried(subject, case, 0) for each in subjects for case in _cases(chip)[each]]
    return [each for each in verdicts if each is not None and each.is_fault]


@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
def test_a_right_chip_is_not_accused(chip: str) -> None:
    cases = [case for each in _cases(chip).values() for case in each]
    verdicts = [tried(subject_of(chip), case, 0) for case in cases]
    assert not [each for each in verdicts if each is not None and each.is_fault]
    right = {each.case.split(" ")[0] for each in verdicts if each is not None and each.verdict == "right"}
    assert right >= {fault.operator for fault in FAULTS if fault.chip == chip}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.chip}: {fault.name}")
def test_a_fault_is_named(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    place = fault.place if isinstance(fault.place, dict) else vars(fault.place)
    monkeypatch.setitem(place, fault.key, fault.wrong(place[fault.key]))
    found = _faults_of(fault.chip, [fault.operator])
    assert found, "no case found the fault"
    kinds = Counter(each.kind for each in found)
    assert kinds.most_common(1)[0][0] == fault.kind, "\n".join(f"{each.case}: {each.reason}" for each in found)
