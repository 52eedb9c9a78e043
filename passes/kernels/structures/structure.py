# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structures: computations to find in PrimFuncs, stated by functions that compute them.

    product = structure('''
        func.func @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> {...}
    ''')

A PrimFunc has the structure if it computes the same for some order of its inputs. Names of values, the order of
operations and of commutative operands, and named or generic linalg operations make no difference. The same holds for
the distribution of elementwise work over operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ....bindings.ir import Operation, Type
from ....bindings.mlir import ir
from ....bindings.navigation import function_type_of, functions_in, has_body, symbol_name
from ....bindings.rewriting import located_error
from ....dialects.context import create_context
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo
from ....dialects.core.symbols import Dim, equal
from ....dialects.parsing import parse_module
from ....dialects.tir.prim_func import is_prim_func, make_prim_func
from ....support.errors import RefusalError
from ....support.suggest import counted
from .canonical import Canonical, body_of_prim_func, canonical, generalize, signature, signature_of
from .evaluation import Literal, Wildcard
from .reading import Unreadable, literal_places

#: Sizes of tensors, or None for other values.
Shapes = Sequence[Sequence[Dim] | None]


class Binding(NamedTuple):
    """Binding of a structure to a PrimFunc: the PrimFunc's input for each input of the structure, and the literals."""

    inputs: tuple[int, ...]
    literals: dict[str, float]


class Structure:
    """A computation to find in PrimFuncs."""

    def __init__(self, function: Operation):
        self.name = symbol_name(function)
        try:
            self._body = body_of_prim_func(function)
        except Unreadable as problem:
            raise located_error(f"structure {self} {problem}", function.location) from None
        self.signature = signature(self._body)
        self.input_count = len(self._body.inputs)
        type_, literals = function_type_of(function), literal_places(function)
        inputs = [input_ for place, input_ in enumerate(type_.inputs) if place not in literals][: self.input_count]
        #: Shapes of inputs, then of results.
        self.shapes: Shapes = [_shape(value) for value in (*inputs, *type_.results)]
        #: True if the structure states any size.
        self.has_sizes = any(size is not None for shape in self.shapes for size in shape or ())

    @cached_property
    def _canonical(self) -> Canonical:
        """Computed on first use, because most structures of a table are never compared."""
        try:
            return canonical(self._body)
        except Unreadable as problem:
            raise RefusalError(f"structure {self} {problem}") from None

    @property
    def key(self) -> bytes:
        return self._canonical.key

    def bindings(self, form: Canonical, shapes: Shapes) -> list[Binding] | str:
        """Return the bindings for a PrimFunc with the same key and these argument and result shapes, or the reason for
        none.
        """
        bindings: dict[tuple[int, ...], Binding] = {}
        reason = ""
        own = self._canonical.ways[0]
        for way in form.ways:
            if isinstance(literals := _bound_literals(own.literals, way.literals), str):
                reason = literals
                continue
            inputs = tuple(place for _, place in sorted(zip(own.inputs, way.inputs, strict=True)))
            problem = self._problem_of_sizes([*(shapes[place] for place in inputs), *shapes[len(inputs) :]])
            if problem:
                reason = problem
                continue
            bindings.setdefault(inputs, Binding(inputs, literals))
        return list(bindings.values()) or reason

    def _problem_of_sizes(self, shapes: Shapes) -> str:
        known: dict[Dim, Dim] = {}
        for own, shape in zip(self.shapes, shapes, strict=True):
            for size, there in zip(own or (), shape or (), strict=True):
                if size is None:
                    continue
                expected = size if isinstance(size, int) else known.setdefault(size, there)
                if equal(expected, there) is not True:
                    return f"has size {'?' if there is None else there} where {self} has {size}"
        return ""

    def __repr__(self) -> str:
        return f"@{self.name}"


class Later(Structure):
    """A structure without sizes that is read only when a PrimFunc has its signature, so that large tables are cheap."""

    def __init__(self, name: str, inputs: Sequence[str], result: str, read: Callable[[], Structure]):
        """`inputs` and `result` are element types and ranks, such as f32x2."""
        self.name, self.input_count, self.has_sizes = name, len(inputs), False
        self.signature = signature_of(inputs, [result])
        self.read = read

    @property
    def key(self) -> bytes:
        return self.read().key

    def bindings(self, form: Canonical, shapes: Shapes) -> list[Binding] | str:
        return self.read().bindings(form, shapes)


def _shape(type_: Type) -> Sequence[Dim] | None:
    info = decode(type_)
    return info.shape if isinstance(info, TensorInfo) else None


def _bound_literals(literals: Sequence[Literal], found: Sequence[Literal]) -> dict[str, float] | str:
    if len(literals) != len(found):
        return "has other literals"
    bound: dict[str, float] = {}
    for expected, there in zip(literals, found, strict=True):
        assert not isinstance(there, Wildcard)
        if isinstance(expected, Wildcard):
            expected = bound.setdefault(expected.name, there)
        if repr(expected) != repr(there):
            return f"has the literal {there}, expected {expected}"
    return bound


def structures(source: Any) -> dict[str, Structure]:
    """Return the structures of a module's functions by name.

    The source is MLIR text, an rx.Module or one of its functions.
    """
    owner = parse_module(source, "<structure>", trusted=True) if isinstance(source, str) else source
    module = owner.operation
    if owner is not source:
        generalize(module)  # all functions at once
    functions = (
        [module]
        if module.name == "func.func"
        else [function for function in functions_in(module) if has_body(function)]
    )
    return {symbol_name(function): Structure(function) for function in functions if _is_stated(function, functions)}


def _is_stated(function: Operation, functions: Sequence[Operation]) -> bool:
    """Check whether a function states a structure. The tensor program of a script comes with a graph that calls it."""
    return is_prim_func(function) or not any(map(is_prim_func, functions))


def structure(
    source: Any, inputs: Sequence[Any] = (), outputs: Sequence[Any] = (), name: str = "structure"
) -> Structure:
    """Return the structure of one function: MLIR text, an rx.Module with one function, or Python that builds it.

    A Python function receives parameters of these types (infos, MLIR types, text), inputs first, and returns the
    outputs.
    """
    if callable(source) and not hasattr(source, "operation"):
        context = create_context()
        with context, ir.Location.unknown():
            module = ir.Module.create()
            make_prim_func(name, inputs, outputs, source, ip=ir.InsertionPoint(module.body))
            return Structure(next(functions_in(module.operation)))
    found = structures(source)
    if len(found) != 1:
        names = ", ".join(f"@{each}" for each in found) or "none"
        raise RefusalError(
            f"a structure is one function, not {counted(len(found), 'function')} ({names}); use structures()"
        )
    return next(iter(found.values()))
