# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handles of a schedule: blocks, loops, and index maps."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

from ....dialects.core.indices import evaluated
from ....dialects.core.symbols_expr import (
    Size,
    SymbolError,
    SymExpr,
    extremum,
    make_variable,
    sole_atom,
    substituted,
    terms_of,
    variables_of,
)
from ....dialects.core.symbols_terms import Atom
from ....dialects.script.syntax import APPLIED, dotted, operation_of
from ....support.blaming import blaming
from ....support.errors import RelaxError


@dataclass(frozen=True)
class BlockRV:
    """Handle of a block of a PrimFunc, by name."""

    function: str
    name: str


@dataclass(frozen=True)
class LoopRV:
    """Handle of a loop of a PrimFunc, by the name of its variable."""

    function: str
    name: str


class Sampled(int):
    """Number drawn by a step. Later steps refer to it by name, so that they follow it if another number is drawn."""

    def __new__(cls, value: int, function: str, name: str) -> Sampled:
        made = super().__new__(cls, value)
        made.function, made.name = function, name
        return made

    function: str
    name: str


@dataclass(frozen=True)
class IndexMap:
    """Map from indices to indices, such as `lambda i, j: (i // 16, j, i % 16)`."""

    parameters: tuple[str, ...]
    results: tuple[Size, ...]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> IndexMap:
        """Return the index map of a function of index variables."""
        with blaming("the index map", function):
            names = list(inspect.signature(function).parameters)
            made = function(*map(make_variable, names))
        results = _flat(made if isinstance(made, (tuple, list)) else (made,))
        wrong = next(
            (result for result in results if not isinstance(result, (int, SymExpr)) or isinstance(result, bool)), None
        )
        if wrong is not None:
            raise RelaxError(
                f"an index map must return indices, computed from its parameters with + - * // %, not {wrong!r}"
            )
        return cls(tuple(names), results)

    def at(self, indices: Sequence[Size]) -> tuple[Size, ...]:
        values = dict(zip(self.parameters, indices, strict=True))
        return tuple(substituted(result, values) for result in self.results)

    def is_injective(self, shape: Sequence[Size]) -> bool:
        """Return True if no two elements of a shape get the same indices.

        For a dynamic or large size, the test tries as many steps as the map needs to repeat itself. It samples the
        points if there are too many.
        """
        if self.inverse([f"_{number}" for number in range(len(self.results))], shape) is not None:
            return True
        apart = self._apart()
        if len(apart) > 1:  # parameters that share no result are tested separately
            extents = dict(zip(self.parameters, shape, strict=True))
            return all(each.is_injective([extents[name] for name in each.parameters]) for each in apart)
        divisors, factors = _numbers_in(self.results)
        enough = max(3 * math.lcm(*divisors), 2 * max(factors))
        sizes = [size if isinstance(size, int) else enough for size in shape]
        if math.prod(sizes) > _MOST_POINTS:
            sizes = [min(size, enough) for size in sizes]
        return all(map(self._is_injective, _boxes(sizes)))

    def _apart(self) -> list[IndexMap]:
        """Split the map into maps of fewer parameters without common results."""
        groups = [{name} for name in self.parameters]
        for result in self.results:
            used = variables_of(result)
            joined = [group for group in groups if not group.isdisjoint(used)]
            groups = [group for group in groups if group.isdisjoint(used)] + ([set().union(*joined)] if joined else [])
        return [
            IndexMap(
                tuple(name for name in self.parameters if name in group),
                tuple(each for each in self.results if not group.isdisjoint(variables_of(each))),
            )
            for group in groups
        ]

    def inverse(self, names: Sequence[str], shape: Sequence[Size]) -> IndexMap | None:
        """Return the map from results, with these names, to parameters.

        Return None if a result is no sum of the parameters' digits, or if some place of the results has no element of
        the shape.
        """
        extents = dict(zip(self.parameters, shape, strict=True))
        digits: dict[str, list[tuple[int, Size, Size]]] = {name: [] for name in self.parameters}
        for name, result in zip(names, self.results, strict=True):
            unit: Size = 1
            terms = sorted(terms_of(result).items(), key=lambda term: term[1])
            for number, (monomial, factor) in enumerate(terms):
                if (digit := _digit_of(monomial, extents)) is None or factor != unit:
                    return None
                parameter, step, extent = digit
                place = make_variable(name) // factor
                digits[parameter].append((step, extent, place if number == len(terms) - 1 else place % extent))
                unit = factor * extent
        found = []
        for name, extent in extents.items():
            whole: Size = 0
            reached: Size = 1
            for step, count, place in sorted(digits[name], key=lambda digit: digit[0]):
                if step != reached:
                    return None
                whole, reached = whole + step * place, step * count
            if reached != extent:
                return None
            found.append(whole)
        return IndexMap(tuple(names), tuple(found))

    def _is_injective(self, sizes: Sequence[int]) -> bool:
        import numpy

        count = math.prod(sizes)
        points = dict(zip(self.parameters, numpy.indices(sizes).reshape(len(sizes), count), strict=True))
        place = numpy.zeros(count, "int64")
        for result in self.results if count else ():
            index = numpy.broadcast_to(evaluated(result, points), (count,))
            place = place * (int(index.max()) - int(index.min()) + 1) + index - index.min()
        return len(numpy.unique(place)) == count or not count

    def __str__(self) -> str:
        results = ", ".join(map(str, self.results)) + ("," if len(self.results) == 1 else "")
        return f"lambda {', '.join(self.parameters)}: ({results})"


def _digit_of(monomial: Sequence[Atom], extents: Mapping[str, Size]) -> tuple[str, int, Size] | None:
    """Parse x // step % extent, and return the name of x, the step and the extent."""
    atom = monomial[0] if len(monomial) == 1 else None
    count: Size | None = None
    step: Size = 1
    if atom is not None and atom.kind == "%":
        count, atom = atom.args[1], sole_atom(atom.args[0])
    if atom is not None and atom.kind == "//":
        step, atom = atom.args[1], sole_atom(atom.args[0])
    if atom is None or str(atom) not in extents or not isinstance(step, int) or not isinstance(count, (int, NoneType)):
        return None
    return str(atom), step, -(-extents[str(atom)] // step) if count is None else count


def _flat(results: Sequence[Any]) -> tuple[Any, ...]:
    """Return the results of a map as a flat tuple. A map to ranges gives pairs of begin and end."""
    if not any(isinstance(result, (tuple, list)) for result in results):
        return tuple(results)
    pairs = (result if isinstance(result, (tuple, list)) else (result, result + 1) for result in results)
    return tuple(end for pair in pairs for end in pair)


#: Maximum number of points that one test enumerates.
_MOST_POINTS = 1 << 21


def _boxes(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Yield the whole box if it has few points, else one box per dimension that is long in it."""
    if math.prod(sizes) <= _MOST_POINTS:
        yield list(sizes)
        return
    for far in range(len(sizes)):
        longest = min(sizes[far], max(_MOST_POINTS >> len(sizes) - 1, 1))
        others = int((_MOST_POINTS / longest) ** (1 / max(len(sizes) - 1, 1)))
        yield [longest if dim == far else min(size, others) for dim, size in enumerate(sizes)]


def _numbers_in(sizes: Iterable[Size]) -> tuple[list[int], list[int]]:
    """Return the divisors and the factors in indices, at any depth."""
    divisors, factors = [16], [16]
    for size in sizes:
        for monomial, factor in terms_of(size).items():
            factors.append(abs(factor))
            for atom in monomial:
                inner = _numbers_in(atom.args)
                divisors += inner[0]
                factors += inner[1]
                if atom.kind in ("//", "%") and isinstance(atom.args[1], int):
                    divisors.append(max(abs(atom.args[1]), 1))
    return divisors, factors


def index_map_of(node: ast.Lambda) -> IndexMap:
    """Return the index map that a Python lambda expression denotes. Raises RelaxError."""
    names = [argument.arg for argument in node.args.args]
    body = node.body.elts if isinstance(node.body, (ast.Tuple, ast.List)) else [node.body]
    try:
        return IndexMap(tuple(names), _flat([_result(each, names) for each in body]))
    except SymbolError as error:
        raise RelaxError(f"invalid index map: {error}") from None


def _result(node: ast.expr, names: Sequence[str]) -> Size | tuple[Size, ...]:
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(size_of(each, names) for each in node.elts)
    return size_of(node, names)


def size_of(node: ast.expr, names: Sequence[str]) -> Size:
    """Return the index that a Python expression over some variables denotes. Raises RelaxError."""
    if isinstance(node, ast.Name) and node.id in names:
        return make_variable(node.id)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Call) and dotted(node.func) in ("min", "max"):
        return extremum(dotted(node.func), [size_of(arg, names) for arg in node.args])
    sign, operands = operation_of(node)
    if isinstance(node, ast.UnaryOp) and sign == "-":
        return -size_of(operands[0], names)
    if len(operands) == 2 and sign in ("+", "-", "*", "//", "%"):
        return APPLIED[sign](*(size_of(operand, names) for operand in operands))
    raise RelaxError(f"'{ast.unparse(node)}' is no index computed from {', '.join(names)} with + - * // %")
