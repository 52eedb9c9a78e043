# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of tools/dev/check_subjects.py."""

from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ("passes/graph/fuse: keep producers with two consumers apart", ""),
        ("refactor: split the schedule of loops", ""),
        ("plugins/{dnnl,blas}: state fingerprints", ""),
        ("keep producers apart", "expected an area"),
        ("passes/graph/fuse: keep producers apart.", "expected an area"),
        ("passes/graph/fuse:keep producers apart", "expected an area"),
        (f"passes: {'a' * 65}", "73 characters, expected at most 72"),
    ],
)
def test_problem_of_a_subject(subject: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools" / "dev"))
    from check_subjects import problem_of

    assert problem_of(subject).startswith(problem) and bool(problem_of(subject)) == bool(problem)
