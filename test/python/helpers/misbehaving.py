# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns that break the rules for patterns: the rewrite and conversion drivers must survive them."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from chains import body_of, create
from relax_mlir.bindings.conversion import Conversion
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.patterns import Pattern, apply_greedy
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx

SOURCE = """
func.func @f(%a: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.sin"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.cos"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %d = "relax.tan"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = scf.if %c -> tensor<4xf32> {
    %4 = "relax.sin"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %4 : tensor<4xf32>
  } else {
    scf.yield %2 : tensor<4xf32>
  }
  return %3 : tensor<4xf32>
}"""


MISBEHAVIOURS: list[Any] = []


def misbehaviour(
    message: str = "",
    error: type[BaseException] = RelaxError,
    *,
    conversion: bool = False,
    greedy: bool = False,
    walk: bool = False,
    leaves_valid: bool = True,
) -> Callable[[Any], Any]:
    """Register a pattern with the expected message. The flags name the drivers that accept the pattern."""

    def register(function: Any) -> Any:
        function.message, function.error = message, error
        function.allowed_in_conversion, function.allowed_in_greedy, function.allowed_in_walk = conversion, greedy, walk
        function.leaves_valid = leaves_valid
        MISBEHAVIOURS.append(function)
        return function

    return register


@misbehaviour("pattern '<lambda>' for 'relax.sin': KeyError: 'lost' .at helpers/misbehaving.py:")
def raises(op: Any) -> Any:
    raise KeyError("lost")


@misbehaviour("pattern '<lambda>' for 'relax.sin': KeyError: 'lost' .at helpers/misbehaving.py:")
def raises_after_making(op: Any) -> Any:
    create(op, "relax.negative")
    raise KeyError("lost")


@misbehaviour("pattern '<lambda>' for 'relax.sin': KeyError: 'lost' .at helpers/misbehaving.py:")
def raises_after_replacing_uses(op: Any) -> Any:
    op.operation.results[0].replace_all_uses_with(create(op, "relax.negative").result)
    raise KeyError("lost")


@misbehaviour("SystemExit: 3 .at helpers/misbehaving.py:")
def exits(op: Any) -> Any:
    raise SystemExit(3)


@misbehaviour("returned a value of type i32 for result #0, but tensor<4xf32> is needed")
def returns_another_type(op: Any) -> Any:
    i32 = ir.IntegerType.get_signless(32)
    return ir.Operation.create("arith.constant", results=[i32], attributes={"value": ir.IntegerAttr.get(i32, 1)})


@misbehaviour("returned 0 values for 1 results")
def returns_nothing(op: Any) -> Any:
    return []


@misbehaviour("returned 2 values for 1 results")
def returns_too_much(op: Any) -> Any:
    return [op.operation.operands[0]] * 2


@misbehaviour("returned True: expected the values that replace its results")
def returns_true(op: Any) -> Any:
    return True


@misbehaviour("returned False: expected the values")
def returns_false(op: Any) -> Any:
    return False


@misbehaviour("returned 'sin': expected the values")
def returns_text(op: Any) -> Any:
    return "sin"


@misbehaviour("returned None where a value is expected")
def returns_none_in_a_list(op: Any) -> Any:
    return [None]


@misbehaviour("returned the operation's own result")
def returns_itself(op: Any) -> Any:
    return op


@misbehaviour("returned a value of another context for result #0")
def returns_a_value_of_another_module(op: Any) -> Any:
    other = rx.Module.parse(SOURCE)
    _kept.append(other)
    return body_of(other)[0].operation.results[0]


_kept: list[Any] = []


@misbehaviour("erases it although its results are used")
def erases_itself_in_use(op: Any) -> Any:
    op.operation.erase()
    return ()


@misbehaviour("erases what it was called for: return the values instead")
def erases_itself(op: Any) -> Any:
    op.operation.results[0].replace_all_uses_with(op.operation.operands[0])
    op.operation.erase()
    return ()


@misbehaviour("erases or replaces another operation", conversion=True, greedy=True)
def erases_what_comes_before(op: Any) -> Any:
    if isinstance(op.operation.operands[0].owner, ir.Block):
        return op.operation.operands[0]
    before = op.operation.operands[0].owner.operation
    before.results[0].replace_all_uses_with(before.operands[0])
    before.erase()
    return create(op, "relax.negative")


@misbehaviour("erases or replaces another operation", conversion=True, greedy=True)
def erases_what_comes_after(op: Any) -> Any:
    for use in list(op.operation.results[0].uses):
        user = use.owner.operation
        if user.name.startswith("relax."):
            user.results[0].replace_all_uses_with(op.operation.results[0])
            user.erase()
    return create(op, "relax.negative")


@misbehaviour("erases what it was called for")
def erases_what_is_around(op: Any) -> Any:
    around = op.operation.parent.operation
    if around.name == "scf.if":
        around.results[0].replace_all_uses_with(op.operation.operands[0])
        around.erase()
    return create(op, "relax.negative")


@misbehaviour("erases what it was called for")
def erases_the_function(op: Any) -> Any:
    op.operation.parent.operation.erase()
    return create(op, "relax.negative")


@misbehaviour("erases what it was called for")
def erases_the_symbol(op: Any) -> Any:
    function = op.operation.parent.operation
    while function.name != "func.func":
        function = function.parent.operation
    ir.SymbolTable(function.parent.operation).erase(function)
    return create(op, "relax.negative")


@misbehaviour("cannot detach an operation")
def detaches_itself(op: Any) -> Any:
    op.operation.detach_from_parent()
    return create(op, "relax.negative")


@misbehaviour("cannot detach an operation")
def detaches_users(op: Any) -> Any:
    for use in list(op.operation.results[0].uses):
        use.owner.operation.detach_from_parent()
    gc.collect()
    return create(op, "relax.negative")


@misbehaviour("uses a value of an operation that was erased")
def returns_a_value_that_it_erased(op: Any) -> Any:
    made = create(op, "relax.negative")
    value = made.result
    made.erase()
    return value


@misbehaviour("erases it although its results are used")
def erases_what_it_needs(op: Any) -> Any:
    made = create(op, "relax.negative")
    user = create(op, "relax.abs", made.result)
    made.erase()
    return user


@misbehaviour(conversion=True, greedy=True, walk=True)
def erases_what_it_made_in_order(op: Any) -> Any:
    made = create(op, "relax.negative")
    user = create(op, "relax.abs", made.result)
    user.erase()
    unused = create(op, "relax.abs", made.result)
    unused.erase()
    return made


@misbehaviour(conversion=True, greedy=True, walk=True, leaves_valid=False)
def returns_a_later_value(op: Any) -> Any:
    users = [use.owner for use in op.operation.results[0].uses if len(use.owner.operation.results)]
    return users[0].operation.results[0] if users else create(op, "relax.negative")


@misbehaviour(conversion=True, greedy=True, walk=True, leaves_valid=False)
def returns_an_operation_of_itself(op: Any) -> Any:
    made = create(op, "relax.negative")
    made.operands[0] = made.result
    return made


@misbehaviour("a pattern cannot rewrite what it is called in")
def rewrites_around_itself(op: Any) -> Any:
    apply_greedy(
        op.operation.parent.operation, [Pattern("relax.cos", lambda other, rewriter: create(other, "relax.exp"))]
    )
    return create(op, "relax.negative")


@misbehaviour("a pattern cannot rewrite what it is called in")
def converts_around_itself(op: Any) -> Any:
    conversion = Conversion("inner")
    conversion.add("relax.cos", lambda other, operands, rewriter: create(other, "relax.exp"))
    conversion.run(op.operation.parent.operation)
    return create(op, "relax.negative")


@misbehaviour("already has a terminator")
def makes_terminators(op: Any) -> Any:
    ir.Operation.create("func.return", operands=[])
    return create(op, "relax.negative")
