# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of a call through torch.compile(backend="relax_mlir"): changed parameters, numbers, threads."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from relax_mlir_torch.compile import torch_compile
from relax_mlir_torch.compile.torch_compile import torch_backend
from torch import nn

import relax_mlir as rx


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by one with each compilation."""
    found: list[int] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        found.append(len(found))
        return compiled(*arguments, **options)

    compiled = torch_compile.compile
    monkeypatch.setattr(torch_compile, "compile", counted)
    return found


def _other_memory(model: nn.Linear) -> None:
    model.weight.data = torch.randn(3, 4)


def _a_vector(model: nn.Linear) -> None:
    nn.utils.vector_to_parameters(torch.randn(15), model.parameters())


def _memory_that_was_free(model: nn.Linear) -> None:
    """Release the old memory before the allocation of the new one, repeatedly, until both have the same address."""
    address = model.weight.data_ptr()
    model.weight.data = torch.empty(0)
    model.weight.data = next((each for each in [torch.randn(3, 4) for _ in range(8)] if each.data_ptr() == address),
                             torch.randn(3, 4))  # fmt: skip


def _add(model: nn.Linear) -> None:
    model.weight.add_(1)


def _set(model: nn.Linear) -> None:
    model.bias.set_(torch.randn(3))


def _load(model: nn.Linear) -> None:
    model.load_state_dict({name: each * 2 for name, each in model.state_dict().items()})


def _another(model: nn.Linear) -> None:
    model.bias = nn.Parameter(torch.randn(3))


def _exchanged(model: nn.Linear) -> None:
    """Swap two addresses, so that the sum of all addresses stays."""
    model.weight.data, other.weight.data = other.weight.data, model.weight.data


other = nn.Linear(4, 3)
CHANGES = [_other_memory, _a_vector, _memory_that_was_free, _add, _set, _load, _another, _exchanged]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_parameters_is_seen(change: Callable[[nn.Linear], None], compilations: list[int]) -> None:
    model = nn.Linear(4, 3).eval()
    called, x = torch.compile(model, backend=torch_backend), torch.randn(2, 4)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(called(x), model(x))
        change(model)
        for _ in range(2):
            torch.testing.assert_close(called(x), model(x))
    assert len(compilations) == 2


def test_frequently_changed_parameters_become_arguments(compilations: list[int]) -> None:
    model = nn.Linear(4, 3).eval()
    called, x = torch.compile(model, backend=torch_backend), torch.randn(2, 4)
    with torch.no_grad():
        for _ in range(6):
            torch.testing.assert_close(called(x), model(x))
            model.weight.data = torch.randn(3, 4)
    assert len(compilations) == 3


def test_models_of_one_class_share_a_graph() -> None:
    models = [nn.Linear(4, 3).eval() for _ in range(4)]
    called = [torch.compile(each, backend=torch_backend) for each in models]
    x = torch.randn(2, 4)
    with torch.no_grad():
        for _ in range(2):
            for one, model in zip(called, models, strict=True):
                torch.testing.assert_close(one(x), model(x))


@pytest.mark.parametrize("called_in", [torch.inference_mode, torch.no_grad])
def test_parameters_without_versions(called_in: Any) -> None:
    """Call a model that was made in inference mode."""
    with torch.inference_mode():
        model = nn.Linear(4, 3).eval()
    called, x = torch.compile(model, backend=torch_backend), torch.randn(2, 4)
    for _ in range(2):
        with called_in():
            torch.testing.assert_close(called(x), model(x))
        with torch.inference_mode():
            model.weight.add_(1)


def test_parameters_that_lose_their_versions() -> None:
    model = nn.Linear(4, 3).eval()
    called, x = torch.compile(model, backend=torch_backend), torch.randn(2, 4)
    with torch.inference_mode():
        for _ in range(3):
            torch.testing.assert_close(called(x), model(x))
            model.weight.data = torch.randn(3, 4)


def test_no_thread_gets_results_of_parameters_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call in a thread while another one recompiles the program."""
    model = nn.Linear(4, 3).eval()
    called, x = torch.compile(model, backend=torch_backend), torch.randn(2, 4)
    with torch.no_grad():
        called(x)
        model.weight.add_(1)
    compiled, begun, goes_on = torch_compile.compile, threading.Event(), threading.Event()

    def slow(*arguments: Any, **options: Any) -> Any:
        begun.set()
        goes_on.wait(60)
        return compiled(*arguments, **options)

    monkeypatch.setattr(torch_compile, "compile", slow)
    found: list[Any] = []

    def work() -> None:
        with torch.no_grad():
            found.append(called(x))

    threads = [threading.Thread(target=work) for _ in range(2)]
    threads[0].start()
    assert begun.wait(60)
    threads[1].start()
    threads[1].join(1)
    goes_on.set()
    for each in threads:
        each.join()
    with torch.no_grad():
        torch.testing.assert_close(found, [model(x)] * 2)


def test_numbers_are_results_and_go_to_the_backward_graph() -> None:
    def scaled(x: torch.Tensor, n: float) -> tuple[torch.Tensor, float, float]:
        return (x * n).sum(), n, n + 1

    called = torch.compile(scaled, backend=torch_backend, dynamic=True)
    for n in (3, 5, 2.5, 3.5):
        x = torch.ones(3, requires_grad=True)
        total, *numbers = called(x, n)
        total.backward()
        assert total.item() == 3 * n and numbers == [n, n + 1] and list(map(type, numbers)) == [type(n)] * 2
        assert x.grad is not None and x.grad.tolist() == [n] * 3


def test_arguments_are_results() -> None:
    model = nn.Linear(4, 3)

    def with_others(x: torch.Tensor, y: torch.Tensor) -> tuple[Any, ...]:
        return x, None, model(x), y

    called = torch.compile(with_others, backend=torch_backend)
    x, y = torch.randn(2, 4, requires_grad=True), torch.randn(2)
    one, nothing, computed, two = called(x, y)
    assert one is x and nothing is None and two is y
    computed.sum().backward()
    torch.testing.assert_close(x.grad, model.weight.detach().sum(0).expand(2, 4))


def test_negated_views_are_resolved_between_calls() -> None:
    called = torch.compile(lambda x: x + 1, backend=torch_backend)
    x = torch.arange(4.0)
    for each in (x, torch._neg_view(x), x):
        torch.testing.assert_close(called(each), each + 1)


_VIEWS: dict[str, Callable[[], torch.Tensor]] = {
    "permuted": lambda: torch.randn(3, 4, 5).permute(2, 0, 1), "behind": lambda: torch.randn(40)[8:].view(4, 8).t(),
    "gaps": lambda: torch.randn(4, 6)[:, ::2], "expanded": lambda: torch.randn(4, 1).expand(4, 5),
    "channels last": lambda: torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
    "conjugated": lambda: torch.randn(4, 3, dtype=torch.complex64).mH}  # fmt: skip


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("view", _VIEWS)
def test_views_are_passed_in_memory_order(view: str, is_dynamic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relax_mlir.runtime.function.prepared", None)  # slow copies
    x, weight = _VIEWS[view](), nn.Parameter(_VIEWS[view]())

    def net(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x * weight + x.sum(-1, keepdim=True), x.transpose(0, 1)

    called = torch.compile(net, backend=torch_backend, dynamic=is_dynamic, options={"fallback": "error"})
    with torch.no_grad():
        torch.testing.assert_close((got := called(x)), net(x), check_stride=True)
    assert got[1].data_ptr() == x.data_ptr()
    trained = [torch.autograd.grad(each(x)[0].abs().sum(), weight)[0] for each in (called, net)]
    torch.testing.assert_close(*trained)


@pytest.mark.parametrize("is_training", [False, True])
def test_a_call_goes_through_few_functions(is_training: bool) -> None:
    """Count this package's functions between AOTAutograd and the program: each takes 0.2 us or more."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    called, x = torch.compile(model, backend=torch_backend), torch.randn(2, 4)
    root = Path(inspect.getfile(rx)).parents[1]
    rooms = tuple(f"{root / room}{os.sep}" for room in ("compilation", "frontends", "plugins", "runtime", "support"))
    seen: list[str] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(rooms):
            seen.append(frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name)

    with torch.set_grad_enabled(is_training):
        for _ in range(3):
            called(x)
        sys.setprofile(look)
        try:
            called(x)
        finally:
            sys.setprofile(None)
    outside = [each for each in seen if "give" not in each and "<lambda>" not in each and "<listcomp>" not in each]
    assert 0 < len(outside) <= 4, seen


_FIRST_CALLS = """
import sys, threading, torch
sys.setswitchinterval(5e-4)
problems, together = [], threading.Barrier(8)
def compile_and_call():
    model, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    together.wait()
    try:
        with torch.no_grad():
            torch.testing.assert_close(torch.compile(model, backend="relax_mlir")(x), model(x))
    except BaseException as error:
        problems.append(repr(error))
threads = [threading.Thread(target=compile_and_call) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(problems)
"""


def test_first_calls_of_several_threads() -> None:
    """Look the backend up in eight threads of a new process at the same time."""
    done = subprocess.run([sys.executable, "-c", _FIRST_CALLS], capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"])
def test_modes(mode: str) -> None:
    x = torch.randn(3)
    torch.testing.assert_close(torch.compile(torch.sin, backend="relax_mlir", mode=mode)(x), torch.sin(x))


def test_an_unknown_mode() -> None:
    with pytest.raises(Exception, match=r"no mode 'max-autotuned'; did you mean 'max-autotune'.*there are default"):
        torch.compile(torch.sin, backend=partial(torch_backend, mode="max-autotuned"))(torch.ones(2))


def test_aot_compile_is_refused_by_name() -> None:
    compiled = torch.compile(lambda x: x.sin(), backend="relax_mlir", fullgraph=True)
    with pytest.raises(rx.RelaxError, match=r"backend='relax_mlir'\) has no aot_compile") as refused:
        compiled.aot_compile(((torch.ones(3),), {}))
    assert "save(path)" in str(refused.value)
