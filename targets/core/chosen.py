# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets as they are asked for: a name, and options where the plain one is not meant, `llvm{cpu=haswell}`."""

from __future__ import annotations

from ...passes.core.options import option_name, split_options
from ...support.errors import RelaxError
from ...support.suggest import suggest
from .backend import ChosenTarget
from .registry import TargetOption, find_target, host_chain


def parse_target(text: str) -> ChosenTarget:
    """`llvm{cpu=haswell vector-bytes=32}`. Raises RelaxError for unknown targets and options; values are the target's
    own to check."""
    if not isinstance(text, str):
        raise RelaxError(f"a target is text like 'llvm' or 'llvm{{cpu=haswell}}', got {type(text).__name__}")
    name, brace, rest = text.strip().partition("{")
    name = name.rstrip()
    if brace and not rest.endswith("}"):
        raise RelaxError(f"target '{text}': expected '}}' at the end, behind the options")
    find_target(name)
    given: dict[str, str] = {}
    for key, value in split_options(rest[:-1]):
        option = _known_option(name, key)
        if option in given:
            raise RelaxError(f"target '{name}': option '{option}' is given twice")
        if not value:
            raise RelaxError(f"target '{name}': option '{option}' needs a value, like {option}=...")
        given[option] = value
    return ChosenTarget(name, tuple(sorted(given.items())))


def options_of(target: str) -> list[TargetOption]:
    """The options that a target and its hosts know, in their order."""
    known = {option.name: option for step in reversed(host_chain(target)) for option in step.options}
    return list(known.values())


def _known_option(target: str, key: str) -> str:
    known = options_of(target)
    names = [option.name for option in known]
    if option_name(key) not in names:
        listed = f"it has {', '.join(names)}" if names else "it has none"
        raise RelaxError(
            f"target '{target}' has no option '{key}'{suggest(option_name(key), names)} ({listed})",
            notes=[f"{option.name}: {option.doc}" for option in known],
        )
    return option_name(key)
