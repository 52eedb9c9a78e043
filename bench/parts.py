# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Overhead of a part relative to its library's computation, for bench/dnnl.py and bench/blas.py."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy
from relax_mlir.runtime import CallList, NativeFunction

import relax_mlir as rx
from relax_mlir import relax

# Figures are for one thread.
os.environ.setdefault("RELAX_NUM_THREADS", "1")

HEAD = (
    "| microseconds a part | default path | with parts | with parts that call nothing | the library |\n"
    "| --- | --- | --- | --- | --- |"
)
PARTS = 8
ROUNDS = 40
CALLS = 200


def row(codegen: str, body: Callable[[Any], Any], shape: tuple[int, ...]) -> str:
    """Return a row of a table: microseconds of a part, of the call to it and back, and of its library."""
    module = rx.Module()
    with module.function("main", [rx.tensor(shape)]) as f:
        (x,) = f
        for _ in range(PARTS):
            # An operator of the target separates the parts.
            x = body(relax.erf(x))
        f.returns(x)
    tensor = rx.runtime.tensor(numpy.full(shape, 0.01, "float32"))
    ways = {"default": _called(module, [], tensor), "part": _called(module, [codegen], tensor)}
    with _without_calls():
        ways["empty"] = _called(module, [codegen], tensor)
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for way, call in ways.items():
            start = time.thread_time()
            for _ in range(CALLS):
                call()
            best[way] = min(best[way], (time.thread_time() - start) / CALLS * 1e6 / PARTS)
    figures = best["default"], best["part"], best["empty"], best["part"] - best["empty"]
    return f"| {codegen}, {PARTS} parts | {' | '.join(f'{each:.2f}' for each in figures)} |"


def _called(module: rx.Module, partition: list[str], tensor: Any) -> Callable[[], object]:
    program = rx.compile(module.copy(), partition=partition, strict_partition=True)
    packed = program["main"].packed
    packed(tensor)
    return lambda: packed(tensor)


@contextmanager
def _without_calls() -> Iterator[None]:
    """Remove the calls inside of parts, which are still called themselves."""
    made = NativeFunction.made

    def emptied(self: NativeFunction, tensors: Any) -> Any:
        make = self.make
        bare = NativeFunction(lambda *given: replace(make(*given) or CallList([]), calls=[]), self.arguments)
        return made(bare, tensors)

    with patch.object(NativeFunction, "made", emptied):
        yield
