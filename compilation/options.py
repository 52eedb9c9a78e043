# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of a compilation: keyword arguments of rx.compile, rx.lower and rx.sources, and of relax-compile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..passes.core.instruments import Instrument
from ..passes.core.journal import Journal
from ..passes.core.stages import Stages
from ..support.disk_cache import DiskCache
from ..support.errors import OptionError
from ..targets.core.backend import ChosenTarget
from ..targets.core.code import stages_of
from ..targets.core.code_options import USUAL_LEVEL, CodeOptions, code_options
from ..targets.core.registry import options_of, parse_target

if TYPE_CHECKING:
    from ..passes.partition_stages import Wanted
    from .observing import Observation
    from .schedules import Schedules


#: Value of `partition` for the measured placement of a module in the folder `tuned`.
MEASURED = "measured"


def with_numerics(target: str, numerics: str | None) -> str:
    """Return the target with the option `numerics`. Raise OptionError if it has none, or another value."""
    if numerics is None:
        return target
    chosen = parse_target(target)
    if "numerics" not in (option.name for option in options_of(chosen.name)):
        raise OptionError(f"numerics='{numerics}': target '{target}' has no such option; llvm and its children have it")
    if chosen.option("numerics") not in ("", numerics):
        raise OptionError(f"numerics='{numerics}' contradicts the target '{target}'")
    return str(ChosenTarget(chosen.name, tuple(sorted({**dict(chosen.options), "numerics": numerics}.items()))))


@dataclass(frozen=True)
class CompileOptions:
    """Options of a compilation. `rx.compile` documents each option."""

    target: str = "llvm"
    pipeline: Stages | None = None
    opt_level: int = USUAL_LEVEL
    instruments: tuple[Instrument, ...] = ()
    journal: Journal | None = None
    jobs: int | None = None
    cache: DiskCache | str | os.PathLike[str] | bool | None = None
    functions: Mapping[str, Callable[..., object]] | None = None
    bind: Mapping[str, int | str] | None = None
    donate: Iterable[str] = ()
    precision: str = "f32"
    partition: Wanted = ()
    strict_partition: bool = False
    partition_elsewhere: bool = False
    device: str | None = None
    graphs: bool | None = None
    schedules: Schedules | None = None
    tuned: str | os.PathLike[str] | bool | None = None
    #: State for the option `observe`.
    observation: Observation | None = None

    def __post_init__(self) -> None:
        """Raise RelaxError for an invalid size and for conflicting options."""
        if self.observation is not None and self.donate:
            raise OptionError(
                "observe and donate exclude each other: observed values have own buffers, donated arguments grow"
            )
        if self.bind:
            from ..passes.relax_bind_symbolic_vars import BindSymbolicVars

            BindSymbolicVars(vars=self.bind)

    @cached_property
    def chosen(self) -> ChosenTarget:
        """Return the parsed target. Raise RelaxError for an unknown target."""
        return parse_target(self.target)

    def code(self) -> CodeOptions:
        """Return the options of the target's backend."""
        return code_options(self.opt_level, self.jobs, self.cache, self.instruments)

    @property
    def is_measured(self) -> bool:
        """Check whether a measured placement chooses the codegens, which depends on the module."""
        named = getattr(self.partition, "codegens", self.partition)
        return named == MEASURED or (isinstance(named, (list, tuple)) and list(named) == [MEASURED])

    def stages(self) -> Stages:
        """Return the stages of the target, or the given pipeline, extended for codegens, precision, schedules and
        observation."""
        stages = stages_of(self.target, self.opt_level) if self.pipeline is None else self.pipeline
        # the target's options determine the stages when they are created
        if parse_target(stages.target).options != self.chosen.options:
            made = f"make them by rx.stages('{self.target}')"
            raise OptionError(f"the stages are for target '{stages.target}', not for '{self.target}': {made}")
        if self.is_measured:
            raise OptionError(f"partition='{MEASURED}' needs a module: rx.compile, rx.lower and relax-compile take it")
        if self.partition:
            from ..passes.partition_stages import with_partition

            strict, elsewhere = self.strict_partition, self.partition_elsewhere
            stages = with_partition(stages, self.partition, strict=strict, elsewhere=elsewhere)
        if self.precision != "f32":
            from ..passes.mixed_precision.precision_stages import with_precision

            stages = with_precision(stages, self.precision)
        if self.schedules is not None:
            from .schedules import with_schedules

            stages = with_schedules(stages, self.schedules)
        if self.tuned is not None and self.tuned is not True:
            from .schedules import with_tuned, without_tuned

            stages = without_tuned(stages) if self.tuned is False else with_tuned(stages, self.tuned)
        return stages if self.observation is None else self.observation.stages(stages)
