# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own cases imported, exported and run by onnxruntime: all of them without RELAX_MLIR_DRAW, else a few."""

from __future__ import annotations

import random
import re
from pathlib import Path

import example_counts
import known_failures
import model_suites
import node_suite
import pytest
from export_round_trip import round_trip
from node_suite import Case
from onnx_oracle import is_old_refusal

import relax_mlir as rx

_NOT_EXPORTED = Path(__file__).parent / "not_exported.txt"
_PARTS = 40
# Of a part, where not all runs.
_FEW = 12
_NEEDED = re.compile(r"ask for it \(opset=(\d+)\)")
#: The error for an operator that onnxruntime has no kernel for, in any version.
_NOT_IMPLEMENTED = "NOT_IMPLEMENTED"


def _cases(part: int) -> list[Case]:
    """Return a part of the cases that can be imported."""
    listed = {**known_failures.read(), **known_failures.read(_NOT_EXPORTED)}
    chosen = [case for case in node_suite.cases(all=True)[part::_PARTS] if case.name not in listed]
    if example_counts.DRAW:
        chosen = random.Random(f"{example_counts.DRAW} {part}").sample(chosen, _FEW)
    return [case for case in chosen if _is_importable(case)]


def _is_importable(case: Case) -> bool:
    """Check whether a case can be imported: sequences of unknown length and optionals would have to be declared."""
    kinds = {each.type.WhichOneof("value") for each in case.model.graph.input}
    return not kinds & {"sequence_type", "optional_type"}


def _problem(case: Case, opset: int) -> str:
    try:
        _in_version(case, opset)
    except Exception as error:  # whatever is wrong is reported, with the case's name
        return "" if is_old_refusal(error) else f"{case.name} (opset {opset}): {type(error).__name__}: {error}"
    return ""


def _in_version(case: Case, opset: int) -> None:
    """Export in the version that the error names, if it names one."""
    try:
        round_trip(case, opset)
    except rx.RelaxError as error:
        needed = _NEEDED.search(str(error))
        if needed is None:
            raise
        _run_if_implemented(case, int(needed[1]))


def _run_if_implemented(case: Case, opset: int) -> None:
    try:
        round_trip(case, opset)
    except Exception as error:
        if _NOT_IMPLEMENTED not in str(error):
            raise


@pytest.mark.parametrize("part", range(_PARTS))
def test_round_trips(part: int) -> None:
    found = [_problem(case, 21) for case in _cases(part)]
    assert not any(found), "\n".join(filter(None, found))


@pytest.mark.slow
@pytest.mark.parametrize("opset", [20, 23, 26])
def test_other_versions(opset: int) -> None:
    """Export operators of newer versions, and operators that older versions lack."""
    found = [_problem_of_newer(case, opset) for case in _cases(opset)]
    assert not any(found), "\n".join(filter(None, found))


def _problem_of_newer(case: Case, opset: int) -> str:
    problem = _problem(case, opset)
    return "" if _NOT_IMPLEMENTED in problem else problem


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pytorch-operator", "pytorch-converted", "light"])
def test_other_suites(kind: str) -> None:
    """Export well-known networks with constant weights, and an exporter's output for torch's layers."""
    found = [_problem(case, 21) for case in model_suites.cases_of(kind)]
    assert not any(found), "\n".join(filter(None, found))


def test_the_list_is_of_cases_and_sorted() -> None:
    listed = list(known_failures.read(_NOT_EXPORTED))
    assert listed == sorted(listed)
    assert not set(listed) - {case.name for case in node_suite.cases(all=True)}
    assert not set(listed) & set(known_failures.read()), "what is not imported is listed there"
