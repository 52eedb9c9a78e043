# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures against torch: imported with static and dynamic sizes, and by torch.compile.

All of them in one run: suite.py torch-models; with times: bench/torch_models.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from model_checks import TOLERANCE, WAYS
from model_zoo import ZOO, built

#: Architectures that each run tests: small, one of each kind.
_ALWAYS = ("transformers Bert", "transformers Qwen2", "diffusion block", "detector of dynamic sizes", "recurrent",
           "spectral", "graph network")  # fmt: skip
_LIST = Path(__file__).with_name("models_not_passing.txt")
_NOT_PASSING = {line.partition(":")[0] for line in _LIST.read_text().splitlines() if not line.startswith("#")}
_CASES = [name if name in _ALWAYS else pytest.param(name, marks=pytest.mark.slow) for name in ZOO]


@pytest.mark.parametrize("name", _CASES)
def test_models(name: str) -> None:
    case = built(name)
    with torch.no_grad():
        errors = {way: check(case) for way, check in WAYS.items() if f"{name}/{way}" not in _NOT_PASSING}
    assert {way: error for way, error in errors.items() if error is not None and not error < TOLERANCE} == {}
