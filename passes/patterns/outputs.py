# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multi-root patterns: several connected values, such as three products of one tensor."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from ...bindings.ir import Operation
from ...bindings.navigation import users_of
from ...support.errors import RelaxError
from .operator_patterns import Op
from .tree import MATCHES, Bound, GraphPattern, Repeated, Subject, Ways, subject_of, walk

# Largest distance of two outputs that a chain of any length connects.
_FAR = 64


class Outputs(GraphPattern):
    """Pattern of values of different operations. Each output but the first shares a part with an earlier one."""

    def __init__(self, outputs: tuple[GraphPattern, ...]):
        self.outputs = outputs
        known: set[GraphPattern] = set()
        for number, output in enumerate(self.outputs):
            parts = set(walk(output))
            if number and not known & parts:
                raise RelaxError(f"pattern {self}: output {number}, {output}, shares no part with earlier outputs")
            known |= parts

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        first, *others = self.outputs
        op = bound.maker(subject)
        assert op is not None
        return (((first, subject), *((Beside(other, self), op) for other in others), (Apart(self), op)),)

    @property
    def parts(self) -> tuple[GraphPattern, ...]:
        return self.outputs

    @property
    def heads(self) -> tuple[str, ...] | None:
        return self.outputs[0].heads

    @property
    def text(self) -> str:
        return f"outputs({', '.join(output.text for output in self.outputs)})"


class Beside(GraphPattern):
    """Pattern of a further output, searched among the users of its known parts."""

    def __init__(self, output: GraphPattern, whole: Outputs):
        self.output, self.whole = output, whole

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        taken = {bound.maker(bound[output]) for output in self.whole.outputs if output in bound}
        heads = self.output.heads
        ops = (op for op in self._users(bound) if op not in taken and (not heads or op.name in heads))
        return [((self.output, subject_of(op)),) for op in ops] or f"has no {self.output} next to it"

    def _users(self, bound: Bound) -> Iterator[Operation]:
        """Yield the users of the known parts, through operators of the output, nearest first."""
        seen: set[Operation] = set()
        edge = [subject for part, subject in bound.items() if part in self._parts]
        for _ in range(self._reach):
            users = dict.fromkeys(user for each in edge for user in _users_of(each) if user not in seen)
            near = [user for user in users if user.name in self._names]
            seen.update(near)
            yield from near
            edge = list(near)

    @cached_property
    def _parts(self) -> frozenset[GraphPattern]:
        return frozenset(walk(self.output))

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(name for part in self._parts if isinstance(part, Op) for name in part.names)

    @property
    def _reach(self) -> int:
        endless = any(isinstance(part, Repeated) for part in self._parts)
        return _FAR if endless else sum(isinstance(part, Op) for part in self._parts)

    @property
    def text(self) -> str:
        return self.output.text


class Apart(GraphPattern):
    """Condition that no output is an intermediate result of another one."""

    def __init__(self, whole: Outputs):
        self.whole = whole

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        ops = [bound.maker(value) for part, value in bound.items() if isinstance(part, Op)]
        outputs = (bound.maker(bound[output]) for output in self.whole.outputs)
        return MATCHES if all(ops.count(op) == 1 for op in outputs) else "is an intermediate result of another output"

    @property
    def text(self) -> str:
        return self.whole.text


def _users_of(subject: Subject) -> list[Operation]:
    values = list(subject.results) if isinstance(subject, Operation) else [subject]
    return [user for value in values for user in users_of(value)]


def outputs(*patterns: GraphPattern) -> GraphPattern:
    """Return the pattern of several values, connected by shared parts: `outputs(matmul(x, q), matmul(x, k))`."""
    if not patterns:
        raise RelaxError("outputs() needs a pattern")
    return patterns[0] if len(patterns) == 1 else Outputs(patterns)
