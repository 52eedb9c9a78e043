# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One TOSA program for each operator and kind of element, with its results in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy
from numpy import ndarray

NUMPY = {"i1": "bool", "f16": "float16", "f32": "float32", "i4": "int8", "i48": "int64", "index": "int64"}
#: Of floats, how far from numpy they may be.
FLOATS = {"f32": 1e-5, "f16": 4e-3}
NUMPY |= {f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}


class Given(NamedTuple):
    """Argument. Numbers are drawn between bounds, or from the whole type."""

    shape: tuple[int, ...]
    dtype: str
    low: float | None = None
    high: float | None = None
    has_nan: bool = False

    @property
    def type(self) -> str:
        return tensor_type(self.shape, self.dtype)

    def drawn(self, random: numpy.random.Generator) -> ndarray:
        name = NUMPY[self.dtype]
        if self.dtype[0] == "f":
            low, high = (-4, 4) if self.low is None or self.high is None else (self.low, self.high)
            drawn = random.uniform(low, high, self.shape).astype(name)
            if self.has_nan:
                drawn[random.random(self.shape) < 0.2] = numpy.nan
            return drawn
        if self.dtype == "i1":
            return random.random(self.shape) < 0.5
        limits = numpy.iinfo(name)
        low, high = (limits.min, limits.max) if self.low is None or self.high is None else (self.low, self.high)
        return random.integers(int(low), int(high), self.shape, dtype=name, endpoint=True)


class Program(NamedTuple):
    name: str
    given: list[Given]
    #: Of MLIR: operations that make %r, %r0 and so on of %a, %b, ...
    body: str
    results: list[str]
    expected: Callable[..., Any]
    rtol: float = 1e-5

    @property
    def text(self) -> str:
        return self.written(self.given_types, self.results)

    @property
    def given_types(self) -> list[str]:
        return [each.type for each in self.given]

    def written(self, given: Sequence[str], results: Sequence[str]) -> str:
        arguments = ", ".join(f"%{name}: {type_}" for name, type_ in zip("abcdefgh", given, strict=False))
        names = "%r" if len(results) == 1 else ", ".join(f"%r{place}" for place in range(len(results)))
        types = ", ".join(results)
        body = "\n  ".join(line.strip() for line in self.body.strip().splitlines())
        return f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n  return {names} : {types}\n}}\n"


def tensor_type(shape: Sequence[Any], dtype: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{dtype}>"


def constant(name: str, values: Any, dtype: str) -> str:
    """Return a constant of one dimension."""
    listed = list(values)
    return _constant(name, "const", listed, f"tensor<{len(listed)}x{dtype}>", f"tensor<{len(listed)}x{dtype}>")


def shape(name: str, values: Sequence[int]) -> str:
    return _constant(name, "const_shape", values, f"tensor<{len(values)}xindex>", f"!tosa.shape<{len(values)}>")


def _constant(name: str, op: str, values: Sequence[Any], held: str, made: str) -> str:
    return f'%{name} = "tosa.{op}"() {{values = dense<{list(values)}> : {held}}} : () -> {made}'


def operation(op: str, operands: Sequence[tuple[str, str]], result: str, attributes: str = "", to: str = "%r") -> str:
    names, types = (", ".join(each[place] for each in operands) for place in (0, 1))
    return f'{to} = "tosa.{op}"({names}) {{{attributes}}} : ({types}) -> {result}'


def simple(
    op: str,
    given: Sequence[Given],
    expected: Callable[..., Any],
    result: tuple[Sequence[int], str] | None = None,
    attributes: str = "",
    rtol: float = 1e-5,
    before: Sequence[str] = (),
    more: Sequence[tuple[str, str]] = (),
    note: str = "",
) -> Program:
    """Return a program of one operation on the arguments and on results of the lines in `before`."""
    made = tensor_type(*result) if result else given[0].type
    names = [(f"%{name}", each.type) for name, each in zip("abcdefgh", given, strict=False)]
    body = "\n".join([*before, operation(op, [*names, *more], made, attributes)])
    label = "-".join(filter(None, [op, *dict.fromkeys(each.dtype for each in given), note]))
    return Program(label, list(given), body, [made], expected, rtol)


def windows_of(x: ndarray, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int], fill: Any) -> ndarray:
    """Return windows as [batch, rows, columns, taps, channels]."""
    around = numpy.pad(x, ((0, 0), tuple(pad[:2]), tuple(pad[2:]), (0, 0)), constant_values=fill)
    rows = range(0, around.shape[1] - kernel[0] + 1, stride[0])
    columns = range(0, around.shape[2] - kernel[1] + 1, stride[1])
    taken = [
        [around[:, r : r + kernel[0], c : c + kernel[1]].reshape(len(x), -1, x.shape[3]) for c in columns] for r in rows
    ]
    return numpy.moveaxis(numpy.array(taken), 2, 0)


def kept(function: Callable[..., Any], axis: int) -> Callable[..., Any]:
    return lambda x: function(x, axis=axis, keepdims=True)
