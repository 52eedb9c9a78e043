# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences with keys and values in pages, programs of paged attention, and attention in numpy's doubles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

import relax_mlir as rx
from relax_mlir import relax

NAMES = ("q", "k_pages", "v_pages", "table", "sequences", "lengths", "k_scale", "v_scale", "sinks")


@dataclass
class Sequences:
    """Tokens of sequences of some lengths, in the order of the call, with pages in random order."""

    lengths: Sequence[int]
    heads: int = 4
    shared: int = 2
    size: int = 8
    width: int = 8
    places: int = 4
    dtype: str = "float32"
    pages_dtype: str = "float32"
    has_sinks: bool = False
    seed: int = 0
    arrays: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        random = numpy.random.default_rng(self.seed)
        most = -(-max(self.lengths, default=0) // self.places)
        count = len(self.lengths) * most + 2
        sequences = numpy.repeat(numpy.arange(len(self.lengths)), self.lengths).astype("int32")
        tokens = len(sequences)
        pages = (count, self.places, self.shared)
        self.arrays = {
            "q": random.standard_normal((tokens, self.heads, self.size)).astype(self.dtype),
            "k_pages": self._pages(random, (*pages, self.size)),
            "v_pages": self._pages(random, (*pages, self.width)),
            "table": random.permutation(count)[: len(self.lengths) * most].reshape(-1, most).astype("int32"),
            "sequences": sequences,
            "lengths": numpy.concatenate([numpy.arange(1, each + 1) for each in self.lengths]).astype("int32"),
        }
        if self.pages_dtype == "int8":
            for name in ("k_scale", "v_scale"):
                self.arrays[name] = (random.random(pages) / 50).astype("float32")
        if self.has_sinks:
            self.arrays["sinks"] = random.standard_normal(self.heads).astype("float32")

    def _pages(self, random: numpy.random.Generator, shape: tuple[int, ...]) -> Any:
        if self.pages_dtype == "int8":
            return random.integers(-127, 128, shape).astype("int8")
        return random.standard_normal(shape).astype(self.pages_dtype)

    def module(self, is_open: bool = False, **attributes: Any) -> rx.Module:
        """Return a module for any number of tokens, pages and sequences. `is_open`: any sizes of heads."""
        module = rx.Module()
        fixed = ("heads", "shared", "size", "width", "places")
        h, g, d, e, p = (each if is_open else getattr(self, each) for each in fixed)
        shapes: Mapping[str, tuple[Any, ...]] = {
            "q": ("tokens", h, d), "k_pages": ("pages", p, g, d), "v_pages": ("pages", p, g, e),
            "table": ("rows", "most"), "sequences": ("tokens",), "lengths": ("tokens",),
            "k_scale": ("pages", p, g), "v_scale": ("pages", p, g), "sinks": (h,),
        }  # fmt: skip
        types = {name: rx.tensor(shapes[name], str(array.dtype)) for name, array in self.arrays.items()}
        with module.function("main", types) as f:
            f.returns(relax.paged_attention(**dict(zip(types, f, strict=True)), **attributes))
        return module

    def expected(self, scale: float | None = None, window_size: int | None = None, softcap: float | None = None) -> Any:
        """Compute the attention of each token by its definition."""
        held = self.arrays
        keys, values = (self._rows(name, f"{name[0]}_scale") for name in ("k_pages", "v_pages"))
        group, found = self.heads // self.shared, numpy.zeros((len(held["q"]), self.heads, self.width))
        for token, (sequence, length) in enumerate(zip(held["sequences"], held["lengths"], strict=True)):
            first = 0 if window_size is None else max(length - window_size, 0)
            for head in range(self.heads if length else 0):
                own = [each[sequence][first:length, head // group] for each in (keys, values)]
                scores = own[0] @ held["q"][token, head].astype(float) * (self.size**-0.5 if scale is None else scale)
                scores = scores if softcap is None else softcap * numpy.tanh(scores / softcap)
                whole = numpy.append(scores, held["sinks"][head]) if self.has_sinks else scores
                weights = numpy.exp(scores - whole.max())
                found[token, head] = weights @ own[1] / numpy.exp(whole - whole.max()).sum()
        return found

    def _rows(self, name: str, scale: str) -> Any:
        """Return [sequences, positions, heads, size]."""
        pages = self.arrays[name].astype(float)
        if scale in self.arrays:
            pages = pages * self.arrays[scale][..., None]
        found = pages[self.arrays["table"]]
        return found.reshape(len(found), -1, *found.shape[3:])

    def some(self, tokens: Any) -> list[Any]:
        """Return the arguments for some of the tokens."""
        of_tokens = ("q", "sequences", "lengths")
        return [array[tokens] if name in of_tokens else array for name, array in self.arrays.items()]

    def arguments(self) -> list[Any]:
        return list(self.arrays.values())
