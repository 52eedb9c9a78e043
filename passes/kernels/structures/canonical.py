# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Canonical form of a PrimFunc (a structural hash), equal for PrimFuncs that compute the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import functions_in, operations_in
from ....bindings.pass_manager import run_upstream
from .evaluation import Evaluation, Literal, Term, orders, term
from .reading import ReadBody, read_body

_GENERAL = frozenset({"linalg.generic", "linalg.index", "linalg.yield"})


class Way(NamedTuple):
    """An order of the inputs that yields the canonical form, and the literals in this order."""

    inputs: tuple[int, ...]
    literals: tuple[Literal, ...]


class Canonical(NamedTuple):
    """Canonical form. Functions that compute the same, for some order of inputs and any sizes, have equal keys."""

    key: bytes
    #: The first way represents the function. Others are equivalent, for example for the sum of two inputs.
    ways: tuple[Way, ...]


def body_of_prim_func(function: Operation) -> ReadBody:
    """Read a PrimFunc with named operations generalized. Raise Unreadable if that is impossible."""
    if not any(op.name.startswith("linalg.") and op.name not in _GENERAL for op in operations_in(function)):
        return read_body(function)
    module = ir.Module.create(ir.Location.unknown(function.context))
    with function.location:
        function.clone(ir.InsertionPoint(module.body))
    generalize(module.operation)
    (copy,) = functions_in(module.operation)
    return read_body(copy)


def generalize(module: Operation) -> None:
    """Convert named linalg operations to linalg.generic."""
    run_upstream(module, ["func.func(linalg-generalize-named-ops)"], verify=False)


def signature(body: ReadBody) -> str:
    """Return the element types and ranks as text. Equal functions have equal signatures, which are cheap to compute."""
    return signature_of(*([body.types[value].text for value in each] for each in (body.inputs, body.region.results)))


def signature_of(inputs: Sequence[str], results: Sequence[str]) -> str:
    return f"{', '.join(sorted(inputs))} -> {', '.join(results)}"


def canonical(body: ReadBody) -> Canonical:
    """Return the canonical form. Raise Unreadable if there is none."""
    inputs = range(len(body.inputs))
    kinds = [body.types[value].text for value in body.inputs]

    def evaluated(labels: Sequence[str]) -> Term:
        given = {value: f"{kind} {label}" for value, kind, label in zip(body.inputs, kinds, labels, strict=True)}
        return Evaluation(body, given).results()

    def color(position: int) -> tuple[str, bytes]:
        if kinds.count(kinds[position]) == 1:
            return kinds[position], b""
        return kinds[position], evaluated(["this" if input_ == position else "other" for input_ in inputs]).key

    colors = [color(position) for position in inputs]
    terms: dict[tuple[int, ...], Term] = {}
    for order in orders(inputs, lambda position: colors[position]):
        terms[order] = evaluated([str(order.index(position)) for position in inputs])
    key = min(each.key for each in terms.values())
    ways = tuple(Way(order, value.literals) for order, value in terms.items() if value.key == key)
    return Canonical(term(signature(body), Term(key)).key, ways)
