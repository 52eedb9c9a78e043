# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets by name, and whose rules, schedules and host code each falls back on: `mynpu -> llvm -> default`."""

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
from ...support.plugins import leave_out, load_plugins
from ...support.suggest import suggest
from .backend import Backend, ChosenTarget, check_backend

#: Every target falls back on this one in the end.
DEFAULT = "default"


class TargetOption(NamedTuple):
    """An option of a target: `llvm{cpu=haswell}`."""

    name: str
    doc: str


@dataclass(frozen=True)
class Target:
    """A machine, or a family of them. Rules registered for a target hold for it and for its children only.

    What it takes from others is said once, `parents=("llvm",)`, or apart: `rules=`, `schedules=`, `host=`.
    """

    name: str
    #: Whose rules and schedules are tried next, in this order, and whose host code is used: short for the three below.
    parents: tuple[str, ...] = ()
    #: Operators and intrinsics that stay as they are, because the target (or a stage of its own) takes them.
    legal: frozenset[str] = frozenset()
    #: Whether views stay, by their rows in the operators' tables: the same memory under another shape, no kernel.
    keeps_views: bool = False
    #: Whether there is a thread for each step of a loop that threads share: a GPU's. Else each takes many, one by one.
    many_threads: bool = False
    #: Modules that register the target's rules; imported when the target is first used.
    rule_modules: tuple[str, ...] = ()
    #: Modules that register the target's schedules; imported when something is scheduled for it.
    schedule_modules: tuple[str, ...] = ()
    doc: str = ""
    #: Its options; its host's options hold too.
    options: tuple[TargetOption, ...] = ()
    #: Its stages, made of its host's: `stages=lambda stages: stages.insert_after("fuse", "tile", "mynpu-tile")`.
    stages: Callable[[Stages], Stages] | None = None
    #: Whose legalization and intrinsic rules come after its own, each with those after them, at last the default's.
    rules: tuple[str, ...] | None = None
    #: Whose schedules come after its own, likewise.
    schedules: tuple[str, ...] | None = None
    #: Whose host code runs graph functions, checks arguments and owns memory; whose stages and options it has.
    host: str | None = None
    #: How code is made for it. Absent: as for its host.
    backend: type[Backend] | None = None
    #: C libraries that its programs call (tir.call_extern), by name or path: loaded with a program, before its code.
    libraries: tuple[str, ...] = ()
    #: Modules that register its tensor intrinsics, which begin with its name; imported when one is asked for.
    tensor_intrin_modules: tuple[str, ...] = ()

    def __repr__(self) -> str:
        after = {"after": self.parents, "rules after": self.rules, "schedules after": self.schedules}
        whose = "".join(f", {words} {', '.join(names)}" for words, names in after.items() if names)
        host = f", host {self.host}" if self.host else ""
        return f"<target {self.name}{whose}{host}{f': {self.doc}' if self.doc else ''}>"


_TARGETS: dict[str, Target] = {}
#: Where each was registered.
_PLACES: dict[str, str] = {}
_SOURCES: list[Callable[[str | None], Iterable[Target]]] = []
_loaded_modules: set[str] = set()
#: Targets that are being registered, each because the one before names it.
_asked_for: ContextVar[tuple[str, ...]] = ContextVar("_asked_for", default=())


@types_checked
def register_target(target: Target) -> Target:
    """Makes a target known. Refuses a taken name, unknown parents, and what is no backend."""
    if not target.name.replace("_", "").replace("-", "").isalnum():
        raise RelaxError(f"'{target.name}' is no target name: letters, digits, '-' and '_' only")
    taken = _TARGETS.get(target.name)
    place = place_of_caller(2)  # past the check of types
    first = _PLACES.get(target.name, "")
    if taken is not None and taken != target and not can_be_declared_again(first, place):
        raise RelaxError(f"target '{target.name}' is registered twice: at {first} and at {place}")
    token = _asked_for.set((*_asked_for.get(), target.name))
    try:
        _check(target)
    finally:
        _asked_for.reset(token)
    _TARGETS[target.name], _PLACES[target.name] = target, place
    _parsed.cache_clear()
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
    """Whoever has targets says so: `source(name)` gives the target of a name, `source(None)` all that it has."""
    _SOURCES.append(source)


@types_checked
def find_target(name: str) -> Target:
    """The target of a name. Raises RelaxError with the nearest one."""
    return _found(name)


def _found(name: str) -> Target:
    if name not in _TARGETS:
        asked_for = _asked_for.get()
        if name in asked_for:
            circle = " -> ".join((*asked_for[asked_for.index(name) :], name))
            raise RelaxError(f"targets name each other in a circle: {circle}")
        _load(name)
    if name not in _TARGETS:
        known = [target.name for target in all_targets()]
        raise OptionError(f"unknown target '{name}'{suggest(name, known)} (known: {', '.join(known)})")
    return _TARGETS[name]


def all_targets() -> list[Target]:
    """Every target, plug-ins' included, sorted by name."""
    _load(None)
    return [_TARGETS[name] for name in sorted(_TARGETS)]


def _load(name: str | None) -> None:
    for source in _SOURCES:
        for target in source(name):
            register_target(target)
    if name not in _TARGETS:
        load_plugins("target", name)


def rules_chain(name: str) -> list[Target]:
    """The target, those whose rules come after its own, depth first, then the default; each once."""
    return _with_default(_chain(name, lambda target: target.parents if target.rules is None else target.rules))


def schedules_chain(name: str) -> list[Target]:
    """The same of schedules."""
    return _with_default(_chain(name, lambda target: target.parents if target.schedules is None else target.schedules))


def host_chain(name: str) -> list[Target]:
    """The target, its host and that one's, the nearest first; each once."""
    return list(_chain(name, lambda target: target.parents if target.host is None else (target.host,)).values())


def _chain(name: str, following: Callable[[Target], tuple[str, ...]]) -> dict[str, Target]:
    """By name, each before those that follow it."""
    chain: dict[str, Target] = {}
    waiting = [name]
    while waiting:
        target = _found(waiting.pop())
        if target.name not in chain:
            chain[target.name] = target
            waiting += reversed(following(target))
    return chain


def _with_default(chain: dict[str, Target]) -> list[Target]:
    default = chain.pop(DEFAULT, None) or _found(DEFAULT)
    return [*chain.values(), default]


def libraries_of(name: str) -> tuple[str, ...]:
    """The C libraries that programs for a target call: its own, and of those whose rules, schedules and host it has."""
    chains = (*rules_chain(name), *schedules_chain(name), *host_chain(name))
    return tuple(dict.fromkeys(library for target in chains for library in target.libraries))


def legal_operators(name: str) -> list[str]:
    """The operators that a target or one of its hosts takes as they are: the stages are theirs."""
    chain = host_chain(name)
    views = [row.full_name for row in all_ops() if row.is_plain_view] if any(each.keeps_views for each in chain) else []
    return sorted({*views, *(operator for target in chain for operator in target.legal)})


def load_rules(targets: Iterable[Target]) -> None:
    """Imports the modules that register these targets' rules. Raises RelaxError where that fails."""
    for target in targets:
        _import_once(target, target.rule_modules, "rule_modules")


def load_rules_for(operators: Iterable[str]) -> None:
    """Imports what may have rules for operators that a target has none for: what packages announce for their dialects,
    then the modules of all targets' rules, as there may be default ones among them."""
    for dialect in sorted({name.partition(".")[0] for name in operators}):
        load_plugins("rules", dialect)
    for target in all_targets():
        try:
            load_rules([target])
        except RelaxError as error:
            leave_out(f"target.{target.name}", error)


def load_schedules(targets: Iterable[Target]) -> None:
    """Imports the modules that register these targets' schedules. Raises RelaxError where that fails."""
    for target in targets:
        _import_once(target, target.schedule_modules, "schedule_modules")


def load_tensor_intrins(name: str) -> None:
    """Imports the modules that register the tensor intrinsics of a target, if there is one of that name."""
    for target in [each for each in all_targets() if each.name == name]:
        _import_once(target, target.tensor_intrin_modules, "tensor_intrin_modules")


def _import_once(target: Target, modules: Iterable[str], field: str) -> None:
    for module in modules:
        if module not in _loaded_modules:
            with blaming(f"target '{target.name}', {field}: {module}", importlib.import_module):
                importlib.import_module(module)
            _loaded_modules.add(module)


# ---- targets as they are asked for: a name, and options where the plain one is not meant ----


def parse_target(text: str) -> ChosenTarget:
    """`llvm{cpu=haswell vector-bytes=32}`. Raises RelaxError for unknown targets and options; values are the target's
    own to check."""
    if not isinstance(text, str):
        raise OptionError(f"a target is text like 'llvm' or 'llvm{{cpu=haswell}}', got {type(text).__name__}")
    return _parsed(text)


@lru_cache(maxsize=64)
def _parsed(text: str) -> ChosenTarget:
    """Parse a target's text once: every pass of a pipeline is given the same one."""
    name, brace, rest = text.strip().partition("{")
    name = name.rstrip()
    if brace and not rest.endswith("}"):
        raise OptionError(f"target '{text}': expected '}}' at the end, behind the options")
    _found(name)
    given: dict[str, str] = {}
    known = options_of(name) if rest else []
    for key, value in split_options(rest[:-1]):
        option = _known_option(name, key, known)
        if option in given:
            raise OptionError(f"target '{name}': option '{option}' is given twice")
        if not value:
            raise OptionError(f"target '{name}': option '{option}' needs a value, like {option}=...")
        given[option] = value
    return ChosenTarget(name, tuple(sorted(given.items())))


def options_of(target: str) -> list[TargetOption]:
    """The options that a target and its hosts know, in their order."""
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
