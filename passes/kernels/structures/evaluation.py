# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbolic evaluation of a body: each result element as an expression of input elements.

Two bodies have equal terms if they compute the same in the same way. Names of values and the distribution of
elementwise work over operations do not matter. Loops of a result are numbered by its axes, reduction loops by their
role. Operands of commutative operators are sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import permutations, product
from math import factorial, prod
from typing import Any, NamedTuple, TypeVar

from ....bindings.affine import ADD, CEILDIV, FLOORDIV, MOD, MUL, plain_dim, value_of
from ....bindings.ir import AffineExpr, AffineMap
from .reading import Axis, BodyStep, Generic, ReadBody, Region, Unreadable

T = TypeVar("T")

#: Most orders tried for inputs or loops that look alike.
MOST_ORDERS = 24
# Reading one tensor at many indices can take more terms than the body has operations.
_MOST_TERMS = 20_000
_MOST_LITERALS = 64
_SIGNS = {MUL: "*", MOD: "mod", FLOORDIV: "//", CEILDIV: "ceil//"}


class Wildcard(NamedTuple):
    """A literal that matches any number."""

    name: str


Literal = float | Wildcard


class Term(NamedTuple):
    """A value: a digest without literals, and the literals in the digest's order."""

    key: bytes
    literals: tuple[Literal, ...] = ()

    @property
    def order(self) -> tuple[bytes, str]:
        return self.key, repr(self.literals)


def term(what: str, *parts: Term) -> Term:
    digest = blake2b(what.encode(), digest_size=16)
    for part in parts:
        digest.update(part.key)
    literals = tuple(literal for part in parts for literal in part.literals)
    if len(literals) > _MOST_LITERALS:
        raise Unreadable("has too many literals")
    return Term(digest.digest(), literals)


def sorted_term(what: str, parts: Iterable[Term]) -> Term:
    return term(what, *sorted(parts, key=lambda part: part.order))


def orders(items: Sequence[T], color: Callable[[T], Any]) -> list[tuple[T, ...]]:
    """Return the items sorted by color, with every order of equal colors unless there are too many."""
    groups: dict[Hashable, list[T]] = {}
    for item in sorted(items, key=color):
        groups.setdefault(color(item), []).append(item)
    if prod(factorial(len(group)) for group in groups.values()) > MOST_ORDERS:
        return [tuple(item for group in groups.values() for item in group)]
    ways = product(*(permutations(group) for group in groups.values()))
    return [tuple(item for group in way for item in group) for way in ways]


class Evaluation:
    """Terms of a body with labelled inputs."""

    def __init__(self, body: ReadBody, labels: Mapping[int, str]):
        self.body = body
        self._terms = 0
        names = {value: f"in {label}" for value, label in labels.items()}
        names |= {value: f"out {index}" for index, value in enumerate(body.outputs)}
        known = {value: term(name) for value, name in names.items()}
        known |= {value: _literal(body, value, Wildcard(name)) for value, name in body.literals.items()}
        #: Axes of parameters that have a size, by the representative axis.
        self._sizes: dict[Axis, list[str]] = {}
        ends = [(f"out {index}", value) for index, value in enumerate(body.region.results)]
        for name, value in (*((name, value) for value, name in names.items()), *ends):
            for axis in range(len(body.types[value].sizes or ())):
                self._sizes.setdefault(body.axis_of((value, axis)), []).append(f"{name} {axis}")
        self._outermost = Env(self, body.region, known, (), None)

    def results(self) -> Term:
        """Return a term for the body's results and assertions."""
        env = self._outermost
        env.run()
        given = [env.element(value, _loops(len(self.body.types[value].sizes or ()))) for value in env.region.results]
        asserted = [step for step in env.region.steps if step.name == "tir.assert"]
        kept = sorted_term("asserts", (term(each.attributes, env.value(each.operands[0])) for each in asserted))
        return term("body", *given, kept)

    def count(self) -> None:
        self._terms += 1
        if self._terms > _MOST_TERMS:
            raise Unreadable("is too long")

    def size(self, axis: Axis, env: Env) -> Term:
        """Return a size by the parameters that have it, or else by its value."""
        body = self.body
        if (same := body.axis_of(axis)) in self._sizes:
            return term("size " + ", ".join(sorted(set(self._sizes[same]))))
        sizes = body.types[axis[0]].sizes
        if sizes is not None and sizes[axis[1]] is not None:
            return term(f"{sizes[axis[1]]}")
        step, index = body.makers.get(axis[0], (None, 0))
        if step is not None and step.generic is not None:
            # The size of a generic's result is that of its output operand. The result's own term would begin with its
            # sizes.
            return self.size((step.operands[step.generic.input_count + index], axis[1]), env)
        if step is None or sizes is None or step.name != "tensor.empty":
            return term(f"size {axis[1]}", env.whole(axis[0]))
        return env.value(step.operands[sum(size is None for size in sizes[: axis[1]])])

    def apply(self, map_: AffineMap, loops: Sequence[Term]) -> tuple[Term, ...]:
        return tuple(self._affine(expression, loops) for expression in map_.results)

    def _affine(self, expression: AffineExpr, loops: Sequence[Term]) -> Term:
        """Return the term of an affine expression. Sums are flattened because the order of summands does not matter."""

        def join(sign: str, left: list[Term], right: list[Term]) -> list[Term]:
            return [*left, *right] if sign == ADD else [term(_SIGNS[sign], _sum(left), _sum(right))]

        summands = value_of(expression, lambda dim: [loops[dim]], join, lambda value: [term(f"{value}")])
        return _sum(summands)


class Env:
    """Values of a region in one iteration."""

    def __init__(
        self, whole: Evaluation, region: Region, known: Mapping[int, Term], loops: tuple[Term, ...], outer: Env | None
    ):
        self.evaluation, self.region, self.loops, self._outer = whole, region, loops, outer
        self._known = dict(known)
        own = [*region.arguments, *(value for step in region.steps for value in step.results)]
        self._own = frozenset(own)
        self._elements: dict[tuple[int, tuple[Term, ...]], Term] = {}
        self._depth: int = 0 if outer is None else outer._depth + 1

    def run(self) -> None:
        """Evaluate all values other than tensors, in order."""
        types = self.evaluation.body.types
        for step in self.region.steps:
            if step.results and all(types[value].sizes is None for value in step.results):
                self.value(step.results[0])

    def yielded(self) -> list[Term]:
        self.run()
        return [self.value(value) for value in self.region.results]

    def value(self, value: int) -> Term:
        """Return the term of a number or of a whole tensor."""
        home = self._home(value)
        if value not in home._known:
            self.evaluation.count()
            step, index = self.evaluation.body.makers[value]
            is_tensor = self.evaluation.body.types[value].sizes is not None
            home._known[value] = home._tensor(value, step, index) if is_tensor else home._number(value, step, index)
        return home._known[value]

    whole = value

    def element(self, value: int, at: tuple[Term, ...]) -> Term:
        """Return the term of a tensor element."""
        home = self._home(value)
        key = value, at
        if key not in home._elements:
            self.evaluation.count()
            home._elements[key] = home._element(value, at)
        return home._elements[key]

    def _home(self, value: int) -> Env:
        env: Env | None = self
        while env is not None and value not in env._own:
            env = env._outer
        assert env is not None, value
        return env

    def _element(self, value: int, at: tuple[Term, ...]) -> Term:
        step, index = self.evaluation.body.makers.get(value, (None, 0))
        if step is not None and step.name == "tensor.cast":
            return self.element(step.operands[0], at)
        if step is not None and step.name == "arith.constant":
            return _literal(self.evaluation.body, value, step.number)
        if step is None or step.generic is None or not _is_pointwise(step.generic):
            return term("at", self.whole(value), *at)
        loops: list[Term] = [term("")] * len(step.generic.is_reduction)
        for expression, place in zip(step.generic.maps[step.generic.input_count].results, at, strict=True):
            loops[plain_dim(expression) or 0] = place
        return self._iteration(step, tuple(loops), step.generic.maps).yielded()[index]

    def _iteration(self, step: BodyStep, loops: tuple[Term, ...], maps: Sequence[AffineMap], sums: int = 0) -> Env:
        """Evaluate the body of a generic at a point of its loops. The last `sums` operands are accumulators."""
        types = self.evaluation.body.types
        region = step.regions[0]
        known: dict[int, Term] = {}
        operands = list(zip(region.arguments, step.operands, maps, strict=True))
        used = _find_used(region)
        for place, (argument, operand, map_) in enumerate(operands):
            if place >= len(operands) - sums:
                known[argument] = term(f"sum {place - len(operands)}")
            elif types[operand].sizes is None:
                known[argument] = self.value(operand)
            elif argument in used:
                known[argument] = self.element(operand, self.evaluation.apply(map_, loops))
        return Env(self.evaluation, region, known, loops, self)

    def _tensor(self, value: int, step: BodyStep, index: int) -> Term:
        type_ = self.evaluation.body.types[value]
        if step.name == "tensor.cast":
            return self.whole(step.operands[0])
        if step.name == "tensor.empty" or (step.generic is not None and _is_pointwise(step.generic)):
            own = range(len(type_.sizes or ()))
            sizes = [self.evaluation.size((value, axis), self) for axis in own]
            filled = [] if step.name == "tensor.empty" else [self.element(value, _loops(len(own)))]
            return term(f"tensor of {type_.text}", *sizes, *filled)
        if step.generic is None:
            return self._operation(value, step, index)
        return term(f"result {index}", self._reduction(step, step.generic))

    def _reduction(self, step: BodyStep, generic: Generic) -> Term:
        """Evaluate a reduction.

        Loops over result axes have the axes' numbers, the others the order with the least term.
        """
        count = len(step.operands) - generic.input_count
        rank = len(generic.is_reduction)
        if (dims := _result_dims(generic)) is None:
            return self._reduce(step, generic, tuple(term(f"raw {dim}") for dim in range(rank)), count)
        loops = {dim: term(f"loop {axis}") for axis, dim in enumerate(dims)}
        others = [dim for dim in range(rank) if dim not in loops]

        def over(labels: Mapping[int, str]) -> Term:
            named = loops | {dim: term(f"over {label}") for dim, label in labels.items()}
            return self._reduce(step, generic, tuple(named[dim] for dim in range(rank)), count)

        if len(others) < 2:
            return over(dict.fromkeys(others, "0"))
        colors = {dim: over({each: "this" if each == dim else "other" for each in others}) for dim in others}
        ways = orders(others, lambda dim: colors[dim].order)
        found = [over({dim: str(number) for number, dim in enumerate(way)}) for way in ways]
        return min(found, key=lambda each: each.order)

    def _reduce(self, step: BodyStep, generic: Generic, loops: tuple[Term, ...], count: int) -> Term:
        sizes = [
            term("range", loops[dim], self.evaluation.size(self._axis_of(step, generic, dim), self))
            for dim in range(len(loops))
        ]
        yielded = self._iteration(step, loops, generic.maps, sums=count).yielded()
        written = range(generic.input_count, len(step.operands))
        begun = [self.element(step.operands[i], self.evaluation.apply(generic.maps[i], loops)) for i in written]
        places = [each for i in written for each in self.evaluation.apply(generic.maps[i], loops)]
        return term("reduction", sorted_term("ranges", sizes), *yielded, *begun, *places)

    def _axis_of(self, step: BodyStep, generic: Generic, dim: int) -> Axis:
        """Return an axis that a loop iterates over."""
        for value, map_ in zip(step.operands, generic.maps, strict=True):
            for axis, expression in enumerate(map_.results):
                if plain_dim(expression) == dim:
                    return value, axis
        raise Unreadable("has a loop over no axis")

    def _number(self, value: int, step: BodyStep, index: int) -> Term:
        if step.name == "arith.constant":
            return _literal(self.evaluation.body, value, step.number)
        if step.name == "linalg.index":
            return self.loops[int(step.number or 0)] if self.loops else self._outer_loop(step)
        if step.name == "tensor.extract":
            tensor, *at = step.operands
            return self.element(tensor, tuple(self.value(each) for each in at))
        if step.name == "tensor.dim":
            axis, _ = self.evaluation.body.makers.get(step.operands[1], (None, 0))
            if axis is not None and axis.number is not None:
                return self.evaluation.size((step.operands[0], int(axis.number)), self)
        return self._operation(value, step, index)

    def _outer_loop(self, step: BodyStep) -> Term:
        assert self._outer is not None
        return self._outer.loops[int(step.number or 0)] if self._outer.loops else self._outer._outer_loop(step)

    def _operation(self, value: int, step: BodyStep, index: int) -> Term:
        operands = [self.value(operand) for operand in step.operands]
        what = f"{step.name} {{{step.attributes}}} {index}: {self.evaluation.body.types[value].text}"
        inside = [self._inner(region) for region in step.regions]
        return sorted_term(what, operands) if step.is_commutative else term(what, *operands, *inside)

    def _inner(self, region: Region) -> Term:
        arguments = {
            argument: term(f"argument {self._depth} {place}") for place, argument in enumerate(region.arguments)
        }
        return term(region.end, *Env(self.evaluation, region, arguments, (), self).yielded())


def _literal(body: ReadBody, value: int, number: Literal | None) -> Term:
    type_ = body.types[value]
    if number is None:
        raise Unreadable("contains a constant that is no number")
    if type_.element == "index" and not isinstance(number, Wildcard):
        return term(f"{int(number)}")
    return Term(term(f"literal {type_.element}").key, (number,))


def _loops(count: int) -> tuple[Term, ...]:
    return tuple(term(f"loop {axis}") for axis in range(count))


def _result_dims(generic: Generic) -> list[int] | None:
    """Return the loops of the results' axes, in order, or None if a map is no plain projection."""
    maps = generic.maps[generic.input_count :]
    dims = [plain_dim(expression) for expression in maps[0].results]
    is_plain = None not in dims and len(set(dims)) == len(dims) and all(map_ == maps[0] for map_ in maps)
    return [dim for dim in dims if dim is not None] if is_plain else None


def _is_pointwise(generic: Generic) -> bool:
    """Check whether each element of the results is computed independently, once."""
    dims = _result_dims(generic)
    return dims is not None and not any(generic.is_reduction) and len(dims) == len(generic.is_reduction)


def _find_used(region: Region) -> frozenset[int]:
    used = set(region.results)
    for step in region.steps:
        used.update(step.operands)
        for inner in step.regions:
            used |= _find_used(inner)
    return frozenset(used)


def _sum(summands: Sequence[Term]) -> Term:
    return summands[0] if len(summands) == 1 else sorted_term("+", summands)
