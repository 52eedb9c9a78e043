# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of torch's optimizers, compiled, compared with eager mode. Every node of a step is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn, optim

#: Optimizers with options. Parameters are of two sizes, so lists of tensors have several elements.
_OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "SGD": lambda p: optim.SGD(p, 0.1),
    "SGD nesterov": lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "SGD single": lambda p: optim.SGD(p, 0.1, momentum=0.9, dampening=0.1, foreach=False),
    "Adam": lambda p: optim.Adam(p, 0.01),
    "Adam amsgrad": lambda p: optim.Adam(p, 0.01, amsgrad=True, weight_decay=0.1),
    "Adam with a tensor": lambda p: optim.Adam(p, torch.tensor(0.01), foreach=False),
    "Adam fused": lambda p: optim.Adam(p, 0.01, fused=True),
    "Adam maximize": lambda p: optim.Adam(p, 0.01, maximize=True, foreach=False),
    "AdamW": lambda p: optim.AdamW(p, 0.01),
    "AdamW single": lambda p: optim.AdamW(p, 0.01, foreach=False),
    "Adamax": lambda p: optim.Adamax(p, 0.01),
    "NAdam": lambda p: optim.NAdam(p, 0.01),
    "RAdam": lambda p: optim.RAdam(p, 0.01),
    "Adadelta": lambda p: optim.Adadelta(p, 1.0),
    "Adagrad": lambda p: optim.Adagrad(p, 0.05, lr_decay=0.1),
    "RMSprop": lambda p: optim.RMSprop(p, 0.01, momentum=0.5, centered=True),
    "Rprop": lambda p: optim.Rprop(p, 0.01),
    "ASGD": lambda p: optim.ASGD(p, 0.05),
    "Muon": lambda p: optim.Muon([each for each in p if each.dim() == 2], 0.05),
}
_STEPS = 20


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _losses(name: str, compiles: bool) -> list[float]:
    """Return the losses of a small model in some steps of training."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    x, y = torch.randn(16, 5), torch.randn(16, 3)
    optimizer = _OPTIMIZERS[name](list(model.parameters()))
    options: Any = {"fallback": "error"}
    step = torch.compile(optimizer.step, backend="relax_mlir", options=options) if compiles else optimizer.step
    found = []
    for _ in range(_STEPS):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        step()
        found.append(loss.item())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", _OPTIMIZERS)
def test_losses_of_compiled_steps(name: str) -> None:
    precision = 1e-2 if name == "Muon" else 1e-3  # Muon computes products in bf16
    torch.testing.assert_close(_losses(name, compiles=True), _losses(name, compiles=False), rtol=precision, atol=1e-5)


_LISTS: dict[str, Callable[..., Any]] = {
    "addcmul": lambda a, b, c: torch._foreach_addcmul(a, b, c, value=0.5),
    "addcmul of numbers": lambda a, b, c: torch._foreach_addcmul(a, b, c, [0.5, 2.0]),
    "addcdiv": lambda a, b, c: torch._foreach_addcdiv(a, b, c, value=-0.5),
    "addcdiv of numbers": lambda a, b, c: torch._foreach_addcdiv(a, b, c, [0.5, -2.0]),
    "norm": lambda a, b, c: torch._foreach_norm(a),
    "norm 1": lambda a, b, c: torch._foreach_norm(a, 1),
    "norm in f64": lambda a, b, c: torch._foreach_norm(a, 2, torch.float64),
}


@pytest.mark.parametrize("name", _LISTS)
def test_operators_on_lists(name: str) -> None:
    torch.manual_seed(0)
    given = [[torch.rand(size) + 0.5 for size in ((3,), (2, 4))] for _ in range(3)]
    compiled = torch.compile(_LISTS[name], backend="relax_mlir", options={"fallback": "error"})
    for ours, theirs in zip(compiled(*given), _LISTS[name](*given), strict=True):
        torch.testing.assert_close(ours, theirs)
