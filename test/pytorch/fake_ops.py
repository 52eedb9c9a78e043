# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators and peers with the faults that the harness has to notice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from op_entries import Entry
from op_peers import Exported, Refused, Run
from torch.testing._internal.opinfo.core import SampleInput


def entry_of(op: Callable[..., object], *samples: SampleInput) -> Entry:
    info = SimpleNamespace(
        op=op, sample_inputs=lambda device, dtype: iter(samples), reference_inputs_func=None, decorators=()
    )
    return Entry("fake", info)


def numbers(count: int, *arguments: object) -> list[SampleInput]:
    """Return samples of different sizes."""
    return [SampleInput(torch.arange(1.0, size + 2), args=arguments) for size in range(count)]


class Counting(Exported):
    """Peer that counts its imports and compilations."""

    def __init__(self) -> None:
        self.imports = self.compilations = 0

    def imported(self, program: torch.export.ExportedProgram) -> Any:
        self.imports += 1
        return super().imported(program)

    def compiled(self, imported: Any) -> Run:
        self.compilations += 1
        return super().compiled(imported)


class Refusing(Counting):
    """Peer without an operator."""

    def __init__(self, op: str):
        super().__init__()
        self._op = op

    def imported(self, program: torch.export.ExportedProgram) -> Any:
        imported = super().imported(program)
        if any(self._op == str(node.target) for node in program.graph.nodes):
            raise Refused(f"{self._op}: no converter")
        return imported


class Altering(Counting):
    """Peer with other results."""

    def __init__(self, alter: Callable[[torch.Tensor], torch.Tensor]):
        super().__init__()
        self._alter = alter

    def compiled(self, imported: Any) -> Run:
        run = super().compiled(imported)
        return lambda tensors: [self._alter(result) for result in run(tensors)]


class Raising(Counting):
    """Peer with a bug for tensors of some size."""

    def __init__(self, size: int):
        super().__init__()
        self._size = size

    def compiled(self, imported: Any) -> Run:
        run = super().compiled(imported)

        def checked(tensors: Sequence[torch.Tensor]) -> Sequence[object]:
            if any(tensor.numel() == self._size for tensor in tensors):
                raise ValueError("a bug")
            return run(tensors)

        return checked


class Dying(Exported):
    """Peer that ends the process if an input is a scalar."""

    def compiled(self, imported: Any) -> Run:
        run = super().compiled(imported)

        def or_die(tensors: Sequence[torch.Tensor]) -> Sequence[object]:
            if any(tensor.dim() == 0 for tensor in tensors):
                os.kill(os.getpid(), signal.SIGKILL)
            return run(tensors)

        return or_die


class Hanging(Exported):
    def compiled(self, imported: Any) -> Run:
        def wait(tensors: Sequence[torch.Tensor]) -> Sequence[object]:
            while True:
                signal.pause()

        return wait
