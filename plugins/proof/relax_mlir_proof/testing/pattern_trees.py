# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expansion of patterns into trees without alternatives, each a graph that the pattern could match."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from relax_mlir.passes.patterns.call_patterns import CallTir
from relax_mlir.passes.patterns.operator_patterns import Every, Filled, Op, ResultPattern
from relax_mlir.passes.patterns.tree import Condition, Const, Either, GraphPattern, OfType, Repeated, Wildcard, walk
from relax_mlir.support.errors import RelaxError

from .core.trees import Leaf, Made, Node, Part, Tree

#: Most trees per pattern.
_MOST_TREES = 32
#: Numbers to try if a pattern has only a test.
_NUMBERS = (0.0, 1.0, float("-inf"), -1.0, 0.5, 2.0, float("inf"))
#: Most repetitions of a repeated pattern beyond the least number.
_MOST_REPEATED = 2


def names_an_operator(pattern: GraphPattern) -> bool:
    """Check whether a pattern is a single operator with any operands."""
    while isinstance(pattern, Condition):
        pattern = pattern.inner
    return isinstance(pattern, Op) and not isinstance(pattern, CallTir) and pattern.operands is None


def trees(pattern: GraphPattern) -> Iterator[Tree]:
    """Yield trees such that each alternative is in at least one, within the limit."""
    pending: deque[tuple[int, ...]] = deque([()])
    names, count = {""}, 0
    while pending and count < _MOST_TREES:
        writer = _Writer(pending.popleft())
        try:
            root = writer.node(pattern)
        except _NotWritable:
            continue
        finally:
            pending.extend(writer.others())
        count += 1
        name = first = "+".join(operator.op.removeprefix("relax.") for operator in writer.operators)
        for number in range(2, _MOST_TREES + 2):
            if name not in names:
                break
            name = f"{first} {number}"
        names.add(name)
        yield Tree(writer.operators, [root], name)


class _NotWritable(RelaxError):
    pass


class _Writer:
    """Expansion of a pattern by stated choices.

    Alternatives take the stated choices in order of occurrence, then always the first one.
    """

    def __init__(self, stated: tuple[int, ...]) -> None:
        self.operators: list[Made] = []
        self._stated, self._taken, self._counts = stated, list[int](), list[int]()
        self._nodes: dict[GraphPattern, Node] = {}

    def others(self) -> Iterator[tuple[int, ...]]:
        """Yield further choices: a single other alternative behind the stated ones."""
        for place in range(len(self._stated), len(self._counts)):
            for choice in range(1, self._counts[place]):
                yield (*self._taken[:place], choice)

    def node(self, pattern: GraphPattern) -> Node:
        """Return the node of a pattern. A pattern used twice is one value."""
        if pattern not in self._nodes:
            self._nodes[pattern] = self._write(pattern)
        return self._nodes[pattern]

    def _choice(self, count: int) -> int:
        place = len(self._taken)
        self._taken.append(self._stated[place] if place < len(self._stated) else 0)
        self._counts.append(count)
        return self._taken[place]

    def _write(self, pattern: GraphPattern) -> Node:
        if isinstance(pattern, Wildcard):
            return Leaf()
        if isinstance(pattern, Const):
            return Leaf(is_constant=True, number=pattern.number)
        if isinstance(pattern, Filled):
            return Leaf(is_constant=True, number=_number(pattern))
        if isinstance(pattern, Either):
            return self.node(sorted(pattern.choices, key=_size)[self._choice(len(pattern.choices))])
        if isinstance(pattern, Repeated):
            return self._repeat(pattern)
        if isinstance(pattern, Condition):
            found = self.node(pattern.inner)
            found.conditions += [pattern] if isinstance(pattern, OfType) else []
            return found
        if isinstance(pattern, ResultPattern):
            of = self.node(pattern.op)
            assert isinstance(of, Made), pattern
            return Part(of=of, index=pattern.index)
        if isinstance(pattern, Op) and not isinstance(pattern, CallTir):
            return self._operator(pattern)
        raise _NotWritable(f"{pattern} is no pattern of operators")

    def _repeat(self, pattern: Repeated) -> Node:
        most = _MOST_REPEATED if pattern.most is None else min(pattern.most - pattern.least, _MOST_REPEATED)
        inner = pattern.inner
        for _ in range(pattern.least + self._choice(most + 1)):
            inner = pattern.around(inner)
        return self.node(inner)

    def _operator(self, pattern: Op) -> Node:
        op = pattern.names[self._choice(len(pattern.names))]
        stated = pattern.by_operator.get(op, pattern.operands)
        operands = None if stated is None else {str(name): self._operand(value) for name, value in stated.items()}
        operator = Made(op=op, operands=operands, attributes=pattern.attributes, is_open=pattern.is_open)
        self.operators.append(operator)
        return operator

    def _operand(self, patterns: tuple[GraphPattern, ...]) -> tuple[Node, ...]:
        if len(patterns) == 1 and isinstance(patterns[0], Every):
            every = patterns[0]
            patterns = tuple(every.make() for _ in range(max(every.least, 2)))
        return tuple(map(self.node, patterns))


def _size(pattern: GraphPattern) -> int:
    """Return the number of operators in a pattern."""
    return sum(isinstance(part, Op) for part in walk(pattern))


def _number(pattern: Filled) -> float:
    for number in _NUMBERS:
        if pattern.test(number, "f32"):
            return number
    raise _NotWritable(f"no number is known that satisfies {pattern}")
