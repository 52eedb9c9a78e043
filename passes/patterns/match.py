# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a pattern matches, and what is known of a match."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, cmp_to_key
from typing import Any, NamedTuple

from ...bindings.ir import Operation, Value
from ...bindings.navigation import operations_in, users_of
from ...dialects.tir.prim_func import is_prim_func
from ...support.errors import RelaxError
from ...support.suggest import suggest
from ..canonicalize.constants import is_constant
from ..structures.prim_funcs import KnownPrimFuncs, remembering
from ..structures.structure import Structure
from .calls import Found
from .operators import Op
from .outputs import Outputs
from .tree import Bound, Checked, GraphPattern, Named, Subject, maker_of, subject_of, walk

#: What has to match what, and then the rest.
_Goals = tuple[GraphPattern, Subject, "_Goals"] | None


class Match:
    """What a pattern has matched. `match["x"]` is the value of the part that is named so."""

    def __init__(self, pattern: GraphPattern, root: Operation, bound: Mapping[GraphPattern, Subject]):
        self.pattern = pattern
        #: The operation that it was found at: the one that makes the pattern's value, the first of several.
        self.root = root
        self._bound = bound

    def __getitem__(self, name: str) -> Value:
        found = self.get(name)
        if found is None:
            known = sorted({part.name for part in walk(self.pattern) if isinstance(part, Named)})
            raise RelaxError(f"pattern {self.pattern}: no part named '{name}' has matched{suggest(name, known)}")
        return found

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def get(self, name: str) -> Value | None:
        """The value of a part; None where what may be there is not."""
        return next(iter(self.all(name)), None)

    def all(self, name: str) -> list[Value]:
        """The values of all parts of a name: of those that are repeated, the last one first."""
        found = [subject for part, subject in self._bound.items() if isinstance(part, Named) and part.name == name]
        return [subject for subject in found if isinstance(subject, Value)]

    @cached_property
    def operations(self) -> list[Operation]:
        """What the pattern's operators have matched, in the order of the program."""
        makers = {maker_of(subject): None for part, subject in self._bound.items() if isinstance(part, Op)}
        return sorted((op for op in makers if op is not None), key=cmp_to_key(_order))

    @cached_property
    def outputs(self) -> list[Operation]:
        """What makes the pattern's value; where it is several, each of them."""
        patterns = self.pattern.outputs if isinstance(self.pattern, Outputs) else (self.pattern,)
        makers = (maker_of(self._bound[each]) for each in patterns)
        return [op for op in makers if op is not None]

    @cached_property
    def inputs(self) -> list[Value]:
        """What the operations read that others make, in the order of reading."""
        inside = set(self.operations)
        read = (value for op in self.operations for value in op.operands)
        return list(dict.fromkeys(value for value in read if maker_of(value) not in inside))

    @property
    def constants(self) -> list[Value]:
        return [value for value in self.inputs if is_constant(value)]

    @cached_property
    def results(self) -> list[Value]:
        """What the operations give to others."""
        inside = set(self.operations)
        made = (value for op in self.operations for value in op.results)
        return [value for value in made if any(user not in inside for user in users_of(value))]

    @cached_property
    def structures(self) -> dict[GraphPattern, Structure]:
        """For patterns of calls, the structure that each was found to have."""
        return {part.part: part.structure for part in self._bound if isinstance(part, Found)}

    def literal(self, name: str) -> float:
        """The number that stands in a PrimFunc's body where a structure has a literal of this name."""
        literals = {
            key: each for part in self._bound if isinstance(part, Found) for key, each in part.binding.literals.items()
        }
        if name not in literals:
            raise RelaxError(f"pattern {self.pattern}: no literal named '{name}' has matched{suggest(name, literals)}")
        return literals[name]

    def is_used_outside(self, part: GraphPattern | Value) -> bool:
        """Whether others use the value as well."""
        subject = self._bound.get(part) if isinstance(part, GraphPattern) else part
        values = [subject] if isinstance(subject, Value) else subject.results if subject is not None else []
        inside = set(self.operations)
        return any(user not in inside for value in values for user in users_of(value))

    def __repr__(self) -> str:
        return f"<match of {self.pattern} at {self.root.location}>"


class Refusal(NamedTuple):
    """Why a pattern does not match: the part that does not, and what there is in its place."""

    part: GraphPattern
    subject: Subject
    reason: str
    #: How much has matched before.
    progress: int

    def __str__(self) -> str:
        op = maker_of(self.subject)
        what = "an argument" if op is None else op.name
        if isinstance(self.part, Checked):  # its words are said of all that has matched
            return f"{what}: {self.reason}"
        return f"{self.part}: {'' if what in self.reason else what + ' '}{self.reason}"


def matches_of(pattern: GraphPattern, op: Operation) -> Iterator[Match]:
    """The ways in which a pattern matches the results of an operation, preferred ones first."""
    return _Search(pattern, op).matches()


def match(pattern: GraphPattern, op: Operation) -> Match | None:
    """How a pattern matches the results of an operation, if it does."""
    return next(matches_of(pattern, op), None)


def why_not(pattern: GraphPattern, op: Operation) -> Refusal | None:
    """What keeps a pattern from matching: where most of it does. None where it matches."""
    search = _Search(pattern, op)
    return None if next(search.matches(), None) is not None else search.refusal


class _Search:
    """The search for a pattern's matches at an operation."""

    def __init__(self, pattern: GraphPattern, root: Operation):
        self._pattern, self._root, self._block = pattern, root, root.block
        self._bound = Bound()
        # Where something else can be tried: how much was bound there, and what is to match then.
        self._choices: list[tuple[int, _Goals]] = []
        #: That of the attempt that got furthest.
        self.refusal: Refusal | None = None

    def matches(self) -> Iterator[Match]:
        self._choices.append((0, (self._pattern, subject_of(self._root), None)))
        while self._choices:
            progress, goals = self._choices.pop()
            while len(self._bound) > progress:
                self._bound.popitem()
            found = self._reach(goals)
            if found is not None:
                yield found

    def _reach(self, goals: _Goals) -> Match | None:
        while goals is not None:
            pattern, subject, goals = goals
            if pattern in self._bound:
                if self._bound[pattern] != subject:
                    self._refuse(pattern, subject, "is not the value that stands for it elsewhere")
                    return None
                continue
            ways = pattern.ways(subject, self._bound)
            if isinstance(ways, str):
                self._refuse(pattern, subject, ways)
                return None
            self._bound[pattern] = subject
            for way in reversed(ways[1:]):
                self._choices.append((len(self._bound), _before(way, goals)))
            goals = _before(ways[0], goals)
        return self._checked()

    def _checked(self) -> Match | None:
        match = Match(self._pattern, self._root, dict(self._bound))
        for part, subject in self._bound.items():
            if part.is_asked_last:
                reason = part.refusal_of(match) if isinstance(part, Checked) else self._refusal_of_op(subject)
                if reason:
                    self._refuse(part, subject, reason)
                    return None
        return match

    def _refusal_of_op(self, subject: Subject) -> str:
        op = self._bound.maker(subject)
        return "" if op is None or op == self._root or op.block == self._block else "is in another block"

    def _refuse(self, part: GraphPattern, subject: Subject, reason: str) -> None:
        if self.refusal is None or len(self._bound) > self.refusal.progress:
            self.refusal = Refusal(part, subject, reason, len(self._bound))


def _before(way: Sequence[tuple[GraphPattern, Subject]], goals: _Goals) -> _Goals:
    for pattern, subject in reversed(way):
        goals = (pattern, subject, goals)
    return goals


def _order(one: Operation, other: Operation) -> int:
    return 0 if one == other else -1 if one.is_before_in_block(other) else 1


def by_head(patterns: Iterable[GraphPattern]) -> dict[str, list[GraphPattern]]:
    """Patterns by the names of operations that they can begin with, in their order."""
    found: dict[str, list[GraphPattern]] = defaultdict(list)
    for pattern in patterns:
        if pattern.heads is None:
            raise RelaxError(f"pattern {pattern}: it has to begin with an operator; {pattern.text} is anything")
        for name in dict.fromkeys(name for op in pattern.heads for name in op.names):
            found[name].append(pattern)
    return found


def find(root: Any, pattern: GraphPattern) -> Iterator[Match]:
    """The matches in a module or an operation, in the order of the program, of which several may overlap."""
    candidates, known = by_head([pattern]), KnownPrimFuncs()
    for op in operations_in(root.operation, is_prim_func):
        if op.name in candidates:
            with remembering(known):
                found = match(pattern, op)
            if found is not None:
                yield found
