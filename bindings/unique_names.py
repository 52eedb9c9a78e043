# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Printing of IR with value names that are unique across all functions.

The bindings do not expose MLIR's option for unique names. Therefore each value gets a temporary name location, and
MLIR prints the location's name instead of its own. The positions of these names identify the values in the usual text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, count

from . import mlir
from .ir import Location, Operation, OperationBase, Value
from .mlir import ir

_OURS = "relax_value_"
# Value name, or a token that can contain a percent sign: a string or a comment.
_NAME = re.compile(rb'"(?:[^"\\\n]|\\.)*"|//[^\n]*|%[\w.$-]+')
_COUNTED = re.compile(rb"(%(?:arg)?)[0-9]+")


def print_asm(operation: Operation, **options: object) -> str:
    """Print like `mlir.print_asm`, with unique names. Numbered names continue the count, other names get a suffix."""
    usual = mlir.print_asm(operation, **options).encode("utf-8", "surrogateescape")
    options |= {"enable_debug_info": False, "pretty_debug_info": False, "use_name_loc_as_prefix": True}
    values = list(_values_in(operation))
    before = [value.location for value in values]
    try:
        for index, value in enumerate(values):
            _set_location(value, ir.Location.name(f"{_OURS}{index}", context=operation.context))
        named = mlir.print_asm(operation, **options).encode("utf-8", "surrogateescape")
    finally:
        for value, location in zip(values, before, strict=True):
            _set_location(value, location)
    return _rename(usual, named).decode("utf-8", "surrogateescape")


def _values_in(operation: Operation) -> Iterator[OperationBase | Value]:
    """Yield operations with results (their results share a name) and block arguments, as separate handles."""
    for region in operation.regions:
        for block in region.blocks:
            yield from block.arguments
            for inner in block.operations:
                if len(inner.operation.results):
                    yield inner.operation
                yield from _values_in(inner.operation)


def _set_location(value: OperationBase | Value, location: Location) -> None:
    if isinstance(value, ir.BlockArgument):
        value.set_location(location)
    else:
        value.location = location


def _rename(usual: bytes, named: bytes) -> bytes:
    ours = (name for name in _NAME.findall(named) if name.startswith(b"%"))
    fresh = _FreshNames()
    return _NAME.sub(lambda match: match[0] if match[0][:1] != b"%" else fresh.of(next(ours), match[0]), usual)


class _FreshNames:
    """Unique names for values, derived from their names within the function."""

    def __init__(self) -> None:
        self._by_value: dict[bytes, bytes] = {}
        self._numbers: dict[bytes, Iterator[int]] = {}
        self._taken: set[bytes] = set()

    def of(self, value: bytes, usual: bytes) -> bytes:
        if value not in self._by_value:
            self._by_value[value] = self._fresh(usual)
        return self._by_value[value]

    def _fresh(self, usual: bytes) -> bytes:
        """Return the next free name: %0 and %arg0 continue the count, and the second %c1 becomes %c1_0."""
        counted = _COUNTED.fullmatch(usual)
        candidates = chain([] if counted else [usual], self._number(counted[1] if counted else usual + b"_"))
        name = next(candidate for candidate in candidates if candidate not in self._taken)
        self._taken.add(name)
        return name

    def _number(self, prefix: bytes) -> Iterator[bytes]:
        for number in self._numbers.setdefault(prefix, count()):
            yield prefix + str(number).encode()
