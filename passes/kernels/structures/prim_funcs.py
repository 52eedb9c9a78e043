# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memoised structures of called PrimFuncs. Each function is read once during a walk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property

from ....bindings.ir import Operation
from ....bindings.navigation import body_of, functions_in, has_body, innermost, operations_of, symbol_name
from ....dialects.core.facts import OpPattern
from ....dialects.tir.prim_func import is_prim_func, op_pattern
from .canonical import Canonical, body_of_prim_func, canonical, signature
from .reading import ReadBody, Unreadable

CALL_TIR = "relax.call_tir"


class KnownPrimFunc:
    """A PrimFunc with a body."""

    def __init__(self, function: Operation):
        self.function = function

    @cached_property
    def kind(self) -> OpPattern:
        """Return the fusion pattern: the stated one, or that of the body."""
        if (stated := op_pattern(self.function)) is not None:
            return stated
        from ...graph.fuse.pattern import pattern_of  # slow to import, because it reads bodies like fusion does

        with self.function.context:
            return pattern_of(self.function)

    @cached_property
    def body(self) -> ReadBody | str:
        """Return the body as data, or the reason why it is unreadable."""
        try:
            return body_of_prim_func(self.function)
        except Unreadable as problem:
            return str(problem)

    @cached_property
    def signature(self) -> str:
        return "" if isinstance(self.body, str) else signature(self.body)

    @cached_property
    def canonical(self) -> Canonical | str:
        """Return the canonical form, or the reason why there is none."""
        if isinstance(self.body, str):
            return self.body
        try:
            return canonical(self.body)
        except Unreadable as problem:
            return str(problem)


class KnownPrimFuncs:
    """PrimFuncs of the modules in which calls are looked up."""

    def __init__(self) -> None:
        self._modules: dict[Operation, dict[str, KnownPrimFunc | None]] = {}

    def of(self, call: Operation) -> KnownPrimFunc | None:
        """Return the PrimFunc that a relax.call_tir calls, or None if it has no readable body."""
        module: Operation | None = innermost(call, "builtin.module")
        attribute = call.attributes["func"].value
        *outer, name = [attribute] if isinstance(attribute, str) else attribute
        for each in outer:
            module = module and _module_in(module, each)
        if module is None:
            return None
        known = self._modules.setdefault(module, {})
        if name not in known:
            # Read all functions of the module at once. Functions added since then are new.
            for function in functions_in(module):
                if is_prim_func(function) and has_body(function):
                    known.setdefault(symbol_name(function), KnownPrimFunc(function))
        return known.setdefault(name, None)


def _module_in(module: Operation, name: str) -> Operation | None:
    inside = (op for op in operations_of(body_of(module)) if op.name == "builtin.module")
    return next((op for op in inside if symbol_name(op) == name), None)


_known: ContextVar[KnownPrimFuncs | None] = ContextVar("known_prim_funcs", default=None)


@contextmanager
def remembering(known: KnownPrimFuncs) -> Iterator[None]:
    """Look up PrimFuncs in `known` inside the context. Bodies must not change meanwhile."""
    token = _known.set(known)
    try:
        yield
    finally:
        _known.reset(token)


def prim_func_of(call: Operation) -> KnownPrimFunc | None:
    """Return the memoised PrimFunc that a relax.call_tir calls, or None."""
    return (_known.get() or KnownPrimFuncs()).of(call)
