# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-legalize-ops calls a rule once for operators of one signature, with the same result as a call for each
operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from blocks import llama, resnet, transformer
from own_rules import without_new
from relax_mlir.passes.core.journal import Journal
from relax_mlir.passes.legalize.remembered import Remembered
from relax_mlir.passes.legalize.rules import _RULES, register_legalize, rules_by_op

import relax_mlir as rx
from relax_mlir import relax


def _legalized(module: rx.Module) -> tuple[str, list[dict[str, Any]]]:
    journal = Journal()
    with journal.recording():
        rx.Pipeline("relax-legalize-ops").run(module)
    return str(module), journal.facts


def _scalars() -> rx.Module:
    """Equal types; the operands, their values or their order differ."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 4)), "y": rx.tensor(("n", 4))}) as f:
        x, y = f
        values = [relax.subtract(x, y), relax.subtract(y, x), relax.subtract(x, x), relax.subtract(y, x)]
        values += [relax.clip(x, 0, 1), relax.clip(x, 0, 2), relax.clip(y, 0, 1), relax.clip(y, -0.0, 1)]
        values += [relax.take(x, relax.const(numpy.int64(index)), axis=1) for index in (0, 1)]
        values += [relax.where(relax.less(a, b), a, b) for a, b in ((x, y), (y, x), (x, x))]
        f.returns(*values)
    return module


@pytest.mark.parametrize(
    "make", [_scalars, lambda: transformer(3), lambda: llama(2, length="n"), lambda: resnet(3)], ids=lambda each: ""
)
def test_nothing_shows(make: Callable[[], rx.Module], monkeypatch: pytest.MonkeyPatch) -> None:
    text, facts = _legalized(make())
    with monkeypatch.context() as patch:
        patch.setattr(Remembered, "again", lambda *_: None)
        expected, expected_facts = _legalized(make())
    assert text == expected
    assert [fact for fact in facts if fact["kind"] != "stage"] == [
        fact for fact in expected_facts if fact["kind"] != "stage"
    ]


@pytest.mark.parametrize(("by_types", "asked"), [(True, 1), (False, 3)])
def test_a_rule_that_promises_nothing_is_asked_each_time(by_types: bool, asked: int) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4,))}) as f:
        (x,) = f
        f.returns(relax.exp(relax.exp(relax.exp(x))))
    seen = []

    def rule(call: Any) -> Any:
        seen.append(call.op)
        return call.elementwise(lambda number: number)

    rules_by_op("llvm")
    with without_new(_RULES):
        register_legalize("relax.exp", "llvm", by_types=by_types)(rule)
        rx.Pipeline("relax-legalize-ops{target=llvm}").run(module)
    assert len(seen) == asked
    assert str(module).count("relax.call_tir") == 3
