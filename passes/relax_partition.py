# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a model go to external codegens: what their patterns match, merged, as external modules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Operation
from ..support.errors import OptionError
from .core.base import Pass
from .core.journal import Journal
from .core.registry import register_pass
from .partition.codegen import parse_codegen
from .partition.planning import find_planner
from .partition.report import Census
from .relax_fuse_ops_by_pattern import FuseOpsByPattern
from .relax_merge_composite_functions import MergeCompositeFunctions
from .relax_outline_external import OutlineExternal


@register_pass
@dataclass(frozen=True)
class Partition(Pass):
    """Makes external modules of what codegens have patterns for: relax-fuse-ops-by-pattern, which composes functions,
    relax-merge-composite-functions, relax-outline-external. What went where is noted in the journal.
    """

    name: ClassVar[str] = "relax-partition"
    sees_externals: ClassVar[bool] = True

    #: In the order of priority.
    codegens: tuple[str, ...] = ()
    #: How it is chosen what goes where: by the order of codegens and patterns, by what it costs, or by a planner of
    #: one's own.
    plan: str = "priority"
    #: Why each operator that stays does so.
    explain: bool = False
    #: The functions to look into; all without codegen or composite otherwise.
    entry_functions: tuple[str, ...] = ()
    #: Whether each match is a part of its own, whatever its codegen says: to find out which of them is wrong.
    separate: bool = False

    def __post_init__(self) -> None:
        given: object = self.codegens
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
            raise OptionError(f"pass '{self.name}': codegens= is a list of names, got {self.codegens!r:.60}")
        if not self.codegens:
            raise OptionError(f"pass '{self.name}': codegens= names no codegen")
        find_planner(self.plan)

    def run(self, op: Operation) -> None:
        names = tuple(parse_codegen(each).codegen.name for each in self.codegens)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise OptionError(f"pass '{self.name}': codegens= names '{twice}' twice")
        is_recorded = Journal.active() is not None
        census = Census(op, names, self.entry_functions, plan=self.plan, explain=self.explain) if is_recorded else None
        passes = (
            FuseOpsByPattern(codegen=names, entry_functions=self.entry_functions, plan=self.plan),
            MergeCompositeFunctions(entry_functions=self.entry_functions, separate=self.separate),
            OutlineExternal(codegen=names),
        )
        for each in passes:
            each.prepare(op.context)
            each.run(op)
        if census is not None:
            census.tell()
