# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partition of a model for external codegens: matches of their patterns are merged, as external modules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation
from ...support.errors import OptionError
from ..core.base import Pass
from ..core.journal import Journal
from ..core.registry import register_pass
from .partition.codegen import parse_codegen
from .partition.planning import find_planner
from .partition.report import Census
from .relax_fuse_ops_by_pattern import FuseOpsByPattern
from .relax_merge_composite_functions import MergeCompositeFunctions
from .relax_outline_external import OutlineExternal


@register_pass
@dataclass(frozen=True)
class Partition(Pass):
    """Move the operators that match codegens' patterns into external modules, and note the result in the journal.

    The steps are relax-fuse-ops-by-pattern, which outlines composite functions, relax-merge-composite-functions and
    relax-outline-external.
    """

    name: ClassVar[str] = "relax-partition"
    sees_externals: ClassVar[bool] = True

    #: Codegens in the order of priority.
    codegens: tuple[str, ...] = ()
    #: Planner that assigns operators: priority (order of codegens and patterns), cost, or a registered planner.
    plan: str = "priority"
    #: Note the reason for each operator that stays with the target.
    explain: bool = False
    #: Functions to search. Default: all functions without relax.codegen and relax.composite.
    entry_functions: tuple[str, ...] = ()
    #: Keep each match in a separate part for any codegen, to isolate wrong results.
    separate: bool = False

    def __post_init__(self) -> None:
        codegens: object = self.codegens
        if isinstance(codegens, (str, bytes)) or not isinstance(codegens, Sequence):
            raise OptionError(f"pass '{self.name}': codegens= expects a list of names, got {self.codegens!r:.60}")
        if not self.codegens:
            raise OptionError(f"pass '{self.name}': codegens= names no codegen")
        find_planner(self.plan)

    def run(self, op: Operation) -> None:
        names = tuple(parse_codegen(codegen).codegen.name for codegen in self.codegens)
        if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
            raise OptionError(f"pass '{self.name}': codegens= names '{twice}' twice")
        is_recorded = Journal.active() is not None
        census = Census(op, names, self.entry_functions, plan=self.plan, explain=self.explain) if is_recorded else None
        passes = (
            FuseOpsByPattern(codegen=names, entry_functions=self.entry_functions, plan=self.plan),
            MergeCompositeFunctions(entry_functions=self.entry_functions, separate=self.separate),
            OutlineExternal(codegen=names),
        )
        for pass_ in passes:
            pass_.prepare(op.context)
            pass_.run(op)
        if census is not None:
            census.tell()
