# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts with all registered dialects."""

from __future__ import annotations

from collections.abc import Mapping

from ..bindings.context import new_context
from ..bindings.ir import Context
from ..bindings.rewriting import before_rewriting
from ..support.argument_types import types_checked
from ..support.plugins import load_plugins
from . import relax, tir  # noqa: F401  # importing a dialect registers it
from .core import dialect as declared
from .core.dialect import Dialect
from .core.operator import Operator

# Upstream dialects of the builders. The parser loads further dialects on demand.
_UPSTREAM = ("func", "arith")


def create_context() -> Context:
    """Return a context with this project's dialects and every other registered dialect, ready to parse and build."""
    context = new_context(_UPSTREAM)
    load_registered(context)
    return context


def load_registered(context: Context) -> None:
    """Load dialects and operators that were declared after the context was created, mostly by a plug-in."""
    for dialect in list(declared.registered_dialects().values()):  # another thread may declare a dialect
        dialect.load(context)


def find_dialect(name: str, context: Context) -> Dialect | None:
    """Return the dialect of that name, or None. An announced plug-in with the dialect is imported."""
    if name not in declared.registered_dialects() and load_plugins("dialect", name):
        load_registered(context)
    return declared.registered_dialects().get(name)


def registered_dialects() -> Mapping[str, Dialect]:
    """Return every dialect that Python code has defined so far, by name, this project's dialects included."""
    return declared.registered_dialects()


@types_checked
def find_op(full_name: str) -> Operator:
    """Return the definition of an operator by its full name, `relax.nn.conv2d`.

    An announced plug-in with the dialect is imported.
    """
    if (namespace := full_name.partition(".")[0]) not in registered_dialects():
        load_plugins("dialect", namespace)
    return declared.find_op(full_name)


before_rewriting.append(load_registered)
