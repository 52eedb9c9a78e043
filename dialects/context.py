# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts that know every registered dialect."""

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

# What builders create in addition to their own operators. The parser loads others by itself when it meets them.
_UPSTREAM = ("func", "arith")


def create_context() -> Context:
    """A context with this project's and every other registered dialect, ready to parse and build."""
    context = new_context(_UPSTREAM)
    load_registered(context)
    return context


def load_registered(context: Context) -> None:
    """Makes a context know what was declared after it was made: by a plug-in, mostly."""
    for dialect in list(declared.registered_dialects().values()):  # another thread may declare one
        dialect.load(context)


def find_dialect(name: str, context: Context) -> Dialect | None:
    """The dialect of that name, this project's or a plug-in's, which is imported where it is announced."""
    if name not in declared.registered_dialects() and load_plugins("dialect", name):
        load_registered(context)
    return declared.registered_dialects().get(name)


def registered_dialects() -> Mapping[str, Dialect]:
    """Every dialect defined in Python so far, by name, this project's included."""
    return declared.registered_dialects()


@types_checked
def find_op(full_name: str) -> Operator:
    """The definition of an operator by its full name, `relax.nn.conv2d`; a plug-in that announces its dialect is
    imported.
    """
    namespace = full_name.partition(".")[0]
    if namespace not in registered_dialects():
        load_plugins("dialect", namespace)
    return declared.find_op(full_name)


before_rewriting.append(load_registered)
