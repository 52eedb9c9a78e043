# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases for a codegen or a target, by groups and names."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from ..compilation.compiling import lower
from ..dialects.core.infos import tensor
from ..frontends.module import Module
from ..passes.partition.codegen import Codegen, all_codegens
from ..support.errors import OptionError
from ..support.suggest import suggest
from .composites import cases_of as composites_of
from .core.cases import GROUPS, Case
from .core.rows import cases_of
from .every_model import all_models
from .fitting import all_rows, rows_of
from .random_graphs import cases as random_graphs
from .recipe_cases import cases_of_recipe
from .trial import Subject


def all_cases(subject: Subject, groups: Iterable[str] = ()) -> list[Case]:
    """Return the cases for a codegen or a target in the order of execution."""
    chosen = list(groups) or list(GROUPS)
    for group in chosen:
        if group not in GROUPS:
            raise OptionError(f"no group '{group}' of cases{suggest(group, GROUPS)}; there are {', '.join(GROUPS)}")
    found = {
        "operators": _operators,
        "composites": _composites,
        "recipes": cases_of_recipe,
        "models": lambda _: (each.case for each in all_models()),
        "graphs": lambda _: random_graphs(),
    }
    return [case for group in GROUPS if group in chosen for case in found[group](subject)]


def _composites(subject: Subject) -> Iterator[Case]:
    for codegen in _codegens(subject):
        yield from composites_of(codegen)


def _codegens(subject: Subject) -> list[type[Codegen]]:
    names = [each.partition("{")[0] for each in subject.codegens]
    return [codegen for codegen in all_codegens() if codegen.name in names]


def cases_by_pattern(subject: Subject) -> dict[str, frozenset[str]]:
    """Return the names of the cases of each pattern of a codegen: its composites, or the rows of its operators."""
    found = {}
    for codegen in _codegens(subject):
        own = [each.name for each in composites_of(codegen)]
        for composite in codegen.composites():
            cases = [name for name in own if name.partition(" ")[0] == composite.name]
            rows = () if cases else (row for head in composite.heads for row in rows_of(head))
            found[composite.name] = frozenset([*cases, *(case.name for row in rows for case in cases_of(row))])
    return found


def _operators(subject: Subject) -> Iterator[Case]:
    for row in all_rows():
        yield from cases_of(row)


def is_chosen(case: Case, patterns: Sequence[str]) -> bool:
    """Check whether a pattern matches the case's name, or its operator, pattern or model."""
    names = (case.name, case.subject, case.name.removeprefix("relax."), case.subject.removeprefix("relax."))
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns for name in names)


@cache
def preload(target: str) -> None:
    """Import the compiler, so that the processes of cases do not have to."""
    module = Module()
    with module.function("main", {"x": tensor((2,))}) as f:
        f.returns(*f)
    lower(module, target)
