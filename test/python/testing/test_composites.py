# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of a codegen's own patterns: modules that the patterns match, with each alternative once."""

from __future__ import annotations

import pytest
from partitioning import codegen
from relax_mlir.dialects.core.codec import decode
from relax_mlir.testing.checking import all_cases, check, subject_of
from relax_mlir.testing.core.cases import Case, Unmade
from relax_mlir.testing.pattern_trees import trees

import relax_mlir as rx
from relax_mlir.patterns import every, is_const, is_filled, is_op, wildcard

_conv, _add, _relu = is_op("relax.nn.conv2d"), is_op("relax.add"), is_op("relax.nn.relu")


def _cases(name: str) -> list[Case]:
    return all_cases(subject_of(name), ["composites"])


def _names(pattern: object) -> list[str]:
    return [each.name for each in trees(pattern)]  # type: ignore[arg-type]


def test_optional_parts_are_there_and_not() -> None:
    pattern = _conv(wildcard(), is_const()).optional(lambda y: _add(y, is_const())).optional(_relu)
    assert sorted(_names(pattern)) == ["nn.conv2d", "nn.conv2d+add", "nn.conv2d+add+nn.relu", "nn.conv2d+nn.relu"]


def test_each_alternative_is_in_one() -> None:
    assert _names(is_op("relax.exp", "relax.tanh")(wildcard()) | _relu(wildcard())) == ["exp", "nn.relu", "tanh"]
    repeated = wildcard().repeated(lambda y: is_op("relax.exp")(y), least=1)
    assert _names(repeated) == ["exp", "exp+exp", "exp+exp+exp"]
    assert _names(is_op("relax.concat")(every(wildcard, least=3))) == ["concat"]


def test_a_value_in_two_places_is_one() -> None:
    x = wildcard()
    (tree,) = trees(is_op("relax.multiply")(x, is_op("relax.sigmoid")(x)))
    sigmoid, multiply = tree.operators
    assert multiply.operands is not None and sigmoid.operands is not None
    assert multiply.operands["x1"] == sigmoid.operands["x"] and multiply.operands["x2"] == (sigmoid,)


def test_modules_are_such_as_the_pattern_wants() -> None:
    data = wildcard().has_rank(4).has_dtype("float16")
    pattern = _add(_conv(data, is_const()).has_attr(strides=(2, 2)), is_filled(1.0))
    with codegen([("npu.strided", pattern)]) as npu:
        (case,) = _cases(npu)
        setup = case.make(0)
        (main,) = [each for each in setup.module.operation.regions[0].blocks[0]]
        info = decode(main.regions[0].blocks[0].arguments[0].type)
        assert info.dtype == "f16" and info.rank == 4 and len(setup.calls[0]) == 1
        assert "strides = array<i64: 2, 2>" in str(setup.module)


def test_a_check_is_asked() -> None:
    pattern = is_op("relax.matmul")(wildcard(), wildcard())
    with codegen(
        [("npu.product", pattern, lambda match: len(match.root.result.type.shape) == 3 or "is no batch")]
    ) as npu:
        (case,) = _cases(npu)
        assert "tensor<2x3x5xf32>" in str(case.make(0).module)


def test_a_check_that_fails_is_said() -> None:
    with codegen([("npu.failing", is_op("relax.exp")(wildcard()), lambda match: match.nothing)]) as npu:
        report = check(npu, groups=["composites"], jobs=1)
    (verdict,) = report.verdicts
    assert verdict.verdict == "unchecked" and "pattern 'npu.failing'" in verdict.reason


def test_what_cannot_be_made_is_said_once() -> None:
    never = is_op("relax.exp", "relax.tanh")(wildcard()).where(lambda match: False, "never")
    with codegen([("npu.never", never)]) as npu:
        first, second = _cases(npu)
        with pytest.raises(Unmade, match=r"no module could be made that the pattern 'npu\.never' matches"):
            first.make(0)
        with pytest.raises(rx.RelaxError, match=r"no module could be made of npu\.never tanh"):
            second.make(0)
        report = check("npu", groups=["composites"], jobs=1)
    assert [(each.verdict, each.case) for each in report.verdicts] == [("unchecked", "npu.never exp")]


def test_one_operator_is_among_the_cases_of_operators() -> None:
    with codegen([("npu.exp", is_op("relax.exp"))]) as npu:
        assert not _cases(npu)


@pytest.mark.parametrize("name", ["example_npu", "dnnl"])
def test_patterns_of_codegens_are_made(name: str) -> None:
    cases = _cases(name)
    drawn = cases[:: max(len(cases) // 12, 1)]
    made = 0
    for case in drawn:
        try:
            made += bool(case.make(0).module.verify() is None)
        except rx.RelaxError:
            continue
    assert made >= 0.8 * len(drawn)
