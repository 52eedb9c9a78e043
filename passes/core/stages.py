# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a target lowers modules: stages by name, each a few passes. They are data: insert, replace or drop one.

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

#: In a stage's text, what stands for the name of the target that is compiled for.
TARGET_PLACE = "@target"

Passes = str | Pass | Sequence[str | Pass]


@dataclass(frozen=True)
class Stage:
    """A step of lowering: a name and passes, as objects or as pipeline text."""

    name: str
    passes: tuple[str | Pass, ...]
    doc: str = ""
    #: What is verified: the module after "each" pass; for passes known to be right at the "end" of the stage, or,
    #: where nothing in it is from outside, "later": by a stage that follows, and before code is made.
    verify: Literal["each", "end", "later"] = "each"
    #: The lowest level at which it runs: of -O0, what takes less time than it saves, to -O3.
    level: int = 0

    def with_options(self, options: str) -> Stage:
        """The stage for a target with options, `{cpu=haswell}`: passes that get the target get these, too."""
        passes = [str(each).replace(TARGET_PLACE, TARGET_PLACE + options) for each in self.passes]
        return replace(self, passes=tuple(passes))

    def pipeline(self, target: str, **options: Any) -> Pipeline:
        items = [item.replace(TARGET_PLACE, target) if isinstance(item, str) else item for item in self.passes]
        return Pipeline(items, **options)

    def run(self, module: Any, target: str, instruments: Iterable[Instrument] = ()) -> None:
        """Lowers a module, in place, for a target of that name. Where that fails, it is half done."""
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
    """Stages in their order. The methods give changed copies."""

    target: str
    stages: tuple[Stage, ...]
    #: The target's own, in the order in which each leaves what the next one wants.
    own: tuple[Stage, ...] = ()
    #: Those that are left out at the level that was asked for.
    left_out: tuple[Stage, ...] = ()

    def __iter__(self) -> Iterator[Stage]:
        """The stages; one that is to be verified later is verified at its end where another one follows than its own
        next: who comes in between must not see what is invalid.
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
        """What the stages are called, in their order."""
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
        doubled = next((name for name in names if names.count(name) > 1), None)
        if doubled is not None:
            raise OptionError(f"target '{self.target}' would have two stages '{doubled}'")
        return replace(self, stages=stages)

    def insert_before(self, name: str, new_name: str, passes: Passes) -> Stages:
        """A new stage before one."""
        place = self._place(name)
        return self._with(place, place, _stage(new_name, passes))

    def insert_after(self, name: str, new_name: str, passes: Passes) -> Stages:
        """A new stage after one."""
        place = self._place(name) + 1
        return self._with(place, place, _stage(new_name, passes))

    def replace(self, name: str, passes: Passes) -> Stages:
        """Other passes in a stage."""
        place = self._place(name)
        return self._with(place, place + 1, _stage(name, passes))

    def drop(self, name: str) -> Stages:
        """Without a stage."""
        place = self._place(name)
        return self._with(place, place + 1)

    def run(self, module: Any, target: str, instruments: Iterable[Instrument] = ()) -> None:
        """Lowers a module, in place, for a target of that name."""
        for stage in self:
            stage.run(module, target, instruments)

    def between(self, start: str = "", stop: str = "") -> Stages:
        """The stages from one up to another: from the first, up to the last where it is not named."""
        begin = self._place(start) if start else 0
        end = self._place(stop) + 1 if stop else len(self.stages)
        if start and stop and begin >= end:
            raise OptionError(f"target '{self.target}': stage '{start}' comes after stage '{stop}'")
        return replace(self, stages=self.stages[begin:end])

    def is_own_behind(self, name: str) -> bool:
        """Check whether there is a stage of this name, and behind it the target's own stages, all as they were."""
        tails = [
            [each.name for each in stages].index(name)
            for stages in (self.stages, self.own)
            if any(each.name == name for each in stages)
        ]
        return len(tails) == 2 and self.stages[tails[0] + 1 :] == self.own[tails[1] + 1 :]

    def at(self, opt_level: int) -> Stages:
        """The stages that run at a level."""
        kept, own = (tuple(each for each in stages if each.level <= opt_level) for stages in (self.stages, self.own))
        left_out = tuple(stage for stage in self.stages if stage.level > opt_level)
        return replace(self, stages=kept, own=own, left_out=left_out)

    def until(self, name: str) -> Stages:
        """The stages up to this one."""
        return self.between(stop=name)

    def only(self, name: str) -> Stages:
        """One stage alone."""
        return replace(self, stages=(self[name],))
