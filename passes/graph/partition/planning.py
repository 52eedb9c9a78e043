# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planners, by name, which choose among overlapping matches of codegens' patterns."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar, cast

from ....bindings.ir import Block, Operation, Value
from ....bindings.navigation import address_of, operations_of
from ....support.blaming import blaming
from ....support.errors import RelaxError
from ....support.registry import NamedRegistry
from ...patterns.matched import Match
from ...patterns.prospects import Prospects
from .codegen import Composite
from .roles import Roles, roles_of


class Taken(NamedTuple):
    """Matched operations of a block that become a function."""

    composite: Composite
    operations: Sequence[Operation]
    #: Roles of the operations' values in the pattern. Without roles the match is searched again.
    roles: Roles | None = None

    @classmethod
    def of(cls, composite: Composite, match: Match) -> Taken:
        return cls(composite, match.operations, roles_of(match))


class Composites(tuple[Composite, ...]):
    """Patterns of codegens, earlier ones first, for the blocks of one module."""

    @cached_property
    def prospects(self) -> Prospects:
        return Prospects([composite.pattern for composite in self])


#: Given a block and the patterns, yields the matches to take, one after the other. Earlier patterns come first. Each
#: operation may be taken once. A match is outlined, and its operations are erased, before the next one is requested.
Planner = Callable[[Block, Sequence[Composite]], Iterator[Taken]]
P = TypeVar("P", bound=Planner)
#: Suffix of the files of measured placements, which are planners.
PLACEMENT_SUFFIX = ".placement"


def prospects_of(composites: Sequence[Composite]) -> Prospects:
    """Return for each pattern the operations that are worth a try."""
    return (composites if isinstance(composites, Composites) else Composites(composites)).prospects


_PLANNERS = NamedRegistry[Planner]("a planner", families=f"{__package__}.planners")


def register_planner(name: str) -> Callable[[P], P]:
    """Register a planner for relax-partition{plan=name}. Use it as a decorator."""

    def register(planner: P) -> P:
        _PLANNERS.register(name, planner)
        return planner

    return register


def find_planner(name: str) -> Planner:
    """Return the planner of a name, or of the file of a measured placement."""
    if name.endswith(PLACEMENT_SUFFIX):
        # Imported by name, as planners are: the module needs this one. Most partitions are not measured.
        return cast("Planner", importlib.import_module(".placement", __package__).planner_of(name))
    return _PLANNERS.get(name)


def run_planner(name: str, block: Block, composites: Sequence[Composite]) -> Iterator[Taken]:
    """Yield the matches that a planner takes, one after the other. Raises RelaxError for any error of the planner."""
    planner = find_planner(name)
    with blaming(f"planner '{name}'", planner):
        found: Iterable[Taken] = planner(block, composites)
        standing = _Standing(block)
        if isinstance(found, Sequence):
            # A sequence is complete already. Taken operations are erased, and must not be accessed again.
            _check(name, [op for each in found for op in _operations_of(name, each)], standing)
            yield from found
            return
        for taken in found:
            _check(name, _operations_of(name, taken), standing)
            standing.take(taken.operations)
            yield taken


class _Standing:
    """Addresses of a block's operations: an access by a handle of an erased operation would crash."""

    def __init__(self, block: Block):
        self._block = block
        self._addresses = self._read_addresses()

    def _read_addresses(self) -> set[int]:
        return {address_of(op) for op in operations_of(self._block)}

    def holds(self, op: Operation) -> bool:
        if (address := address_of(op)) not in self._addresses:
            # The block contains new calls.
            self._addresses = self._read_addresses()
        return address in self._addresses

    def take(self, operations: Sequence[Operation]) -> None:
        self._addresses.difference_update(map(address_of, operations))


def _operations_of(name: str, taken: object) -> Sequence[Operation]:
    if not isinstance(taken, Taken):
        raise RelaxError(f"planner '{name}' yielded {taken!r}, expected rx.codegens.Taken")
    return taken.operations


def _check(name: str, operations: Sequence[Operation], standing: _Standing) -> None:
    """Raise an error for operations that are not in the block, or no longer, or taken twice."""
    taken: set[Value] = set()
    for op in operations:
        if not standing.holds(op.operation):
            raise RelaxError(f"planner '{name}' takes an operation twice, or one that is not in its block")
        if not len(op.results):
            raise RelaxError(f"planner '{name}' takes {op.operation.name}: only operations with results can be taken")
        if op.results[0] in taken:
            raise RelaxError(f"planner '{name}' takes {op.operation.name} twice")
        taken.add(op.results[0])
