# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scopes of symbols. Facts in a branch or loop body apply only there, facts outside apply inside as well."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, takewhile

from ....bindings.ir import Block, Operation, Type
from ....bindings.navigation import blocks_of, body_of, operations_of
from ....dialects.core.substitute import has_sized_attributes, symbols_of, symbols_of_operation

#: Numbers of the blocks that enclose an operation within the function's body.
Path = tuple[int, ...]


class Scopes:
    """Operations of a function outside of nested modules, their blocks, and the definitions of symbols."""

    def __init__(self, function: Operation):
        self._paths: dict[Operation, Path] = {}
        #: First occurrence of each symbol: parameters at -1, operations counted from the beginning.
        self.places: dict[str, int] = {}
        #: Innermost block that contains all uses of a symbol.
        self._homes: dict[str, Path] = {}
        self._seen: dict[Type, Path] = {}
        self._numbers = count()
        for argument in body_of(function).arguments:
            self._note(symbols_of(argument.type), -1, ())
        for block in blocks_of(function):
            # The first block always runs.
            self._visit(block, () if block == body_of(function) else (next(self._numbers),))

    def _visit(self, block: Block, path: Path) -> None:
        for operation in operations_of(block):
            self._add(operation, path)
            if len(operation.regions) and operation.name != "builtin.module":
                for inside in blocks_of(operation):
                    self._visit(inside, (*path, next(self._numbers)))

    @property
    def operations(self) -> Iterable[Operation]:
        return self._paths

    def _add(self, operation: Operation, path: Path) -> None:
        place = len(self._paths)
        self._paths[operation] = path
        types = [*[value.type for value in operation.operands], *operation.results.types]
        new = [type_ for type_ in types if self._seen.get(type_) != path]
        if new or len(operation.regions) or has_sized_attributes(operation):
            self._note(symbols_of_operation(operation), place, path)
            self._seen.update(dict.fromkeys(new, path))

    def _note(self, names: Iterable[str], place: int, path: Path) -> None:
        for name in sorted(names):
            self.places.setdefault(name, place)
            self._homes[name] = _common(self._homes.get(name, path), path)

    def is_always_run(self, operation: Operation) -> bool:
        """Check whether the operation runs whenever the function does."""
        return not self._paths[operation]

    def may_tell(self, operation: Operation, name: str, others: Iterable[str]) -> bool:
        """Check whether an operation runs wherever a symbol is known, and whether the other symbols are known there,
        too.
        """
        home, path = self._homes[name], self._paths[operation]
        return _encloses(path, home) and all(_encloses(self._homes[text], home) for text in others)


def _encloses(outer: Path, inner: Path) -> bool:
    return inner[: len(outer)] == outer


def _common(one: Path, other: Path) -> Path:
    same = (pair[0] == pair[1] for pair in zip(one, other, strict=False))
    return one[: sum(1 for _ in takewhile(bool, same))]
