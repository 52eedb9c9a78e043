# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets by name, and the fallbacks for their rules, schedules and host code: `mynpu -> llvm -> default`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ...dialects.core.dialect import all_ops
from ...passes.core.options import option_name, split_options
from ...passes.core.stages import Stages
from ...support.argument_types import types_checked
from ...support.blaming import blaming, can_be_declared_again, place_of_caller
from ...support.errors import OptionError, RelaxError
from ...support.plugins import leave_out, load_plugins, missing_plugin
from ...support.suggest import suggest
from .backend import Backend, ChosenTarget, check_backend

#: The last fallback of every target.
DEFAULT = "default"


class TargetOption(NamedTuple):
    """Option of a target, such as `llvm{cpu=haswell}`."""

    name: str
    doc: str


@dataclass(frozen=True)
class Target:
    """Machine or family of machines.

    Rules registered for a target apply to the target and its children only.

    `parents=("llvm",)` names all fallbacks at once; `rules=`, `schedules=` and `host=` name them separately.
    """

    name: str
    #: Fallbacks for rules and schedules, in order, and for host code: short for the three fields below.
    parents: tuple[str, ...] = ()
    #: Operators and intrinsics that are not lowered, because the target or one of its stages handles them.
    legal: frozenset[str] = frozenset()
    #: True if view operations stay: the same memory with another shape, without a kernel.
    keeps_views: bool = False
    #: True if each iteration of a shared loop has its own thread, as on GPUs. Otherwise a thread runs many iterations.
    many_threads: bool = False
    #: Modules that register the target's rules, imported on first use of the target.
    rule_modules: tuple[str, ...] = ()
    #: Modules that register the target's schedules, imported when a kernel is scheduled for the target.
    schedule_modules: tuple[str, ...] = ()
    doc: str = ""
    #: The target's own options. Options of its host are valid, too.
    options: tuple[TargetOption, ...] = ()
    #: Derives the target's stages from its host's: `lambda stages: stages.insert_after("fuse", "tile", "mynpu-tile")`.
    stages: Callable[[Stages], Stages] | None = None
    #: Fallbacks for legalization and intrinsic rules, each followed by its own fallbacks, and by the default at last.
    rules: tuple[str, ...] | None = None
    #: Fallbacks for schedules, likewise.
    schedules: tuple[str, ...] | None = None
    #: Target whose host code runs graph functions, checks arguments and owns memory, and whose stages and options
    #: apply.
    host: str | None = None
    #: Code generator; None for the host's.
    backend: type[Backend] | None = None
    #: C libraries that programs call (tir.call_extern), by name or path. Loaded before a program's code.
    libraries: tuple[str, ...] = ()
    #: Modules that register the target's tensor intrinsics, whose names begin with the target's, imported on demand.
    tensor_intrin_modules: tuple[str, ...] = ()

    def __repr__(self) -> str:
        after = {"after": self.parents, "rules after": self.rules, "schedules after": self.schedules}
        whose = "".join(f", {words} {', '.join(names)}" for words, names in after.items() if names)
        host = f", host {self.host}" if self.host else ""
        return f"<target {self.name}{whose}{host}{f': {self.doc}' if self.doc else ''}>"


_TARGETS: dict[str, Target] = {}
#: Source location of each registration.
_PLACES: dict[str, str] = {}
_SOURCES: list[Callable[[str | None], Iterable[Target]]] = []
_loaded_modules: set[str] = set()
#: Targets under registration, each named by its predecessor.
_asked_for: ContextVar[tuple[str, ...]] = ContextVar("_asked_for", default=())


@types_checked
def register_target(target: Target) -> Target:
    """Register a target. Raise RelaxError for a taken name, an unknown parent, or an invalid backend."""
    if not target.name.replace("_", "").replace("-", "").isalnum():
        raise RelaxError(f"'{target.name}' is no target name: letters, digits, '-' and '_' only")
    taken = _TARGETS.get(target.name)
    place = place_of_caller(2)  # skips the frame of types_checked
    first = _PLACES.get(target.name, "")
    if taken is not None and taken != target and not can_be_declared_again(first, place):
        raise RelaxError(f"target '{target.name}' is registered twice: at {first} and at {place}")
    token = _asked_for.set((*_asked_for.get(), target.name))
    try:
        _check(target)
    finally:
        _asked_for.reset(token)
    _TARGETS[target.name], _PLACES[target.name] = target, place
    _parse_cached.cache_clear()
    return target


def _check(target: Target) -> None:
    modules = ("rule_modules", "schedule_modules", "tensor_intrin_modules")
    for field in ("parents", "legal", *modules, "rules", "schedules", "libraries"):
        names = getattr(target, field)
        if names is not None and (isinstance(names, str) or not all(isinstance(name, str) for name in names)):
            raise RelaxError(f"target '{target.name}': {field}={names!r}: expected names, like ('llvm',)")
    if target.host is not None and not isinstance(target.host, str):
        raise RelaxError(f"target '{target.name}': host={target.host!r}: expected one name")
    if target.backend is not None:
        with _naming(f"target '{target.name}'"):
            check_backend(target.backend)
    whose = {"parents": target.parents, "rules": target.rules, "schedules": target.schedules}
    for field, names in {**whose, "host": (target.host,) if target.host else ()}.items():
        for name in names or ():
            with _naming(f"target '{target.name}', {field}"):
                find_target(name)


@contextmanager
def _naming(where: str) -> Iterator[None]:
    try:
        yield
    except RelaxError as error:
        raise error.altered(f"{where}: {error.message}", location="") from None


def add_target_source(source: Callable[[str | None], Iterable[Target]]) -> None:
    """Add a source of targets: `source(name)` returns the target of a name, `source(None)` all targets."""
    _SOURCES.append(source)


@types_checked
def find_target(name: str) -> Target:
    """Return the target of a name. Raise RelaxError with the nearest name if it is unknown."""
    return _find(name)


def _find(name: str) -> Target:
    if name not in _TARGETS:
        asked_for = _asked_for.get()
        if name in asked_for:
            circle = " -> ".join((*asked_for[asked_for.index(name) :], name))
            raise RelaxError(f"targets name each other in a circle: {circle}")
        _load(name)
    if name not in _TARGETS:
        if missing := missing_plugin(f"target.{name}"):
            raise OptionError(f"target '{name}': {missing}")
        known = [target.name for target in all_targets()]
        raise OptionError(f"unknown target '{name}'{suggest(name, known)} (known: {', '.join(known)})")
    return _TARGETS[name]


def all_targets() -> list[Target]:
    """Return all targets, including plug-ins', sorted by name."""
    _load(None)
    return [_TARGETS[name] for name in sorted(_TARGETS)]


def _load(name: str | None) -> None:
    for source in _SOURCES:
        for target in source(name):
            register_target(target)
    if name not in _TARGETS:
        load_plugins("target", name)


def rules_chain(name: str) -> list[Target]:
    """Return the target and its fallbacks for rules, depth first and without duplicates, and the default last."""
    return _with_default(_chain(name, lambda target: target.parents if target.rules is None else target.rules))


def schedules_chain(name: str) -> list[Target]:
    """Return the target and its fallbacks for schedules, in the order of `rules_chain`."""
    return _with_default(_chain(name, lambda target: target.parents if target.schedules is None else target.schedules))


def host_chain(name: str) -> list[Target]:
    """Return the target, its host, the host's host and so on, without duplicates."""
    return list(_chain(name, lambda target: target.parents if target.host is None else (target.host,)).values())


def _chain(name: str, following: Callable[[Target], tuple[str, ...]]) -> dict[str, Target]:
    """Return the targets by name, each before the targets that follow it."""
    chain: dict[str, Target] = {}
    waiting = [name]
    while waiting:
        target = _find(waiting.pop())
        if target.name not in chain:
            chain[target.name] = target
            waiting += reversed(following(target))
    return chain


def _with_default(chain: dict[str, Target]) -> list[Target]:
    default = chain.pop(DEFAULT, None) or _find(DEFAULT)
    return [*chain.values(), default]


def libraries_of(name: str) -> tuple[str, ...]:
    """Return the C libraries of a target, and of its fallbacks for rules, schedules and host code."""
    chains = (*rules_chain(name), *schedules_chain(name), *host_chain(name))
    return tuple(dict.fromkeys(library for target in chains for library in target.libraries))


def legal_operators(name: str) -> list[str]:
    """Return the operators that a target or one of its hosts, whose stages it uses, handles without lowering."""
    chain = host_chain(name)
    views = (
        [row.full_name for row in all_ops() if row.is_plain_view] if any(target.keeps_views for target in chain) else []
    )
    return sorted({*views, *(operator for target in chain for operator in target.legal)})


def load_rules(targets: Iterable[Target]) -> None:
    """Import the modules with these targets' rules. Raise RelaxError if an import fails."""
    for target in targets:
        _import_once(target, target.rule_modules, "rule_modules")


def load_rules_for(operators: Iterable[str]) -> None:
    """Import modules that may have rules for operators without rules for a target.

    These are the rules that packages announce for their dialects, and the rules of all targets, as some may be
    defaults.
    """
    for dialect in sorted({name.partition(".")[0] for name in operators}):
        load_plugins("rules", dialect)
    for target in all_targets():
        try:
            load_rules([target])
        except RelaxError as error:
            leave_out(f"target.{target.name}", error)


def load_schedules(targets: Iterable[Target]) -> None:
    """Import the modules with these targets' schedules. Raise RelaxError if an import fails."""
    for target in targets:
        _import_once(target, target.schedule_modules, "schedule_modules")


def load_tensor_intrins(name: str) -> None:
    """Import the modules with a target's tensor intrinsics. Do nothing for an unknown target."""
    for target in [all_target for all_target in all_targets() if all_target.name == name]:
        _import_once(target, target.tensor_intrin_modules, "tensor_intrin_modules")


def _import_once(target: Target, modules: Iterable[str], field: str) -> None:
    for module in modules:
        if module not in _loaded_modules:
            with blaming(f"target '{target.name}', {field}: {module}", importlib.import_module):
                importlib.import_module(module)
            _loaded_modules.add(module)


# ---- targets as users give them: a name with optional options ----


def parse_target(text: str) -> ChosenTarget:
    """Parse a target such as `llvm{cpu=haswell vector-bytes=32}`.

    The target itself checks the values of options.

    Raises RelaxError for unknown targets and options.
    """
    if not isinstance(text, str):
        raise OptionError(f"a target is text like 'llvm' or 'llvm{{cpu=haswell}}', got {type(text).__name__}")
    return _parse_cached(text)


@lru_cache(maxsize=64)
def _parse_cached(text: str) -> ChosenTarget:
    """Parse a target's text, cached: all passes of a pipeline have the same one."""
    name, brace, rest = text.strip().partition("{")
    name = name.rstrip()
    if brace and not rest.endswith("}"):
        raise OptionError(f"target '{text}': expected '}}' at the end, behind the options")
    _find(name)
    given: dict[str, str] = {}
    known = options_of(name) if rest else []
    for key, value in split_options(rest[:-1]):
        if (option := _known_option(name, key, known)) in given:
            raise OptionError(f"target '{name}': option '{option}' is given twice")
        if not value:
            raise OptionError(f"target '{name}': option '{option}' needs a value, like {option}=...")
        given[option] = value
    return ChosenTarget(name, tuple(sorted(given.items())))


def options_of(target: str) -> list[TargetOption]:
    """Return the options of a target and its hosts, in order."""
    known = {option.name: option for step in reversed(host_chain(target)) for option in step.options}
    return list(known.values())


def _known_option(target: str, key: str, known: Sequence[TargetOption]) -> str:
    name, names = option_name(key), [option.name for option in known]
    if name not in names:
        listed = f"it has {', '.join(names)}" if names else "it has none"
        raise OptionError(
            f"target '{target}' has no option '{key}'{suggest(name, names)} ({listed})",
            notes=[f"{option.name}: {option.doc}" for option in known],
        )
    return name
