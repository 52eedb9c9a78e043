# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests for the form of descriptions in tables, which users read in help texts and in generated pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import relax_mlir.dialects.relax
import relax_mlir.dialects.tir
from relax_mlir.dialects.core.documentation import arguments
from relax_mlir.passes.core.options import option_fields
from relax_mlir.passes.core.registry import all_passes
from relax_mlir.support.importing import is_own_module
from relax_mlir.targets.core.registry import all_targets
from relax_mlir.tools.opt.option_docs import option_doc

import relax_mlir as rx

_OPENING = re.compile(r"(?:what|whether|of|those|these|that|how|where|which|who|whose|why|as|is|has|absent)\b", re.I)
_VERB = re.compile(r"[a-z]+s\b")


def _operators() -> Iterator[tuple[str, str]]:
    for name in ("relax", "tir"):
        for op in rx.registered_dialects()[name].ops.values():
            yield op.full_name, op.doc
            yield from ((f"{op.full_name}: {each.name}", each.doc) for each in arguments(op))


def _passes() -> Iterator[tuple[str, str]]:
    for name, cls in all_passes().items():
        if is_own_module(cls.__module__):
            yield name, cls.__doc__ or ""
            yield from ((f"{name}: {key}", option_doc(cls, field)) for key, field in option_fields(cls).items())


def _options() -> Iterator[tuple[str, str]]:
    """Yield the options of targets. Other tests of this process may have registered further targets."""
    for target in all_targets():
        if target.backend is not None and is_own_module(target.backend.__module__):
            yield from ((f"{target.name}: {each.name}", each.doc) for each in target.options)


def _stages() -> Iterator[tuple[str, str]]:
    for target in ("llvm", "cuda", "c"):
        yield from ((f"{target}: {each.name}", each.doc) for each in rx.stages(target, 3))


@pytest.mark.parametrize("table", [_operators, _passes, _options, _stages])
def test_descriptions_begin_with_a_noun_or_a_verb(table) -> None:
    found = list(table())
    assert len(found) > 20
    assert [row for row in found if _OPENING.match(row[1])] == []


def test_operators_and_stages_have_descriptions() -> None:
    assert [name for name, doc in (*_operators(), *_stages()) if not doc and ":" not in name] == []


def test_descriptions_of_stages_begin_with_a_verb_in_the_third_person() -> None:
    assert [row for row in _stages() if not _VERB.match(row[1])] == []
