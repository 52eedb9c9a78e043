# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LoRA adapters inside of a program: each token's product has the change by the adapter of its sequence added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy
from numpy import ndarray
from relax_mlir import relax
from relax_mlir.dialects.relax.values import shape_of
from relax_mlir.rewriting import Value

from .lora import Delta, belongs_to_another_model, check_delta, read_adapter
from .products import frozen
from .weights import Source


class _Stacked(NamedTuple):
    """Changes of one weight by all adapters. Smaller ranks than the largest one are padded with zeros."""

    #: f32 [adapters, columns, rank]: the transposed A of each adapter.
    down: ndarray
    #: f32 [adapters, rank, rows]: scale * the transposed B of each adapter.
    up: ndarray
    #: Numbers of the adapters that change the weight. The others have zeros.
    owners: tuple[int, ...]


class Adapters:
    """Adapters of a model by their names. A sequence has the number of its adapter, from 1, or 0 for none."""

    def __init__(self, source: Source, folders: Mapping[str, Path]) -> None:
        self._source = source
        self._deltas = [(folder, read_adapter(folder)) for folder in folders.values()]
        self._used: set[str] = set()
        self._stacks: dict[str, _Stacked | None] = {}

    @property
    def count(self) -> int:
        return len(self._deltas)

    def stacked(self, name: str, shape: tuple[int, int]) -> _Stacked | None:
        """Return the changes of a weight, under GGUF's name, or None if no adapter changes the weight."""
        if name not in self._stacks:
            self._stacks[name] = self._stack(self._source.file_name(name), shape)
        return self._stacks[name]

    def _stack(self, name: str, shape: tuple[int, int]) -> _Stacked | None:
        self._used.add(name)
        found: dict[int, Delta] = {}
        for number, (folder, deltas) in enumerate(self._deltas, 1):
            if name in deltas:
                found[number] = deltas[name]
                check_delta(folder, self._source.path, name, deltas[name], shape)
        if not found:
            return None
        rank, (rows, columns) = max(delta.a.shape[0] for delta in found.values()), shape
        down = numpy.zeros((self.count, columns, rank), numpy.float32)
        up = numpy.zeros((self.count, rank, rows), numpy.float32)
        for number, value in found.items():
            down[number - 1, :, : value.a.shape[0]] = value.a.floats().T
            up[number - 1, : value.a.shape[0]] = (value.scale * value.b.floats().astype(numpy.float64)).T
        return _Stacked(frozen(down), frozen(up), tuple(found))

    def check_used(self) -> None:
        """Raise ModelError if an adapter changes a weight that no product of the model has."""
        for folder, deltas in self._deltas:
            if (other := next((name for name in deltas if name not in self._used), None)) is not None:
                raise belongs_to_another_model(folder, self._source.path, other)


@dataclass(frozen=True)
class Changes:
    """Changes of the products of a function under construction.

    All tokens are multiplied by the matrices of the used adapters, and the results of other adapters are set to zero. A
    product with gathered matrices of each token reads them again for each token, and takes longer for many tokens.
    """

    adapters: Adapters
    #: i32 [tokens]: number of each token's adapter.
    numbers: Value
    #: i32 [used]: numbers of the adapters of all tokens, in ascending order.
    used: Value

    def take(self, selected: Value) -> Changes:
        """Return the changes of selected tokens."""
        return replace(self, numbers=relax.take(self.numbers, selected, axis=0))

    def add(self, product: Value, x: Value, name: str, shape: tuple[int, int]) -> Value:
        """Return the product of x and a weight, changed by the adapter of each token.

        Products of tokens without a change keep their bits, the sign of zeros included.
        """
        if (stacked := self.adapters.stacked(name, shape)) is None:
            return product
        sizes, (_, rank, rows) = shape_of(x), stacked.up.shape
        assert sizes is not None and sizes[0] is not None
        places = relax.subtract(self.used, relax.const(1, "int32"))
        down, up = (relax.take(relax.const(each), places, axis=0) for each in (stacked.down, stacked.up))
        inner = relax.matmul(relax.expand_dims(x, axis=[0]), down)
        inner = relax.where(self._is_own(), inner, relax.const(0.0, "float32"))
        # A sum in the order of the adapters, in which zeros of other adapters change no bit.
        ranks = f"used * {rank}"
        inner = relax.reshape(relax.permute_dims(inner, axes=[1, 0, 2]), relax.shape_expr(dims=(sizes[0], ranks)))
        change = relax.matmul(inner, relax.reshape(up, relax.shape_expr(dims=(ranks, rows))))
        return relax.where(self._is_changed(stacked), relax.add(product, change), product)

    def _is_own(self) -> Value:
        """Return True [used, tokens, 1] for the adapter of each token."""
        return relax.equal(relax.expand_dims(self.numbers, axis=[0, 2]), relax.expand_dims(self.used, axis=[1, 2]))

    def _is_changed(self, stacked: _Stacked) -> Value:
        """Return True [tokens, 1] for tokens with an adapter that changes the weight."""
        is_owner = numpy.isin(numpy.arange(self.adapters.count + 1), stacked.owners)
        return relax.take(relax.const(is_owner), relax.expand_dims(self.numbers, axis=[1]), axis=0)
