# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of operators: each operator has cases, each row gives one, and drawn elements follow the row."""

from __future__ import annotations

import pkgutil
from collections import Counter
from random import Random

import numpy
import pytest
import relax_mlir as rx
from relax_mlir.dialects.relax.dialect import relax
from relax_mlir.targets.default.legalize_decompositions import WITHOUT_LOOPS
from relax_mlir_proof.testing import operators
from relax_mlir_proof.testing.case_lists import all_cases
from relax_mlir_proof.testing.checking import check, subject_of
from relax_mlir_proof.testing.core.rows import CLASSES, LETTERS, cases_of, row
from relax_mlir_proof.testing.fitting import all_rows

_FAMILIES = [each.name for each in pkgutil.iter_modules(operators.__path__)]


#: Decompositions that only LAPACK computes. Of eigh and svd, values are unique.
_WITHOUT_ROWS = {*WITHOUT_LOOPS} - {"relax.linalg.eigh", "relax.linalg.svd"}


def test_each_operator_that_computes_has_rows() -> None:
    computing = {
        name
        for name, each in relax.ops.items()
        if each.role not in ("call", "effect", "literal") and not name.startswith("grad.")
    }
    computing -= {name.removeprefix("relax.") for name in _WITHOUT_ROWS}
    assert computing == {each.op.removeprefix("relax.") for each in all_rows()}


def test_names_of_cases_are_theirs_alone() -> None:
    names = Counter(each.name for each in all_cases(subject_of("llvm"), ["operators"]))
    assert names.total() >= 600
    assert names.most_common(1)[0][1] == 1


@pytest.mark.slow
@pytest.mark.parametrize("family", _FAMILIES)
def test_each_row_gives_a_case(family: str) -> None:
    for each in all_rows([family]):
        assert any(_is_made(case) for case in cases_of(each)), each


def _is_made(case: object) -> bool:
    try:
        setup = case.make(0)  # type: ignore[attr-defined]
    except rx.RelaxError:
        return False
    setup.module.verify()
    return True


def test_the_same_seed_gives_the_same_elements() -> None:
    (case,) = [each for each in cases_of(row("add", "n,m:F n,m:F")) if each.name == "relax.add f32"]
    one, other, third = case.make(1).calls, case.make(1).calls, case.make(2).calls
    assert all(map(numpy.array_equal, one[0], other[0]))
    assert not numpy.array_equal(one[0][0], third[0][0])


def test_only_rows_without_a_name_have_all_types() -> None:
    """Check that further rows of an operator have only the first type of their class and the first integer type."""
    for types, expected in (("F", {"f32"}), ("A", {"f32", "i32"}), ("I", {"i32"})):
        operands = f"n,m:{types}"
        named, unnamed = (list(cases_of(row("abs", operands, name))) for name in ("other", ""))
        assert {each.name.split()[1] for each in named} == expected
        assert {each.name.split()[1] for each in unnamed} == set(CLASSES[types])


def test_dynamic_cases_are_called_with_several_sizes() -> None:
    (case,) = [each for each in cases_of(row("exp", "n,m:F")) if each.name == "relax.exp f32 dynamic"]
    shapes = [call[0].shape for call in case.make(0).calls]
    assert (LETTERS["n"], LETTERS["m"]) in shapes and (1, 1) in shapes and (0, LETTERS["m"]) in shapes


def test_elements_are_what_the_row_says() -> None:
    case, *_ = cases_of(row("take", "n,m:F 9:i64[-n,n]!", axis=0))
    module = str(case.make(0).module)
    assert "relax.const" in module or "arith.constant" in module
    case, *_ = cases_of(row("bucketize", "n,m:F 4:F^"))
    boundaries = case.make(0).calls[0][1]
    assert numpy.array_equal(boundaries, numpy.sort(boundaries))


def test_an_index_of_nothing_is_no_case() -> None:
    cases = {each.name: each for each in cases_of(row("take", "n,m:F 4:i64[0,n]", axis=0))}
    with pytest.raises(rx.RelaxError, match=r"there is no element from 0\.0 to below 0\.0"):
        cases["relax.take f32 empty n"].make(0)


@pytest.mark.slow
@pytest.mark.parametrize("subject", ["llvm", "example_npu"])
def test_a_draw_is_right(subject: str) -> None:
    names = [each.name for each in all_cases(subject_of(subject))]
    report = check(subject, only=Random(subject).sample(names, 20), jobs=2, limit=300)
    assert not report.faults, str(report)
