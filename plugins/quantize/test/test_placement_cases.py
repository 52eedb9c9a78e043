# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Placements that tests of onnxruntime and NNCF expect."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from placement_cases import CASES
from placement_cases.case import Case
from relax_mlir import RelaxError

_RUN = [case for case in CASES if case.verdict in ("equal", "refused")]


@pytest.mark.slow
@pytest.mark.parametrize("case", _RUN, ids=lambda case: f"{case.suite}: {case.name}")
def test_placement(case: Case) -> None:
    if case.error:
        with pytest.raises(RelaxError) as error:
            case.quantized()
        assert case.error in str(error.value)
        return
    module, quantized, samples = case.quantized()
    found = case.found(quantized)
    assert found.types == dict(case.expected)
    for names in case.shares:
        assert len({str(found.scales[name]) for name in names}) == 1
    for name, (scale, zero) in case.scales.items():
        numpy.testing.assert_allclose(found.scales[name][0].astype(float), scale, rtol=1e-5)
        # Their zero point is computed in f32, ours in f64: ties differ. NumPy has no 4-bit integers.
        if found.scales[name][1] is not None:
            numpy.testing.assert_allclose(found.scales[name][1].astype(int), zero, atol=1)
    if case.near is not None:
        assert _error(module, quantized, samples) < case.near
    if case.exported:
        nodes = Counter(node.op_type for node in rx.to_onnx(quantized).graph.node)
        assert {name: nodes[name] for name in case.exported} == case.exported


def _error(module: rx.Module, quantized: rx.Module, samples: list[list[Any]]) -> float:
    ours, real = (rx.compile(each)["main"] for each in (quantized, module))
    pairs = [(ours(*sample), real(*sample)) for sample in samples]
    most = max(abs(expected.astype(float)).max() for _, expected in pairs)
    return float(max(abs(found.astype(float) - expected).max() for found, expected in pairs) / most)


def test_at_least_nine_of_ten_cases_are_equal() -> None:
    counts = Counter(case.verdict for case in CASES)
    assert counts["equal"] >= 0.9 * (len(CASES) - counts["refused"])


def test_names_are_unique() -> None:
    assert len({(case.suite, case.name) for case in CASES}) == len(CASES)
