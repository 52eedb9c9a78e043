# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases for a codegen or a target, by groups and names."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from ..compilation.compiling import lower
from ..dialects.core.infos import tensor
from ..frontends.module import Module
from ..passes.partition.codegen import all_codegens
from ..support.errors import OptionError
from ..support.suggest import suggest
from .composites import cases_of as composites_of
from .core.cases import GROUPS, Case
from .core.rows import cases_of
from .every_model import all_models
from .fitting import all_rows
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
    names = [each.partition("{")[0] for each in subject.codegens]
    for codegen in all_codegens():
        if codegen.name in names:
            yield from composites_of(codegen)


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
