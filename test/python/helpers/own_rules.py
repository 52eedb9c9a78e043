# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Removal of the rules that a test registers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relax_mlir.passes.graph import gradient_rules
from relax_mlir.passes.graph.decompose import registry as decompositions
from relax_mlir.passes.graph.layout import registry as layouts
from relax_mlir.passes.graph.mixed_precision import registry as precisions
from relax_mlir.passes.kernels.schedule import registry as schedules
from relax_mlir.support.registry import Registry

import relax_mlir as rx


@contextmanager
def without_new(registered: Registry[Any]) -> Iterator[None]:
    for load in (rx.all_rules, rx.all_intrinsic_rules, schedules.all_schedules):
        load()  # a module loaded in between would count as new, and would then be missing
    before = {name: dict(of_name) for name, of_name in registered.entries.items()}
    try:
        yield
    finally:
        registered.entries.clear()
        registered.entries.update(before)


@contextmanager
def without_new_gradients() -> Iterator[None]:
    gradient_rules.all_gradients()
    with without_new(gradient_rules._RULES):
        yield


@contextmanager
def without_new_decompositions() -> Iterator[None]:
    decompositions.all_decompositions()
    with without_new(decompositions._DECOMPOSITIONS):
        yield


@contextmanager
def without_new_precisions() -> Iterator[None]:
    with without_new(precisions._FACTS):
        yield


@contextmanager
def without_new_layouts() -> Iterator[None]:
    layouts.all_layout_rules()
    with without_new(layouts._RULES):
        yield
