# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interprocedural dead code elimination. Upstream's passes know neither PrimFuncs nor what calls do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.navigation import functions_in, symbol_name
from ...bindings.patterns import apply_greedy
from ...support.errors import OptionError
from ...support.suggest import suggest
from ..core.base import Pass
from ..core.registry import register_pass
from .dead_code.dead_functions import remove_unreachable, remove_unused_calls
from .dead_code.signatures import narrow_signatures

# A round removes one level of calls with results that are unread parameters of other calls. Few programs need a third.
_MOST_ROUNDS = 16


@register_pass
@dataclass(frozen=True)
class DeadCodeElimination(Pass):
    """Remove dead code: operators, functions, and parameters and results of private functions.

    Public functions stay as they are, and so do the entry functions.
    """

    name: ClassVar[str] = "relax-dead-code-elimination"

    #: Functions that stay, with all functions that they call. Default: all public functions.
    entry_functions: tuple[str, ...] = ()

    def run(self, op: Operation) -> None:
        known = [symbol_name(function) for function in functions_in(op)]
        for entry in self.entry_functions:
            if entry not in known:
                raise OptionError(f"pass '{self.name}': there is no function @{entry}{suggest(entry, known)}")
        # Unreachable functions go first: no other work on them is needed.
        remove_unreachable(op, self.entry_functions)
        for _ in range(_MOST_ROUNDS):
            apply_greedy(op, [], what=self.name)
            changed = remove_unused_calls(op)
            changed |= narrow_signatures(op, self.entry_functions)
            if not changed:
                break
        remove_unreachable(op, self.entry_functions)
