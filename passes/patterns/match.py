# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pattern matching: search for matches, and reasons for failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ...bindings.ir import Operation
from ...bindings.navigation import operations_in
from ...dialects.tir.prim_func import is_prim_func
from ...support.errors import RelaxError
from ...support.suggest import shortened
from .compiled import matcher
from .matched import Match, refusal_of
from .tree import Bound, Checked, GraphPattern, Subject, maker_of, subject_of

#: Linked list of goals: a pattern, and its subject.
_Goals = tuple[GraphPattern, Subject, "_Goals"] | None


class Refusal(NamedTuple):
    """Reason why a pattern does not match: the failed part, and its subject."""

    part: GraphPattern
    subject: Subject
    reason: str
    #: Number of parts that matched before.
    progress: int

    def __str__(self) -> str:
        op = maker_of(self.subject)
        what = "an argument" if op is None else op.name
        if isinstance(self.part, Checked):  # its answer is about the whole match
            return self.reason if self.reason.startswith(f"{what}: ") else f"{what}: {self.reason}"
        problem = self.reason if what in self.reason else f"{what} {self.reason}"
        return f"{problem}; pattern: {shortened(str(self.part))}"


def matches_of(pattern: GraphPattern, op: Operation, is_across: bool = False) -> Iterator[Match]:
    """Yield the matches of a pattern for the results of an operation, preferred ones first.

    With `is_across`, parts may be in blocks around the operation's block, too.
    """
    return _Search(pattern, op, is_across).matches()


def match(pattern: GraphPattern, op: Operation, is_across: bool = False) -> Match | None:
    """Return the first match of a pattern for the results of an operation, or None."""
    compiled = matcher(pattern, is_across)
    return compiled(op) if compiled is not None else next(matches_of(pattern, op, is_across), None)


def why_not(pattern: GraphPattern, op: Operation) -> Refusal | None:
    """Return the reason why a pattern does not match, from the longest attempt, or None if it matches."""
    search = _Search(pattern, op)
    return None if next(search.matches(), None) is not None else search.refusal


class _Search:
    """Search for a pattern's matches at an operation."""

    def __init__(self, pattern: GraphPattern, root: Operation, is_across: bool = False):
        self._pattern, self._root, self._block, self._is_across = pattern, root, root.block, is_across
        self._bound = Bound()
        # Choice points: the number of bound parts, and the goals of the alternative.
        self._choices: list[tuple[int, _Goals]] = []
        #: Refusal of the longest attempt.
        self.refusal: Refusal | None = None

    def matches(self) -> Iterator[Match]:
        self._choices.append((0, (self._pattern, subject_of(self._root), None)))
        while self._choices:
            progress, goals = self._choices.pop()
            while len(self._bound) > progress:
                self._bound.popitem()
            if (found := self._reach(goals)) is not None:
                yield found

    def _reach(self, goals: _Goals) -> Match | None:
        while goals is not None:
            pattern, subject, goals = goals
            if pattern in self._bound:
                if self._bound[pattern] != subject:
                    self._refuse(pattern, subject, "differs from the value that this part matched elsewhere")
                    return None
                continue
            if isinstance(ways := pattern.ways(subject, self._bound), str):
                self._refuse(pattern, subject, ways)
                return None
            self._bound[pattern] = subject
            for way in reversed(ways[1:]):
                self._choices.append((len(self._bound), _prepend(way, goals)))
            goals = _prepend(ways[0], goals)
        return self._check()

    def _check(self) -> Match | None:
        match = Match(self._pattern, self._root, dict(self._bound))
        for part, subject in self._bound.items():
            if part.is_asked_last:
                reason = refusal_of(part, match) if isinstance(part, Checked) else self._refusal_of_op(subject)
                if reason:
                    self._refuse(part, subject, reason)
                    return None
        return match

    def _refusal_of_op(self, subject: Subject) -> str:
        op = self._bound.maker(subject)
        is_here = self._is_across or op is None or op == self._root or op.block == self._block
        return "" if is_here else "is in another block"

    def _refuse(self, part: GraphPattern, subject: Subject, reason: str) -> None:
        if self.refusal is None or len(self._bound) > self.refusal.progress:
            self.refusal = Refusal(part, subject, reason, len(self._bound))


def _prepend(way: Sequence[tuple[GraphPattern, Subject]], goals: _Goals) -> _Goals:
    for pattern, subject in reversed(way):
        goals = (pattern, subject, goals)
    return goals


def by_head(patterns: Iterable[GraphPattern]) -> dict[str, list[GraphPattern]]:
    """Group patterns by the names of operations that they can begin with, in order."""
    graph_patterns: dict[str, list[GraphPattern]] = defaultdict(list)
    for pattern in patterns:
        if pattern.heads is None:
            raise RelaxError(f"pattern {pattern}: it must begin with an operator; {pattern.text} matches anything")
        for name in pattern.heads:
            graph_patterns[name].append(pattern)
    return graph_patterns


def find(root: Any, pattern: GraphPattern) -> Iterator[Match]:
    """Yield the matches in a module or an operation, in program order. Matches may overlap."""
    from ..kernels.structures.prim_funcs import KnownPrimFuncs, remembering  # takes long to import

    candidates, known = by_head([pattern]), KnownPrimFuncs()
    for op in operations_in(root.operation, is_prim_func):
        if op.name in candidates:
            with remembering(known):
                found = match(pattern, op)
            if found is not None:
                yield found
