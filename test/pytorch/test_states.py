# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers that a model changes: arguments and results of its program, and buffers of rx.to_torch's module."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import relax_mlir as rx


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))
        self.inner = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps.add_(1)
        return self.inner(x) * self.steps


def test_buffers_that_change_are_arguments_and_results() -> None:
    model, x = Counter(), torch.randn(3, 4)
    main = rx.compile(rx.from_torch(model, (x,)))["main"]
    steps = torch.zeros(())
    for expected in (1.0, 2.0):
        result, steps = main(x, steps=steps)
        assert steps.item() == expected
        torch.testing.assert_close(result, model.inner(x) * expected)


def test_to_torch_keeps_state() -> None:
    model, x = Counter(), torch.randn(3, 4)
    executable = rx.compile(rx.from_torch(model, (x,)))
    module = rx.to_torch(executable, states={"steps": model.steps})
    for expected in (1.0, 2.0):
        torch.testing.assert_close(module(x), model.inner(x) * expected)
    assert dict(module.named_buffers())["steps"].item() == 2.0
    with pytest.raises(rx.OptionError, match="no argument 'step'; there are x, steps"):
        rx.to_torch(executable, states={"step": model.steps})


class Cache(nn.Module):
    """Two buffers of one shape that a call changes, in another order than their names, and one that it reads."""

    def __init__(self, order: str) -> None:
        super().__init__()
        for name in order:
            self.register_buffer(name, torch.ones(2) if name == "c" else torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.v.add_(x * 2)
        self.k.add_(x * self.c)
        return self.k - 3 * self.v


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("order", ["kvc", "vkc", "cvk"])
def test_states_are_kept_by_name(order: str, strict: bool) -> None:
    model, x = Cache(order), torch.ones(2)
    executable = rx.compile(rx.from_torch(torch.export.export(Cache(order), (x,), strict=strict)))
    module = rx.to_torch(executable, states=dict(model.named_buffers()))
    for number in (1.0, 2.0, 5.0):
        torch.testing.assert_close(module(x * number), model(x * number))
    for name, buffer in module.named_buffers():
        torch.testing.assert_close(buffer, model.get_buffer(name))
    message = r"'main' expected the state 'v' as float32\[2\], "
    with pytest.raises(rx.OptionError, match=f"{message}which is missing; got k"):
        rx.to_torch(executable, states={"k": model.k})
    for other, text in ((torch.ones(3), r"float32\[3\]"), (torch.ones(2, dtype=torch.int32), r"int32\[2\]")):
        with pytest.raises(rx.OptionError, match=f"{message}got {text}"):
            rx.to_torch(executable, states={"k": model.k, "v": other})


@pytest.mark.parametrize("results", [1, 2])
def test_states_that_no_call_changes(results: int) -> None:
    """Keep parameters as states. Calls of the models change no buffer, or another one."""

    class Layer(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
            found = super().forward(x)
            return found if results == 1 else (found, found + 1)

    x = torch.randn(2, 4)
    for model in (Layer(4, 2), Counter()):
        executable = rx.compile(rx.from_torch(model, (x,), keep_params=True))
        states = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        module = rx.to_torch(executable, states={name: each.detach() for name, each in states.items()})
        for _ in range(2):
            torch.testing.assert_close(module(x), model(x))


def test_complex_states() -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(2, dtype=torch.complex64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.total.add_(x) * 2

    model, x = Sum(), torch.randn(2, dtype=torch.complex64)
    module = rx.to_torch(rx.compile(rx.from_torch(Sum(), (x,))), states={"total": model.total})
    for _ in range(2):
        torch.testing.assert_close(module(x), model(x))


def test_changed_arguments_follow_the_result() -> None:
    class Both(Counter):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = super().forward(x)
            x.add_(1)
            return y

    model, x = Both(), torch.randn(3, 4)
    module = rx.to_torch(rx.compile(rx.from_torch(model, (x.clone(),))), states={"steps": model.steps})
    found, changed = module(x)
    torch.testing.assert_close(changed, x + 1)
    torch.testing.assert_close(found, model(x.clone()))


def test_results_without_names() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2,))}) as f:
        f.returns(rx.relax.negative(*f))
    assert rx.to_torch(rx.compile(module))(torch.ones(2)).tolist() == [-1, -1]
