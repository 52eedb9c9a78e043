# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of the matches of codegens' patterns are taken, where they cannot be all: planners, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from ...bindings.ir import Block, Operation, Value
from ...bindings.navigation import address_of, operations_of
from ...support.blaming import blaming
from ...support.errors import RelaxError
from ...support.registry import NamedRegistry
from ..patterns.matched import Match
from ..patterns.prospects import Prospects
from .codegen import Composite
from .roles import Roles, roles_of


class Taken(NamedTuple):
    """Operations of a block that a pattern has matched and that are to become a function."""

    composite: Composite
    operations: Sequence[Operation]
    #: What they read and make, as the pattern calls it; looked for where it is not said.
    roles: Roles | None = None

    @classmethod
    def of(cls, composite: Composite, match: Match) -> Taken:
        return cls(composite, match.operations, roles_of(match))


class Composites(tuple[Composite, ...]):
    """The patterns of codegens, earlier ones first, for the blocks of one module."""

    @cached_property
    def prospects(self) -> Prospects:
        return Prospects([composite.pattern for composite in self])


#: Given a block and the patterns, earlier ones first: what is to be taken of it, one after the other; an operation may
#: be taken once. Each is outlined, and its operations are gone, before the next is asked for.
Planner = Callable[[Block, Sequence[Composite]], Iterator[Taken]]
P = TypeVar("P", bound=Planner)


def prospects_of(composites: Sequence[Composite]) -> Prospects:
    """Where each of the patterns is worth being tried."""
    return (composites if isinstance(composites, Composites) else Composites(composites)).prospects


_PLANNERS = NamedRegistry[Planner]("a planner", families=f"{__package__}.planners")


def register_planner(name: str) -> Callable[[P], P]:
    """Registers a planner, for relax-partition{plan=name}; use it as a decorator."""

    def register(planner: P) -> P:
        _PLANNERS.register(name, planner)
        return planner

    return register


def find_planner(name: str) -> Planner:
    return _PLANNERS.get(name)


def planned(name: str, block: Block, composites: Sequence[Composite]) -> Iterator[Taken]:
    """What a planner takes, one after the other. Raises RelaxError, whatever is wrong with it."""
    planner = find_planner(name)
    with blaming(f"planner '{name}'", planner):
        found: Iterable[Taken] = planner(block, composites)
        standing = _Standing(block)
        if isinstance(found, Sequence):
            # All are there yet: what is taken is gone, and must not be looked at again.
            _check(name, [op for each in found for op in _operations_of(name, each)], standing)
            yield from found
            return
        for taken in found:
            _check(name, _operations_of(name, taken), standing)
            standing.take(taken.operations)
            yield taken


class _Standing:
    """The operations of a block by their addresses: a handle of what is gone must not be looked at, or it crashes."""

    def __init__(self, block: Block):
        self._block = block
        self._addresses = self._found()

    def _found(self) -> set[int]:
        return {address_of(op) for op in operations_of(self._block)}

    def holds(self, op: Operation) -> bool:
        address = address_of(op)
        if address not in self._addresses:
            self._addresses = self._found()  # calls have come to stand there
        return address in self._addresses

    def take(self, operations: Sequence[Operation]) -> None:
        self._addresses.difference_update(map(address_of, operations))


def _operations_of(name: str, taken: object) -> Sequence[Operation]:
    if not isinstance(taken, Taken):
        raise RelaxError(f"planner '{name}' gave {taken!r}, not rx.codegens.Taken")
    return taken.operations


def _check(name: str, operations: Sequence[Operation], standing: _Standing) -> None:
    """Refuses what is not in the block, or not any more, and what is taken twice."""
    taken: set[Value] = set()
    for op in operations:
        if not standing.holds(op.operation):
            raise RelaxError(f"planner '{name}' takes an operation twice, or one that is not in the block it is given")
        if not len(op.results):
            raise RelaxError(f"planner '{name}' takes {op.operation.name}: only operations with results can go")
        if op.results[0] in taken:
            raise RelaxError(f"planner '{name}' takes {op.operation.name} twice")
        taken.add(op.results[0])
