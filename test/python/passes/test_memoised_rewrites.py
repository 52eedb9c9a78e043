# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Repetition of an operation's rewriting for another operation of the same types, with its own operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from before_after import keeps_results
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, functions_in, operations_of
from relax_mlir.passes.core.memoised_rewrites import Signatures, take_down

import relax_mlir as rx
from relax_mlir import relax


def _operations(*make: Callable[..., Any], inputs: int = 2) -> tuple[rx.Module, list[Any]]:
    module = rx.Module()
    names = {f"x{index}": rx.tensor((4,)) for index in range(inputs)}
    with module.function("main", names) as f:
        f.returns(*(each(*f) for each in make))
    (function,) = functions_in(module.operation)
    return module, [op for op in operations_of(body_of(function)) if op.name.startswith("relax.")]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (lambda x, y: relax.add(x, y), lambda x, y: relax.add(y, x), True),
        (lambda x, y: relax.add(x, y), lambda x, y: relax.subtract(x, y), False),
        (lambda x, y: relax.sum(x, axis=[0]), lambda x, y: relax.sum(x, axis=[0]), True),
        (lambda x, y: relax.sum(x, axis=[0]), lambda x, y: relax.sum(x, axis=[0], keepdims=True), False),
        (lambda x, y: relax.clip(x, 0.0, 1.0), lambda x, y: relax.clip(y, 0.0, 1.0), True),
        (lambda x, y: relax.clip(x, 0.0, 1.0), lambda x, y: relax.clip(x, -0.0, 1.0), False),
    ],
)
def test_signatures(one: Any, other: Any, is_same: bool) -> None:
    module, operations = _operations(one, other)
    signatures = Signatures()
    first, second = (signatures.of(op, list(op.operands)) for op in operations if op.name != "relax.prim_value")
    assert (first == second) is is_same
    module.verify()


def _taken(make: Callable[[Any, Any], Any], same: bool = False) -> tuple[Any, Any]:
    """Return the recording of `take_down` for the operations of a function, made in a block of its own, and their
    operands."""
    module = rx.Module()
    context = module.operation.context
    with context, ir.Location.unknown(context):
        tensor = ir.RankedTensorType.get([4], ir.F32Type.get())
        made = ir.Module.create()
        given = [
            ir.Operation.create(
                "relax.full", [tensor], ip=ir.InsertionPoint(module.operation.regions[0].blocks[0])
            ).result
            for _ in range(2)
        ]
        operands = [given[0], given[0]] if same else given
        with ir.InsertionPoint(made.body):
            return take_down(operands, make(*operands)), (module, made, given)


def _op(name: str, *operands: Any) -> Any:
    return ir.Operation.create(name, [operands[0].type], list(operands)).result


def test_a_scalar_result_is_no_operand() -> None:
    """Use values of scalar operands in the signature. Results have none."""
    module = rx.Module.parse("func.func @f(%x: i64) -> i64 {\n%y = arith.addi %x, %x : i64\nreturn %y : i64\n}")
    (function,) = functions_in(module.operation)
    add = operations_of(body_of(function))[0]
    signatures = Signatures()
    assert signatures.of(add, list(add.operands)) == signatures.of(add, list(add.operands))


def test_steps_and_results_are_identified_by_places() -> None:
    found, _ = _taken(lambda x, y: [_op("relax.add", y, _op("relax.exp", x)), x])
    assert [(step.name, step.operands) for step in found.steps] == [("relax.exp", (0,)), ("relax.add", (1, 2))]
    assert found.results == (3, 0)


def test_what_operands_do_not_tell_is_not_taken_down() -> None:
    assert _taken(lambda x, y: [_op("relax.exp", x)], same=True)[0] is None
    outside: list[Any] = []
    _, kept = _taken(lambda x, y: outside.append(_op("relax.exp", x)) or [x])
    assert _taken(lambda x, y: [outside[0]])[0] is None
    del kept

    def elsewhere(x: Any, y: Any) -> list[Any]:
        with ir.Location.name("elsewhere"):
            return [_op("relax.exp", x)]

    assert _taken(elsewhere)[0] is None


# ---- in relax-decompose-ops ----


def test_equal_norms_of_other_values_keep_their_results() -> None:
    module = rx.Module()
    with module.function("main", {name: rx.tensor((3, 4)) for name in "xy"} | {"w": rx.tensor((4,))}) as f:
        x, y, w = f
        values = [relax.nn.rms_norm(each, w, axes=[-1]) for each in (x, y, relax.add(x, y))]
        f.returns(*values, relax.nn.layer_norm(x, w, w, axes=[-1]), relax.nn.layer_norm(y, w, w, axes=[-1]))
    keeps_results(module, "relax-decompose-ops{ops=all}")
