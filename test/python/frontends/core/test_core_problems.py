# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Problems of an import in a front end's terms, with versions of operators and without."""

from __future__ import annotations

import pytest
from relax_mlir.frontends.core.problems import Problem, Problems, Words

import relax_mlir as rx


def _problems(words: Words, version: int | None) -> Problems:
    problems = Problems(words)
    for place in ("a.py:1", "a.py:2"):
        problems.add(Problem(place, "aten.sort.stable", version, "stable", "is not known"))
    return problems


def test_a_table_in_other_words() -> None:
    with pytest.raises(rx.RelaxError) as caught:
        _problems(Words("call", "the program", "argument"), None).check()
    assert str(caught.value).splitlines() == [
        "2 calls of the program cannot be imported:",
        "operator          calls  first call  argument  reason",
        "aten.sort.stable  2      a.py:1      stable    is not known",
    ]


@pytest.mark.parametrize(("version", "named"), [("", "aten.sort.stable"), ("opset", "aten.sort.stable, opset 13")])
def test_paragraphs_in_other_words(version: str, named: str) -> None:
    problems = _problems(Words("call", "the program", "argument", version), 13 if version else None)
    text = problems.table(50)
    assert " ".join(text.split()) == (f"{named}: 2 calls, the first is 'a.py:1' argument 'stable': is not known")
    assert all(len(line) <= 50 for line in text.splitlines())
