# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures as torch computes them: imported as they are, with sizes left open, and by torch.compile.

All of them in one run, with times: bench/torch_models.py.
"""

from __future__ import annotations

import copy

import pytest
import torch
from model_zoo import ZOO, apart, built, dynamic_shapes
from relax_mlir.compilation.torch_compile import torch_backend

import relax_mlir as rx

#: Those that are tested each time: small, one of each kind.
_ALWAYS = ("transformers Bert", "transformers Qwen2", "diffusion block", "detector of dynamic sizes", "recurrent",
           "spectral", "graph network")  # fmt: skip
_CASES = [name if name in _ALWAYS else pytest.param(name, marks=pytest.mark.slow) for name in ZOO]
_TOLERANCE = 1e-4


@pytest.mark.parametrize("name", _CASES)
def test_models(name: str) -> None:
    case = built(name)
    model, kwargs = case.model, dict(case.kwargs)
    with torch.no_grad():
        wanted = copy.deepcopy(model)(*case.args, **kwargs)
        assert (
            apart(rx.compile(rx.from_torch(model, case.args, kwargs))["main"](*case.args, **kwargs), wanted)
            < _TOLERANCE
        )
        shapes = dynamic_shapes(case)
        if shapes is not None:
            module = rx.from_torch(model, case.args, kwargs, dynamic_shapes=shapes)
            assert apart(rx.compile(module)["main"](*case.args, **kwargs), wanted) < _TOLERANCE
        torch._dynamo.reset()
        compiled = torch.compile(copy.deepcopy(model), backend=torch_backend)
        assert apart(compiled(*case.args, **kwargs), wanted) < _TOLERANCE
