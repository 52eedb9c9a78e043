# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators without a converter: torch decomposes them one by one, and the rest of the program stays unchanged."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from imported import check
from relax_mlir_torch.registry import find_converter
from torch.nn import functional


@pytest.fixture(autouse=True)
def _whole_programs_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the whole program is decomposed")

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", refuse)


#: Functions by the operator that they use and that has no converter.
FUNCTIONS: dict[str, Callable[[torch.Tensor], object]] = {
    "aten::block_diag": lambda x: torch.block_diag(x, x * 2).sum(0),
    "aten::binary_cross_entropy_with_logits": lambda x: functional.binary_cross_entropy_with_logits(x, x.abs()),
    "aten::cosine_similarity": lambda x: functional.cosine_similarity(x, x.flip(0)),
    "aten::diagflat": lambda x: torch.diagflat(x[0]),
    "aten::fft_fft": lambda x: torch.view_as_real(torch.fft.fft(x)),
    "aten::eye": lambda x: torch.eye(x.shape[0], x.shape[1]) + x,
    "aten::vander": lambda x: torch.vander(x[0], 3),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("operator", FUNCTIONS)
def test_single_nodes(operator: str, dynamic: bool) -> None:
    assert find_converter(operator) is None
    others = [[torch.randn(7, 5)]] if dynamic else []
    check(FUNCTIONS[operator], torch.randn(4, 5), dynamic=dynamic, others=others)


def test_several_results_of_which_some_are_read() -> None:
    assert find_converter("aten::_batch_norm_no_update") is None
    norm = torch.ops.aten._batch_norm_no_update
    check(lambda x: norm(x, x[1], x[2], x[0], x[0].abs(), 0.1, 1e-5)[0], torch.randn(4, 5))
