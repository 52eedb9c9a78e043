# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering stages of a target: named lists of passes, which users can insert, replace or drop.

Example:

    stages = rx.stages("llvm")
    stages = stages.replace("plan", "my-plan").insert_after("legalize", "count", MyPass())
    rx.compile(module, pipeline=stages)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...dialects.verification import verify_ir
from ...support.errors import OptionError
from ...support.suggest import suggest
from .base import Pass
from .instruments import Instrument
from .journal import Journal, timed
from .pipeline import Pipeline
from .statistics import Statistics

#: Placeholder for the target's name in a stage's text.
TARGET_PLACE = "@target"

Passes = str | Pass | Sequence[str | Pass]


@dataclass(frozen=True)
class Stage:
    """Lowering stage: a name and passes, as objects or pipeline text."""

    name: str
    passes: tuple[str | Pass, ...]
    doc: str = ""
    #: Verification of the module: after "each" pass, or for passes known to be correct at the "end" of the stage.
    #: "later" leaves it to a following stage and to code generation, if all passes are this project's.
    verify: Literal["each", "end", "later"] = "each"
    #: Lowest optimization level that runs the stage. Stages of level 0 take less time than they save.
    level: int = 0

    def with_options(self, options: str) -> Stage:
        """Return the stage for a target with options, `{cpu=haswell}`, which are added to each use of the target's
        name."""
        passes = [str(pass_).replace(TARGET_PLACE, TARGET_PLACE + options) for pass_ in self.passes]
        return replace(self, passes=tuple(passes))

    def pipeline(self, target: str, **options: Any) -> Pipeline:
        items = [item.replace(TARGET_PLACE, target) if isinstance(item, str) else item for item in self.passes]
        return Pipeline(items, **options)

    def run(self, module: Any, target: str, instruments: Iterable[Instrument] = ()) -> None:
        """Lower a module in place for a target. A failure leaves the module partly lowered."""
        journal, statistics = Journal.active(), Statistics()
        watching = [*instruments] if journal is None else [*instruments, statistics]
        with timed(self.name):
            pipeline = self.pipeline(target, instruments=watching, verify_each=self.verify == "each")
            pipeline.run(module, all_or_nothing=False)
            if self.verify == "end":
                verify_ir(module.operation, f"stage {self.name} produced invalid IR")
        if journal is not None:
            for fact in statistics.facts(self.name):
                journal.add(fact)


def _stage(name: str, passes: Passes) -> Stage:
    items = (passes,) if isinstance(passes, (str, Pass)) else tuple(passes)
    return Stage(name, items)


def _with_next(stages: Sequence[Stage]) -> Iterator[tuple[Stage, Stage | None]]:
    return zip(stages, (*stages[1:], None), strict=False)


@dataclass(frozen=True)
class Stages:
    """Ordered stages. All methods return modified copies."""

    target: str
    stages: tuple[Stage, ...]
    #: The target's own stages in order. Each stage leaves the IR that the next stage expects.
    own: tuple[Stage, ...] = ()
    #: Stages that are disabled at the requested level.
    left_out: tuple[Stage, ...] = ()

    def __iter__(self) -> Iterator[Stage]:
        """Yield the stages, and move deferred verification to the end of a stage that a foreign stage follows.

        The foreign stage must not see invalid IR.
        """
        known = list(_with_next(self.own))
        for stage, following in _with_next(self.stages):
            is_checked = stage.verify != "later" or (stage, following) in known
            yield stage if is_checked else replace(stage, verify="end")

    def __repr__(self) -> str:
        return f"<stages of {self.target}: {', '.join(stage.name for stage in self.stages)}>"

    def __getitem__(self, name: str) -> Stage:
        return self.stages[self._place(name)]

    @property
    def names(self) -> list[str]:
        """Return the names of the stages, in order."""
        return [stage.name for stage in self.stages]

    def _place(self, name: str) -> int:
        if name not in self.names:
            known = ", ".join(self.names)
            above = next((stage.level for stage in self.left_out if stage.name == name), None)
            if above is not None:
                raise OptionError(f"stage '{name}' of target '{self.target}' runs from -O{above} on")
            raise OptionError(
                f"target '{self.target}' has no stage '{name}'{suggest(name, self.names)} (it has {known})"
            )
        return self.names.index(name)

    def _with(self, start: int, end: int, *new: Stage) -> Stages:
        stages = (*self.stages[:start], *new, *self.stages[end:])
        names = [stage.name for stage in stages]
        if (doubled := next((name for name in names if names.count(name) > 1), None)) is not None:
            raise OptionError(f"target '{self.target}' would have two stages '{doubled}'")
        return replace(self, stages=stages)

    def insert_before(self, name: str, new_name: str, passes: Passes) -> Stages:
        """Return stages with a new stage before a stage."""
        place = self._place(name)
        return self._with(place, place, _stage(new_name, passes))

    def insert_after(self, name: str, new_name: str, passes: Passes) -> Stages:
        """Return stages with a new stage after a stage."""
        place = self._place(name) + 1
        return self._with(place, place, _stage(new_name, passes))

    def replace(self, name: str, passes: Passes) -> Stages:
        """Return stages with other passes in a stage."""
        place = self._place(name)
        return self._with(place, place + 1, _stage(name, passes))

    def drop(self, name: str) -> Stages:
        """Return stages without a stage."""
        place = self._place(name)
        return self._with(place, place + 1)

    def run(self, module: Any, target: str, instruments: Iterable[Instrument] = ()) -> None:
        """Lower a module in place for a target."""
        for stage in self:
            stage.run(module, target, instruments)

    def between(self, start: str = "", stop: str = "") -> Stages:
        """Return the stages from `start` to `stop`, by default from the first to the last.

        Raise OptionError for a wrong order.
        """
        begin = self._place(start) if start else 0
        end = self._place(stop) + 1 if stop else len(self.stages)
        if start and stop and begin >= end:
            raise OptionError(f"target '{self.target}': stage '{start}' comes after stage '{stop}'")
        return replace(self, stages=self.stages[begin:end])

    def is_own_behind(self, name: str) -> bool:
        """Check whether all stages after the named stage are the target's own, unchanged."""
        own = replace(self, stages=self.own)
        if name not in self.names or name not in own.names:
            return False
        return self.stages[self._place(name) + 1 :] == self.own[own._place(name) + 1 :]

    def at(self, opt_level: int) -> Stages:
        """Return the stages that run at an optimization level."""
        kept, own = (tuple(stage for stage in stages if stage.level <= opt_level) for stages in (self.stages, self.own))
        left_out = tuple(stage for stage in self.stages if stage.level > opt_level)
        return replace(self, stages=kept, own=own, left_out=left_out)

    def until(self, name: str) -> Stages:
        """Return the stages up to and including a stage."""
        return self.between(stop=name)

    def only(self, name: str) -> Stages:
        """Return a single stage."""
        return replace(self, stages=(self[name],))
