# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules that a test registers are gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.passes.gradient import registry


@contextmanager
def without_new_gradients() -> Iterator[None]:
    before = {rule.op: rule for rule in registry.all_gradients()}
    try:
        yield
    finally:
        registry._RULES.clear()
        registry._RULES.update(before)
