# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State after a failed pipeline or pass: an unchanged module, and handles that work or explain why they do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st

import relax_mlir as rx
from relax_mlir import relax

TEXT = """
module attributes {test.kept = 1 : i64} {
  func.func @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %0 = "relax.exp"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = "relax.exp"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = "relax.add"(%0, %1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %w = "relax.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
    %3 = "relax.multiply"(%2, %w) : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    return %3 : tensor<?x4xf32>
  }
  func.func @g(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
    cf.cond_br %c, ^one, ^other(%x : tensor<4xf32>)
  ^one:
    %0 = "relax.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    cf.br ^other(%0 : tensor<4xf32>)
  ^other(%y: tensor<4xf32>):
    return %y : tensor<4xf32>
  }
}
"""


def _functions(op: Any) -> list[Any]:
    return [each.operation for each in op.regions[0].blocks[0].operations]


def _nothing(op: Any) -> None:
    pass


def _attribute(op: Any) -> None:
    op.attributes["test.added"] = rx.ir.UnitAttr.get(op.context)


def _no_attribute(op: Any) -> None:
    del op.attributes["test.kept"]


def _deep_attribute(op: Any) -> None:
    _functions(op)[1].regions[0].blocks[1].operations[0].operation.attributes["test.added"] = rx.ir.UnitAttr.get(
        op.context
    )


def _operand(op: Any) -> None:
    function = _functions(op)[0].regions[0].blocks[0]
    add = function.operations[2].operation
    add.operands[1] = add.operands[0]


def _type(op: Any) -> None:
    function = _functions(op)[0].regions[0].blocks[0]
    function.operations[0].operation.results[0].set_type(rx.ir.Type.parse("tensor<*xf32>", op.context))


def _argument(op: Any) -> None:
    _functions(op)[0].regions[0].blocks[0].arguments[0].set_type(rx.ir.Type.parse("tensor<*xf32>", op.context))


def _more(op: Any) -> None:
    with rx.ir.InsertionPoint.at_block_begin(_functions(op)[0].regions[0].blocks[0]):
        rx.ir.Operation.create("arith.constant", attributes={"value": rx.ir.IntegerAttr.get(
            rx.ir.IntegerType.get_signless(64), 1)}, results=[rx.ir.IntegerType.get_signless(64)])  # fmt: skip


def _fewer(op: Any) -> None:
    _functions(op)[1].erase()


def _empty(op: Any) -> None:
    for function in reversed(_functions(op)):
        function.erase()


def _other_order(op: Any) -> None:
    first, second = _functions(op)
    second.move_before(first)


def _broken_uses(op: Any) -> None:
    """Move an operation before its operand's definition."""
    block = _functions(op)[0].regions[0].blocks[0]
    add, exp = block.operations[2].operation, block.operations[0].operation
    add.move_before(exp)


CHANGES = [
    _nothing, _attribute, _no_attribute, _deep_attribute, _operand, _type, _argument, _more, _fewer, _empty,
    _other_order, _broken_uses,
]  # fmt: skip


PASSES = [
    "cse", "canonicalize", "symbol-dce", "relax-canonicalize", "relax-dead-code-elimination", "func.func(cse)",
    "relax-legalize-ops{unknown=leave}", "relax-inline",
]  # fmt: skip


@dataclass(frozen=True)
class Fail(rx.Pass):
    """Pass that changes something, and fails."""

    name: ClassVar[str] = "test-fail"
    anchor: ClassVar[str] = "any"
    change: Callable[[Any], None] = _nothing
    error: type[BaseException] = rx.RelaxError

    def run(self, op: Any) -> None:
        self.change(op)
        raise self.error("it fails")


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.__name__)
def test_the_module_is_as_before(change: Callable[[Any], None]) -> None:
    module = rx.Module.parse(TEXT, "m.mlir")
    before = module.print(debug_info=True)
    with pytest.raises(rx.RelaxError, match="it fails"):
        rx.Pipeline([Fail(change)]).run(module)
    assert module.print(debug_info=True) == before
    with pytest.raises(rx.RelaxError, match="it fails"):
        Fail(change)(module)
    assert module.print(debug_info=True) == before
    module.verify()


@pytest.mark.parametrize("error", [rx.RelaxError, KeyError, KeyboardInterrupt])
@draws(40)
@given(passes=st.lists(st.sampled_from(PASSES)))
def test_the_passes_before_are_undone(error: type[BaseException], passes: list[str]) -> None:
    module = rx.Module.parse(TEXT)
    before, body = str(module), module.body
    with pytest.raises(rx.RelaxError if issubclass(error, Exception) else error):
        rx.Pipeline([*passes, Fail(_more, error)]).run(module)
    assert str(module) == before
    with module.function("h", {"x": rx.tensor((4,))}) as h:
        h.returns(relax.exp(*h))
    assert body == module.body and len(body.operations) == 3, "the block is the same one"
    rx.Pipeline("cse").run(module)
    assert str(module).count("relax.exp") == 2


def test_invalid_ir_is_taken_back() -> None:
    module = rx.Module.parse(TEXT)
    before = str(module)

    @dataclass(frozen=True)
    class Invalid(rx.Pass):
        """Pass that makes invalid IR."""

        name: ClassVar[str] = "test-invalid"

        def run(self, op: Any) -> None:
            _broken_uses(op)

    with pytest.raises(rx.RelaxError, match="produced invalid IR"):
        rx.Pipeline([Invalid()]).run(module)
    assert str(module) == before


def test_a_function_alone() -> None:
    """Check that the function stays the same operation. Its contents may be new."""
    module = rx.Module.parse(TEXT)
    before = str(module)

    def change(function: Any) -> None:
        function.attributes["test.added"] = rx.ir.UnitAttr.get(function.context)
        for block in function.regions[0].blocks:
            for each in reversed([view.operation for view in block.operations]):
                if not any(True for result in each.results for _ in result.uses):
                    each.erase()

    for function in _functions(module.operation):
        with pytest.raises(rx.RelaxError, match="it fails"):
            rx.Pipeline([Fail(change)], anchor="func.func").run(function)
        assert function.attributes["sym_name"].value in "fg"
    assert str(module) == before


def _built() -> tuple[rx.Module, Any]:
    module = rx.Module()
    with module.function("f", {"x": rx.tensor((4,))}) as f:
        y = relax.exp(*f)
        f.returns(y)
    return module, y


def test_handles_hold_where_nothing_was_changed() -> None:
    module, y = _built()
    with pytest.raises(rx.RelaxError, match="unknown target"):
        with module.function("g", {"x": rx.tensor((4,))}, target="nobody") as g:
            g.returns(*g)
        rx.Pipeline("relax-legalize-ops").run(module)
    assert y.owner.name == "relax.exp"


def test_handles_say_what_failed() -> None:
    module, y = _built()
    with pytest.raises(rx.RelaxError, match="it fails"):
        rx.Pipeline([Fail(_attribute)]).run(module)
    with pytest.raises(rx.RelaxError, match=r"a value of 'relax.exp' was erased by pass test-fail: look up"):
        print(y.owner)


def test_half_done_by_request() -> None:
    module = rx.Module.parse(TEXT)
    with pytest.raises(rx.RelaxError, match="it fails"):
        rx.Pipeline([Fail(_attribute)]).run(module, all_or_nothing=False)
    assert "test.added" in str(module)


def test_a_function_that_is_being_built() -> None:
    module, _ = _built()
    before = str(module)
    with pytest.raises(rx.RelaxError, match="it fails"), module.function("g", {"x": rx.tensor((4,))}) as g:
        relax.exp(*g)
        rx.Pipeline([Fail(_attribute)]).run(module)
    assert str(module) == before
