# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multi-root patterns: several connected values, as three products of one tensor."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from ...bindings.ir import Operation
from ...bindings.navigation import users_of
from ...support.errors import RelaxError
from .operator_patterns import Op
from .tree import MATCHES, Bound, GraphPattern, Repeated, Subject, Ways, subject_of, walk

# How far apart two outputs may be that have a chain of any length between them.
_FAR = 64


class Outputs(GraphPattern):
    """Several values, each of an operation of its own; those behind the first one share a part with one before."""

    def __init__(self, outputs: tuple[GraphPattern, ...]):
        self.outputs = outputs
        known: set[GraphPattern] = set()
        for number, output in enumerate(self.outputs):
            parts = set(walk(output))
            if number and not known & parts:
                raise RelaxError(f"pattern {self}: output {number}, {output}, shares nothing with those before it")
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
    def heads(self) -> tuple[Op, ...] | None:
        return self.outputs[0].heads

    @property
    def text(self) -> str:
        return f"outputs({', '.join(output.text for output in self.outputs)})"


class Beside(GraphPattern):
    """A further output, which is looked for among the users of what is known of it."""

    def __init__(self, output: GraphPattern, whole: Outputs):
        self.output, self.whole = output, whole

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        taken = {bound.maker(bound[each]) for each in self.whole.outputs if each in bound}
        heads = {name for op in self.output.heads or () for name in op.names}
        found = (op for op in self._users(bound) if op not in taken and (not heads or op.name in heads))
        return [((self.output, subject_of(op)),) for op in found] or f"has no {self.output} next to it"

    def _users(self, bound: Bound) -> Iterator[Operation]:
        """Who makes something of the known parts, by operators that the output is made of: nearest first."""
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
    """That no output is a step on the way to another one."""

    def __init__(self, whole: Outputs):
        self.whole = whole

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        ops = [bound.maker(each) for part, each in bound.items() if isinstance(part, Op)]
        outputs = (bound.maker(bound[each]) for each in self.whole.outputs)
        return MATCHES if all(ops.count(op) == 1 for op in outputs) else "is a step on the way to another output"

    @property
    def text(self) -> str:
        return self.whole.text


def _users_of(subject: Subject) -> list[Operation]:
    values = list(subject.results) if isinstance(subject, Operation) else [subject]
    return [user for value in values for user in users_of(value)]


def outputs(*patterns: GraphPattern) -> GraphPattern:
    """Several values at once; each shares a part with one before it: `outputs(matmul(x, q), matmul(x, k))`."""
    if not patterns:
        raise RelaxError("outputs() needs a pattern")
    return patterns[0] if len(patterns) == 1 else Outputs(patterns)
