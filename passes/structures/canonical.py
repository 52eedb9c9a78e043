# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Canonical form of a PrimFunc (a structural hash): equal for two that compute the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import functions_in, operations_in
from ...bindings.pass_manager import run_upstream
from .evaluation import Evaluation, Literal, Term, orders, term
from .reading import Body, read_body

_GENERAL = frozenset({"linalg.generic", "linalg.index", "linalg.yield"})


class Way(NamedTuple):
    """The inputs in an order in which they make the canonical form, and the literals then."""

    inputs: tuple[int, ...]
    literals: tuple[Literal, ...]


class Canonical(NamedTuple):
    """`key` is the same for functions that compute the same of inputs in some order, of tensors of any sizes."""

    key: bytes
    #: The first is the one that stands for the function; others are as good, as the sum of two inputs has them.
    ways: tuple[Way, ...]


def body_of_prim_func(function: Operation) -> Body:
    """Named operations as generic ones. Raises Unreadable."""
    if not any(op.name.startswith("linalg.") and op.name not in _GENERAL for op in operations_in(function)):
        return read_body(function)
    module = ir.Module.create(ir.Location.unknown(function.context))
    with function.location:
        function.clone(ir.InsertionPoint(module.body))
    generalize(module.operation)
    (copy,) = functions_in(module.operation)
    return read_body(copy)


def generalize(module: Operation) -> None:
    """Named operations of linalg become generic ones."""
    run_upstream(module, ["func.func(linalg-generalize-named-ops)"], verify=False)


def signature(body: Body) -> str:
    """Element types and ranks: those that are alike have it in common, and to tell it takes next to nothing."""
    return signature_of(*([body.types[value].text for value in each] for each in (body.inputs, body.region.results)))


def signature_of(inputs: Sequence[str], results: Sequence[str]) -> str:
    return f"{', '.join(sorted(inputs))} -> {', '.join(results)}"


def canonical(body: Body) -> Canonical:
    """Raises Unreadable."""
    inputs = range(len(body.inputs))
    kinds = [body.types[value].text for value in body.inputs]

    def evaluated(labels: Sequence[str]) -> Term:
        given = {value: f"{kind} {label}" for value, kind, label in zip(body.inputs, kinds, labels, strict=True)}
        return Evaluation(body, given).results()

    def color(position: int) -> tuple[str, bytes]:
        if kinds.count(kinds[position]) == 1:
            return kinds[position], b""
        return kinds[position], evaluated(["this" if each == position else "other" for each in inputs]).key

    colors = [color(position) for position in inputs]
    found: dict[tuple[int, ...], Term] = {}
    for order in orders(inputs, lambda position: colors[position]):
        found[order] = evaluated([str(order.index(position)) for position in inputs])
    key = min(each.key for each in found.values())
    ways = tuple(Way(order, each.literals) for order, each in found.items() if each.key == key)
    return Canonical(term(signature(body), Term(key)).key, ways)
