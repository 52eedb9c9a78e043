# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs of a schedule: lookup by name or block, and their loop trees, which are read at the first use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....bindings.ir import Operation
from ....bindings.navigation import functions_at, symbol_name
from ....dialects.tir.prim_func import prim_funcs_in
from ....support.errors import RelaxError
from ....support.suggest import suggest
from .bufferized import Scratch
from .tree import Tree
from .tree_reader import may_have_block


class ScheduledFunctions:
    """PrimFuncs of a module, or one PrimFunc, by symbol."""

    def __init__(self, module: Any) -> None:
        self._module = module
        operation = getattr(module, "operation", module)
        self.operations: dict[str, Operation] = {symbol_name(func): func for func in prim_funcs_in(operation.operation)}
        #: Current trees of the PrimFuncs that have been read.
        self.trees: dict[str, Tree] = {}
        self._reads: dict[str, Scratch] = {}
        if not self.operations:
            raise RelaxError("there is no PrimFunc to schedule: legalize the graph first (relax-legalize-ops)")

    def __iter__(self) -> Iterator[str]:
        return iter(self.operations)

    def __len__(self) -> int:
        return len(self.operations)

    def __contains__(self, name: object) -> bool:
        return name in self.operations

    def tree(self, function: str) -> Tree:
        """Return the current tree of a PrimFunc. Raise RelaxError if the PrimFunc is unknown or cannot be read."""
        if function not in self.operations:
            hint = suggest(str(function), self.operations)
            raise RelaxError(f"there is no PrimFunc {function!r}{hint} (there are {', '.join(self.operations)})")
        if function not in self.trees:
            self.start_from(function, Scratch(self.operations[function]))
        return self.trees[function]

    def scratch(self, function: str) -> Scratch:
        """Return the copy of a PrimFunc that was read."""
        self.tree(function)
        return self._reads[function]

    def start_from(self, function: str, scratch: Scratch) -> None:
        """Use a copy of a PrimFunc that has been read already."""
        self._reads[function], self.trees[function] = scratch, scratch.read.tree

    def block_names(self, function: str) -> list[str]:
        """Return the names of the blocks of a PrimFunc, or an empty list if none can be scheduled."""
        try:
            return [block.name for block in self.tree(function).blocks()]
        except RelaxError:
            return []

    def symbol_of(self, function: str) -> str:
        """Return the symbol of the module's only PrimFunc for the name of a graph function, which calls it."""
        if function in self.operations or len(self.operations) != 1:
            return function
        graphs = [symbol_name(operation) for operation in functions_at(self._module.operation.operation)]
        return next(iter(self.operations)) if function in graphs else function

    def with_block(self, block: str, function: str | None = None) -> str:
        """Return the PrimFunc that has a block. Raise RelaxError if none or several have it."""
        if function is not None:
            return self._checked(block, self.symbol_of(function))
        if len(self.operations) == 1:
            return next(iter(self.operations))
        found = [name for name in self.operations if self._may_have(name, block) and block in self.block_names(name)]
        if len(found) == 1:
            return found[0]
        if not found:
            where = {block_name: name for name in self.operations for block_name in self.block_names(name)}
            listed, hint = ", ".join(f"'{key}' of @{name}" for key, name in where.items()), suggest(block, where)
            raise RelaxError(f"get_block('{block}'): no PrimFunc has such a block{hint} (there are {listed})")
        names = " and ".join(f"@{name}" for name in found)
        raise RelaxError(f"get_block('{block}'): {names} have such a block; say which one: func_name=\"{found[0]}\"")

    def _checked(self, block: str, function: str) -> str:
        if function in self.operations:
            return function
        known = ", ".join(f"@{name}" for name in self.operations)
        hint = suggest(function, self.operations)
        raise RelaxError(f"get_block('{block}'): there is no PrimFunc '{function}'{hint} (there are {known})")

    def _may_have(self, function: str, block: str) -> bool:
        """Return True if a PrimFunc may have a block, without bufferizing the PrimFunc to read it."""
        return function in self.trees or may_have_block(self.operations[function], block)
