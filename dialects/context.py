# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts that know every registered dialect."""

from __future__ import annotations

from ..bindings.context import new_context
from ..bindings.ir import Context
from ..bindings.rewriting import before_rewriting
from . import relax, tir  # noqa: F401  # importing a dialect registers it
from .core.dialect import registered_dialects

# What builders create beside their own operators. The parser loads others by itself when it meets them.
_UPSTREAM = ("func", "arith")


def create_context() -> Context:
    """A context with this project's and every other registered dialect, ready to parse and build."""
    context = new_context(_UPSTREAM)
    load_registered(context)
    return context


def load_registered(context: Context) -> None:
    """Makes a context know what was declared after it was made: by a plug-in, mostly."""
    for dialect in registered_dialects().values():
        dialect.load(context)


before_rewriting.append(load_registered)
