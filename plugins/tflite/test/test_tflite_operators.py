# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each operator of TFLite on random numbers, beside TFLite's interpreter."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from tflite_cases import Case, together
from tflite_elements import CASES as ELEMENTS
from tflite_model import interpreted, written
from tflite_movement import CASES as MOVEMENT
from tflite_networks import CASES as NETWORKS

CASES = [*ELEMENTS, *MOVEMENT, *NETWORKS]
#: Cases are one model.
_AT_ONCE = 40
_GROUPS = [CASES[start : start + _AT_ONCE] for start in range(0, len(CASES), _AT_ONCE)]
#: Operators that are tested in models of their own: they need subgraphs, states, more than one of their kind.
_ELSEWHERE = {
    "ASSIGN_VARIABLE", "CALL", "CALL_ONCE", "COMPLEX_ABS", "DENSIFY", "IF", "IMAG", "READ_VARIABLE", "REAL", "RFFT2D",
    "STABLEHLO_COMPOSITE", "VAR_HANDLE", "WHILE",
}  # fmt: skip


@pytest.mark.parametrize("group", range(len(_GROUPS)))
def test_operators(group: int) -> None:
    cases = _GROUPS[group]
    subgraph = together(cases)
    model = written(subgraph)
    random = numpy.random.default_rng(20261126)
    given = [subgraph.tensors[place].drawn(random) for place in subgraph.inputs]
    expected = iter(interpreted(model, given))
    made = iter(rx.compile(rx.from_tflite(model))["main"](*given))
    problems = [problem for each in cases for problem in _problems(each, made, expected)]
    assert not problems, "\n".join(problems)


def _problems(case: Case, made: object, expected: object) -> list[str]:
    found = []
    for place in case.model.outputs:
        one, other = numpy.asarray(next(made)), next(expected)  # type: ignore[call-overload]
        tensor = case.model.tensors[place]
        try:
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            if tensor.quantized is not None:
                numpy.testing.assert_allclose(one.astype("int64"), other.astype("int64"), rtol=0, atol=case.steps)
            else:
                limit = case.tolerance if one.dtype.kind == "f" else 0
                numpy.testing.assert_allclose(one, other, rtol=limit, atol=limit)
        except AssertionError as error:
            found.append(f"{case.name}: {error}")
    return found


def test_every_operator_has_a_case() -> None:
    from relax_mlir_tflite.registry import CONVERTERS

    tested = {operator.op for case in CASES for operator in case.model.operators}
    assert {each.name for each in CONVERTERS.all() if each.name.isupper()} - tested == _ELSEWHERE
