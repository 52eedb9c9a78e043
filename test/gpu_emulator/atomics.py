# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""atom and red: threads with one address take turns, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from . import rounding
from .coder import DTYPES, NUMPY
from .memory import ALLOCATED, WRITABLE, WRITTEN, repeated

if TYPE_CHECKING:
    from .machine import Chunk


class Atomics:
    def __init__(self, chunk: Chunk) -> None:
        self._m = chunk

    def run(self, space: str, name: str, kind: str, address: Any, values: tuple[Any, ...], line: int) -> Any:
        """Execute an atomic operation, and return the old values."""
        m = self._m
        address = m.over_threads(address)
        if space == "generic":
            parts = m.spaces_of(address)
            if len(parts) > 1:
                return self._parts(parts, name, kind, values, line)
            ((space, _, address),) = parts
        dtype = NUMPY[DTYPES[kind]]
        width = dtype.itemsize
        region, places = m.locate(space, address, width, line)
        words = places // width
        for wanted, does in ((m.readable, "reads"), (WRITABLE, "writes")):
            good = region.are(words, width, wanted)
            if not good.all():
                raise m.refused(space, address, 0, width, ~good, line, does)
        m.note("atomic", space, places, width, line)
        given = [m.over_threads(value) for value in values]
        view = region.view(dtype)
        found = numpy.empty(len(words), dtype)
        for turn in _turns(words):
            old = view[words[turn]]
            found[turn] = old
            view[words[turn]] = _combined(name, kind, old, *(value[turn] for value in given))
        region.states(width)[words] = repeated(ALLOCATED | WRITTEN, width)
        return found

    def _parts(self, parts: Any, name: str, kind: str, values: tuple[Any, ...], line: int) -> Any:
        m = self._m
        found = numpy.zeros(m.count, NUMPY[DTYPES[kind]])
        for space, threads, address in parts:
            given = tuple(value if len(value) == 1 else value[threads] for value in values)
            with m.only(threads):
                found[threads] = self.run(space, name, kind, address, given, line)
        return found


def _turns(words: Any) -> list[Any]:
    """Return groups of threads: those with the first access to an address, with the second, and so on."""
    order = numpy.argsort(words, kind="stable")
    ordered = words[order]
    starts = numpy.concatenate([[True], ordered[1:] != ordered[:-1]])
    index = numpy.arange(len(words))
    rank = index - numpy.maximum.accumulate(numpy.where(starts, index, 0))
    if not rank.any():
        return [slice(None)]
    by_rank = order[numpy.argsort(rank, kind="stable")]
    return numpy.split(by_rank, numpy.cumsum(numpy.bincount(rank))[:-1])


def _combined(name: str, kind: str, old: Any, value: Any, other: Any = None) -> Any:
    if name == "cas":
        return numpy.where(old == value, other, old)
    if name == "exch":
        return value
    if name == "inc":
        return numpy.where(old >= value, old.dtype.type(0), old + old.dtype.type(1))
    if name == "dec":
        return numpy.where((old == 0) | (old > value), value, old - old.dtype.type(1))
    if kind in ("bf16", "bf16x2", "f16x2"):
        return _halves(name, kind, old, value)
    if name in ("min", "max"):
        if old.dtype.kind == "f":
            return (rounding.least if name == "min" else rounding.greatest)(old, value, False)
        return numpy.minimum(old, value) if name == "min" else numpy.maximum(old, value)
    ufunc: Any = {"add": numpy.add, "and": numpy.bitwise_and, "or": numpy.bitwise_or, "xor": numpy.bitwise_xor}[name]
    return ufunc(old, value)


def _halves(name: str, kind: str, old: Any, value: Any) -> Any:
    narrow = numpy.uint16 if kind.startswith("b") else numpy.float16
    a, b = (numpy.ascontiguousarray(each).view(narrow) for each in (old, value))
    wide_a, wide_b = (
        (rounding.from_bf(a), rounding.from_bf(b)) if kind.startswith("b") else (a.astype("f4"), b.astype("f4"))
    )
    found = {"add": lambda: wide_a + wide_b}.get(name)
    total = found() if found else (rounding.least if name == "min" else rounding.greatest)(wide_a, wide_b, False)
    rounded = rounding.to_bf(total) if kind.startswith("b") else rounding.to_f2(total)
    return rounded.view(old.dtype)
