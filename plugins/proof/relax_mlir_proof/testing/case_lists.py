# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases for a codegen or a target, by groups and names."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from relax_mlir.compilation.compiling import lower
from relax_mlir.dialects.core.infos import tensor
from relax_mlir.frontends.module import Module
from relax_mlir.passes.graph.partition.codegen import Codegen, all_codegens, operators_of
from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest

from .composites import cases_of as composites_of
from .core.cases import GROUPS, Case
from .core.rows import cases_of
from .every_model import all_models
from .fitting import all_rows, rows_of
from .random_graphs import cases as random_graphs
from .recipe_cases import cases_of_recipe, models_of_recipe
from .trial import Subject

#: Groups with the cases of a codegen's patterns.
_OF_PATTERNS = ("composites", "recipes")


def all_cases(subject: Subject, groups: Iterable[str] = ()) -> list[Case]:
    """Return the cases for a codegen or a target, by group."""
    chosen = list(groups) or list(GROUPS)
    for group in chosen:
        if group not in GROUPS:
            raise OptionError(f"no group '{group}' of cases{suggest(group, GROUPS)}; there are {', '.join(GROUPS)}")
    found = {
        "operators": _operators,
        "composites": _composites,
        "recipes": cases_of_recipe,
        "models": lambda subject: (*(model.case for model in all_models()), *models_of_recipe(subject)),
        "graphs": lambda _: random_graphs(),
    }
    return [case for group in GROUPS if group in chosen for case in found[group](subject)]


def _composites(subject: Subject) -> Iterator[Case]:
    for codegen in _codegens(subject):
        yield from composites_of(codegen)


def _codegens(subject: Subject) -> list[type[Codegen]]:
    names = [codegen.partition("{")[0] for codegen in subject.codegens]
    return [codegen for codegen in all_codegens() if codegen.name in names]


def in_rounds(subject: Subject, cases: Sequence[Case]) -> list[Case]:
    """Return the cases in the order of execution: one of each pattern after the other, then the other groups.

    Operators that no pattern of a codegen names are last.
    """
    named = named_operators(subject)
    queues: dict[tuple[bool, bool, str, str], list[Case]] = {}
    for case in cases:
        is_own, is_operator = case.group in _OF_PATTERNS, case.group == "operators"
        is_other = is_operator and named is not None and case.subject not in named
        key = (not is_own, is_other, case.group, case.subject if is_own or is_operator else "")
        queues.setdefault(key, []).append(case)
    places = [
        (is_late, is_other, rank, number, case)
        for number, ((is_late, is_other, *_), queue) in enumerate(queues.items())
        for rank, case in enumerate(queue if is_late else _spread(queue))
    ]
    return [case for *_, case in sorted(places, key=lambda place: place[:-1])]


def _spread(cases: Sequence[Case]) -> Iterator[Case]:
    """Yield the cases of a pattern: each alternative once and the first one in each variant, then evenly."""
    rest = {case: (case.variant, " ".join(case.name.replace(case.variant, "").split())) for case in cases}
    first = next(iter(rest.values()))
    counts: Counter[str] = Counter()

    def rank(case: Case) -> tuple[bool, int]:
        pairs = zip(rest[case], first, strict=True)
        return not any(own == other for own, other in pairs), sum(counts[part] for part in rest[case])

    while rest:
        case = min(rest, key=rank)
        counts.update(rest.pop(case))
        yield case


def named_operators(subject: Subject) -> frozenset[str] | None:
    """Return the operators that the patterns of a codegen name, or None for a target, which takes all of them."""
    codegens = _codegens(subject)
    return frozenset().union(*map(operators_of, codegens)) if codegens else None


def cases_by_pattern(subject: Subject) -> dict[str, frozenset[str]]:
    """Return the names of the cases of each pattern of a codegen, and of each entry of its recipe.

    A pattern's cases are its composites, or the rows of its operators.
    """
    found = {}
    recipes = [listed_case.name for listed_case in cases_of_recipe(subject)] if _codegens(subject) else []
    for codegen in _codegens(subject):
        for op in codegen.recipe.ops if codegen.recipe is not None else ():
            if layers := frozenset(name for name in recipes if name.partition(" ")[0] == op.name):
                found[f"layer '{op.name}' of the recipe"] = layers
        own = [each.name for each in composites_of(codegen)]
        for composite in codegen.composites():
            cases = [name for name in own if name.partition(" ")[0] == composite.name]
            rows = () if cases else (row for head in composite.heads for row in rows_of(head))
            of_rows = (case.name for row in rows for case in cases_of(row))
            found[f"pattern '{composite.name}'"] = frozenset([*cases, *of_rows])
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
