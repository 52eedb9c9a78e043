# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Microseconds of a call through torch.compile(backend="relax_mlir"), by parts.

    python bench/torch_calls.py                     1, 10 and 100 layers, inference and training
    python bench/torch_calls.py --layers 1 --dynamic

The benchmark runs in the environment of `suite.py torch`: build/env-torch/bin/python. The layers are so small (8 x 8,
relu) that little is computed. "Dynamo" is torch.compile with a backend that returns the results of the first call
again. "+ AOT" is our backend with such functions in place of programs: the cost of torch.compile with AOTAutograd for
any compiler. "whole" is our call, "adds" its cost beyond "+ AOT". "program" is the part in the compiled program's call,
executable["main"](...). "around" is the rest of TorchProgram: checks that the parameters are the compiled ones, and
unchanged. In training a call is the forward and the backward pass. Results that are returned again are detached, since
autograd needs new tensors.

Time is the thread's own (CPU), so that other work of the machine matters less. Each figure is the least of several
turns of all. "program" and "around" are called in a loop of their own, with everything in caches. In a whole call other
code and data come between, so that "adds" is more than their sum, on a machine with other work several times that.
"""

from __future__ import annotations

import argparse
import copy
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from relax_mlir_torch.compile import torch_compile
from torch import nn

_TURNS, _SECONDS = 15, 0.02
_COLUMNS = ("eager", "Dynamo", "+ AOT", "whole", "adds", "program", "around")


def least(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the microseconds per call of each, in turns."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(_TURNS):
        for name, call in calls.items():
            start, count = time.thread_time(), 0
            while time.thread_time() - start < _SECONDS:
                for _ in range(10):
                    call()
                count += 10
            found[name] = min(found[name], (time.thread_time() - start) / count * 1e6)
    return found


class Known:
    """Graph that is computed once: later calls return the first results."""

    def __init__(self, graph: Callable[..., Any], *_: object, **__: object) -> None:
        self._boxed_call = True
        self._graph, self._given = graph, []
        self._is_training = torch.is_grad_enabled()

    def __call__(self, arguments: list[Any]) -> list[Any]:
        if not self._given:
            self._given = [each.detach() if hasattr(each, "detach") else each for each in self._graph(*arguments)]
        if not self._is_training:
            return list(self._given)
        return [each.detach() if hasattr(each, "detach") else each for each in self._given]


def below_dynamo(graph: Callable[..., Any], _: object) -> Callable[..., Any]:
    given: list[Any] = []

    def call(*arguments: Any) -> Any:
        if not given:
            given.append(graph(*arguments))
        return given[0]

    return call


class Watched(torch_compile.TorchProgram):
    """Our program, with the arguments of its last call."""

    def __call__(self, arguments: list[Any]) -> list[Any]:
        if self not in watched:
            watched.append(self)
            self.arguments = list(arguments)
        return super().__call__(arguments)

    def ours(self) -> Callable[[], object]:
        return lambda: torch_compile.TorchProgram.__call__(self, list(self.arguments))

    def program(self) -> Callable[[], object]:
        calls: Any = self._calls
        passed = calls._with_tensors(calls._take(self.arguments))
        return lambda: calls._main(*passed)


watched: list[Watched] = []


@contextmanager
def programs_are(cls: Any) -> Iterator[None]:
    """Make our backend use another class in place of programs for AOTAutograd's graphs."""
    ours = torch_compile.TorchProgram
    torch_compile.TorchProgram = cls  # type: ignore[misc]
    yield
    torch_compile.TorchProgram = ours  # type: ignore[misc]


def of_its_own_code(model: nn.Module) -> nn.Module:
    """Return the model with code of its own.

    Dynamo searches all compiled versions of one code, of any model and backend.
    """

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = copy.deepcopy(model)

        def forward(self, x: torch.Tensor) -> Any:
            return self.layers(x)

    Model.forward.__code__ = Model.forward.__code__.replace()
    return Model()


def measured(layers: int, *, is_training: bool, is_dynamic: bool) -> dict[str, float]:
    model = nn.Sequential(*(each for _ in range(layers) for each in (nn.Linear(8, 8), nn.ReLU())))
    x = torch.randn(4, 8)

    def called(one: Callable[..., Any]) -> Callable[[], object]:
        return (lambda: one(x).sum().backward()) if is_training else lambda: one(x)

    def compiled(backend: Any = torch_compile.torch_backend) -> Callable[[], object]:
        call = called(torch.compile(of_its_own_code(model), backend=backend, dynamic=is_dynamic))
        call()
        return call

    watched.clear()
    with torch.set_grad_enabled(is_training):
        calls = {"eager": called(model)}
        if not is_training:
            calls["Dynamo"] = compiled(below_dynamo)
        with programs_are(Known):
            calls["+ AOT"] = compiled()
        with programs_are(Watched):
            compiled()
        calls["whole"] = compiled()
        calls["ours"] = _all([each.ours() for each in watched])
        calls["program"] = _all([each.program() for each in watched])
        found = least(calls)
    return {**found, "adds": found["whole"] - found["+ AOT"], "around": found["ours"] - found["program"]}


def _all(calls: Sequence[Callable[[], object]]) -> Callable[[], object]:
    return calls[0] if len(calls) == 1 else lambda: [call() for call in calls]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", nargs="*", type=int, default=[1, 10, 100], help="of two parameters each")
    parser.add_argument("--dynamic", action="store_true", help="with sizes left open")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    print(f"{'':24}{''.join(f'{each:>9}' for each in _COLUMNS)}", flush=True)
    for is_training in (False, True):
        for layers in options.layers:
            found = measured(layers, is_training=is_training, is_dynamic=options.dynamic)
            cells = [f"{found[name]:9.1f}" if name in found else f"{'-':>9}" for name in _COLUMNS]
            title = f"{'training' if is_training else 'inference'}, {layers} layer{'s' * (layers > 1)}"
            print(f"{title:24}{''.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
