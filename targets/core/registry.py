# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets by name, and whose rules each falls back on: `mynpu -> llvm -> default`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ...dialects.core.dialect import all_ops
from ...passes.core.stages import Stages
from ...support.errors import RelaxError
from ...support.plugins import load_plugins
from ...support.suggest import suggest

#: Every target falls back on this one in the end.
DEFAULT = "default"


class TargetOption(NamedTuple):
    """What can be told of a target beside its name: `llvm{cpu=haswell}`; see target_options.py."""

    name: str
    doc: str


@dataclass(frozen=True)
class Target:
    """A machine, or a family of them. Rules registered for a target hold for it and for its children only."""

    name: str
    #: Whose rules are tried next, in this order; each with its own parents. The default comes last by itself.
    parents: tuple[str, ...] = ()
    #: Operators and intrinsics that stay as they are, because the target (or a stage of its own) takes them.
    legal: frozenset[str] = frozenset()
    #: Whether views stay, by their rows in the operators' tables: the same memory under another shape, no kernel.
    keeps_views: bool = False
    #: Modules that register the target's rules; imported when the target is first used.
    rule_modules: tuple[str, ...] = ()
    #: Modules that register the target's schedules; imported when something is scheduled for it.
    schedule_modules: tuple[str, ...] = ()
    doc: str = ""
    #: The module that says how code is made for it: stages(), and build(); see targets/llvm/. Absent: its parents'.
    code_module: str = ""
    #: What can be told of it beside its name; its parents' options hold too.
    options: tuple[TargetOption, ...] = ()
    #: Its stages, made of its parents': `stages=lambda stages: stages.insert_after("fuse", "tile", "mynpu-tile")`.
    stages: Callable[[Stages], Stages] | None = None

    def __repr__(self) -> str:
        whose = f", after {', '.join(self.parents)}" if self.parents else ""
        return f"<target {self.name}{whose}: {self.doc}>" if self.doc else f"<target {self.name}{whose}>"


_TARGETS: dict[str, Target] = {}
_SOURCES: list[Callable[[str | None], Iterable[Target]]] = []
_loaded_modules: set[str] = set()


def register_target(target: Target) -> Target:
    """Makes a target known. Refuses a taken name and parents that nobody knows."""
    if not target.name.replace("_", "").replace("-", "").isalnum():
        raise RelaxError(f"'{target.name}' is no target name: letters, digits, '-' and '_' only")
    taken = _TARGETS.get(target.name)
    if taken is not None and taken != target:
        raise RelaxError(f"target '{target.name}' is registered twice")
    for parent in target.parents:
        find_target(parent)
    _TARGETS[target.name] = target
    return target


def add_target_source(source: Callable[[str | None], Iterable[Target]]) -> None:
    """Whoever has targets says so: `source(name)` gives the target of a name, `source(None)` all that it has."""
    _SOURCES.append(source)


def find_target(name: str) -> Target:
    """The target of a name. Raises RelaxError with the nearest one."""
    if name not in _TARGETS:
        _load(name)
    if name not in _TARGETS:
        known = [target.name for target in all_targets()]
        raise RelaxError(f"unknown target '{name}'{suggest(name, known)} (known: {', '.join(known)})")
    return _TARGETS[name]


def all_targets() -> list[Target]:
    """Every target, plug-ins' included, sorted by name."""
    _load(None)
    return [_TARGETS[name] for name in sorted(_TARGETS)]


def _load(name: str | None) -> None:
    for source in _SOURCES:
        for target in source(name):
            register_target(target)
    load_plugins("target", name)


def fallback_chain(name: str) -> list[Target]:
    """The target, its parents depth first, then the default; each once."""
    chain: dict[str, Target] = {}

    def visit(target: Target) -> None:
        if target.name not in chain:
            chain[target.name] = target
            for parent in target.parents:
                visit(find_target(parent))

    visit(find_target(name))
    default = chain.pop(DEFAULT, None) or find_target(DEFAULT)
    return [*chain.values(), default]


def legal_operators(name: str) -> list[str]:
    """The operators that a target or one of its parents takes as they are."""
    chain = fallback_chain(name)
    views = [row.full_name for row in all_ops() if row.is_plain_view] if any(each.keeps_views for each in chain) else []
    return sorted({*views, *(operator for target in chain for operator in target.legal)})


def load_rules(targets: Iterable[Target]) -> None:
    """Imports the modules that register these targets' rules."""
    _import_once(module for target in targets for module in target.rule_modules)


def load_schedules(targets: Iterable[Target]) -> None:
    """Imports the modules that register these targets' schedules."""
    _import_once(module for target in targets for module in target.schedule_modules)


def _import_once(modules: Iterable[str]) -> None:
    for module in modules:
        if module not in _loaded_modules:
            importlib.import_module(module)
            _loaded_modules.add(module)
