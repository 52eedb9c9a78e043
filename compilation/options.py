# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of a compilation: keyword arguments of rx.compile, rx.lower and rx.sources, and of relax-compile."""

from __future__ import annotations

import inspect
import os  # noqa: F401  # annotations of options, which types_checked evaluates here
from collections.abc import Callable, Iterable, Mapping  # noqa: F401
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeAlias, TypeVar

from ..frontends.module import Module
from ..passes.core.instruments import Instrument as Instrument
from ..passes.core.journal import Journal as Journal
from ..passes.core.stages import Stages
from ..support.argument_types import WrongType
from ..support.disk_cache import DiskCache as DiskCache
from ..support.errors import OptionError
from ..support.suggest import suggest
from ..targets.core.backend import ChosenTarget
from ..targets.core.code import stages_of
from ..targets.core.code_options import CodeOptions, code_options
from ..targets.core.registry import options_of, parse_target
from .keywords import CompileKeywords, SharedKeywords, option_list, option_texts

if TYPE_CHECKING:
    from .observing import Observation

_Keywords = ParamSpec("_Keywords")
_Result = TypeVar("_Result")
_Implementation: TypeAlias = "Callable[[Module, CompileOptions], _Result]"

#: Value of `partition` for the measured placement of a module in the folder `tuned`.
MEASURED = "measured"


def _with_numerics(target: str, numerics: str | None) -> str:
    """Return the target with the option `numerics`. Raise OptionError if it has none, or another value."""
    if numerics is None:
        return target
    chosen = parse_target(target)
    if "numerics" not in (option.name for option in options_of(chosen.name)):
        raise OptionError(f"numerics='{numerics}': target '{target}' has no such option; llvm and its children have it")
    if chosen.option("numerics") not in ("", numerics):
        raise OptionError(f"numerics='{numerics}' contradicts the target '{target}'")
    return str(ChosenTarget(chosen.name, tuple(sorted({**dict(chosen.options), "numerics": numerics}.items()))))


def takes(
    keywords: Callable[_Keywords, SharedKeywords],
) -> Callable[[_Implementation[_Result]], Callable[Concatenate[Module, _Keywords], _Result]]:
    """Return a decorator for a function of a module and options. The new function takes the options as keywords.

    Its signature and documentation list the options.
    """
    assert isinstance(keywords, type)
    texts = option_texts(keywords)

    def decorate(function: _Implementation[_Result]) -> Callable[Concatenate[Module, _Keywords], _Result]:
        @wraps(function)
        def call(module: Module, *arguments: _Keywords.args, **options: _Keywords.kwargs) -> _Result:
            if len(arguments) > 1:
                raise WrongType(f"rx.{function.__name__} takes a module, a target and options by name")
            for name in options.keys() - texts.keys():
                raise WrongType(f"rx.{function.__name__} has no option '{name}'{suggest(name, texts)}")
            return function(module, CompileOptions(**vars(keywords(*arguments, **options))))

        call.__doc__ = f"{inspect.getdoc(function)}\n\n{option_list(keywords)}"
        first, _ = (own := inspect.signature(function)).parameters.values()
        call.__signature__ = own.replace(parameters=[first, *inspect.signature(keywords).parameters.values()])  # type: ignore[attr-defined]
        del call.__wrapped__  # types_checked evaluates annotations in this module
        return call

    return decorate


@dataclass(frozen=True, kw_only=True)
class CompileOptions(CompileKeywords):
    """Options of a compilation."""

    def __post_init__(self) -> None:
        """Complete the target. Raise RelaxError for an invalid size and for conflicting options."""
        object.__setattr__(self, "instruments", tuple(self.instruments))
        object.__setattr__(self, "target", _with_numerics(self.target, self.numerics))
        if self.observe and self.donate:
            raise OptionError(
                "observe and donate exclude each other: observed values have own buffers, donated arguments grow"
            )
        if self.bind:
            from ..passes.graph.relax_bind_symbolic_vars import BindSymbolicVars

            BindSymbolicVars(vars=self.bind)

    @cached_property
    def chosen(self) -> ChosenTarget:
        """Return the parsed target. Raise RelaxError for an unknown target."""
        return parse_target(self.target)

    @cached_property
    def observation(self) -> Observation | None:
        """Return the state of an observed compilation."""
        if not self.observe:
            return None
        from .observing import Observation  # imports codegens' parts, which most compilations do not use

        return Observation()

    def code(self) -> CodeOptions:
        """Return the options of the target's backend."""
        return code_options(self.opt_level, self.jobs, self.cache, tuple(self.instruments))

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
            from ..passes.graph.partition_stages import with_partition

            strict, elsewhere = self.strict_partition, self.partition_elsewhere
            stages = with_partition(stages, self.partition, strict=strict, elsewhere=elsewhere)
        if self.precision != "f32":
            from ..passes.graph.mixed_precision.precision_stages import with_precision

            stages = with_precision(stages, self.precision)
        if self.schedules is not None:
            from .schedules import with_schedules

            stages = with_schedules(stages, self.schedules)
        if self.tuned is not None and self.tuned is not True:
            from .schedules import with_tuned, without_tuned

            stages = without_tuned(stages) if self.tuned is False else with_tuned(stages, self.tuned)
        return stages if self.observation is None else self.observation.stages(stages)
