# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion driver: rounds, legality, declines and misbehaving patterns."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import pytest
from chains import body_of, chain, op_names, to
from misbehaving import MISBEHAVIOURS, SOURCE
from relax_mlir.bindings.conversion import UPDATED, Conversion, Decline, describe_operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx


def test_a_pattern_converts() -> None:
    code = chain("relax.exp", "relax.sin", "relax.exp")
    conversion = Conversion("test")
    conversion.illegal("relax.exp")
    conversion.add("relax.exp", to("relax.tan"))
    conversion.run(code)
    code.verify()
    assert op_names(code) == ["relax.tan", "relax.sin", "relax.tan", "func.return"]


def test_results_of_patterns_are_converted_in_the_next_round() -> None:
    """Convert operations that patterns make in the next round."""
    code = chain("relax.exp", "relax.exp")
    conversion = Conversion("test")
    conversion.illegal("relax")
    conversion.legal("relax.tan")
    for source, target in [("exp", "sin"), ("sin", "cos"), ("cos", "tan")]:
        conversion.add(f"relax.{source}", to(f"relax.{target}"))
    conversion.run(code)
    assert op_names(code) == ["relax.tan", "relax.tan", "func.return"]


def test_new_operations_inside_regions_are_converted() -> None:
    def into_region(op: Any, operands: Any, rewriter: Any) -> Any:
        region_op = ir.Operation.create("scf.execute_region", results=rewriter.result_types, regions=1)
        with ir.InsertionPoint(region_op.regions[0].blocks.append()):
            made = ir.Operation.create("relax.sin", results=rewriter.result_types, operands=operands)
            ir.Operation.create("scf.yield", operands=[made.result])
        return region_op

    code = chain("relax.exp")
    with code.context:
        code.context.get_dialect_descriptor("scf")
    conversion = Conversion("test")
    conversion.illegal("relax")
    conversion.legal("relax.tan")
    conversion.add("relax.exp", into_region)
    conversion.add("relax.sin", to("relax.tan"))
    conversion.run(code)
    code.verify()
    assert [op.operation.name for op in body_of(code)[0].regions[0].blocks[0].operations] == ["relax.tan", "scf.yield"]


def test_operands_are_what_earlier_patterns_gave() -> None:
    seen = []

    def look(op: Any, operands: Any, rewriter: Any) -> Any:
        seen.append((op.operation.operands[0].owner.operation.name, operands[0].owner.operation.name))
        return to("relax.cos")(op, operands, rewriter)

    code = chain("relax.exp", "relax.sin")
    conversion = Conversion("test")
    conversion.add("relax.exp", to("relax.tan"))
    conversion.add("relax.sin", look)
    conversion.run(code)
    assert seen == [("relax.exp", "relax.tan")]


def test_locations_are_inherited() -> None:
    code = chain("relax.exp", "relax.exp")
    conversion = Conversion("test")
    conversion.add("relax.exp", lambda op, operands, rewriter: rx.relax.negative(rx.relax.sin(operands[0])))
    conversion.run(code)
    places = [str(op.operation.location) for op in body_of(code)]
    assert places[:4] == ['loc("in.mlir":3:6)'] * 2 + ['loc("in.mlir":4:6)'] * 2


def test_operations_without_results_are_erased_by_no_values() -> None:
    code = rx.Module.parse('func.func @f(%0: tensor<4xf32>) {\n"relax.print"(%0) : (tensor<4xf32>) -> ()\nreturn\n}')
    conversion = Conversion("test")
    conversion.illegal("relax")
    conversion.add("relax.print", lambda op, operands, rewriter: ())
    conversion.run(code)
    assert op_names(code) == ["func.return"]


# ---- which pattern ----


def test_declining_leaves_nothing_and_passes_on() -> None:
    def returns_decline(op: Any, operands: Any, rewriter: Any) -> Any:
        to("relax.sin")(op, operands, rewriter)
        return Decline("not today")

    def raises_decline(op: Any, operands: Any, rewriter: Any) -> Any:
        to("relax.sin")(op, operands, rewriter)
        raise Decline("not on this machine")

    code = chain("relax.exp")
    conversion = Conversion("test")
    conversion.illegal("relax.exp")
    conversion.add("relax.exp", to("relax.tan"), priority=-1)
    conversion.add("relax.exp", returns_decline)
    conversion.add("relax.exp", raises_decline)
    conversion.run(code)
    assert op_names(code) == ["relax.tan", "func.return"]


def test_priority_goes_before_order() -> None:
    tried = []

    def note(name: str) -> Callable[..., Any]:
        def decline(op: Any, operands: Any, rewriter: Any) -> Any:
            tried.append(name)
            return Decline(name)

        return decline

    conversion = Conversion("test")
    for name, priority in [("a", 0), ("b", 2), ("c", 0), ("d", 2), ("e", -1)]:
        conversion.add("relax.exp", note(name), priority=priority)
    conversion.run(chain("relax.exp"))
    assert tried == ["b", "d", "a", "c", "e"]


def test_a_declined_pattern_is_tried_again() -> None:
    """Check that a pattern that waits for its neighbours gets another round after they have changed."""

    def after_sin(op: Any, operands: Any, rewriter: Any) -> Any:
        owner = op.operation.operands[0].owner
        if isinstance(owner, ir.Block) or owner.operation.name != "relax.tan":
            return Decline("its operand is not converted yet")
        return to("relax.tan")(op, operands, rewriter)

    code = chain("relax.sin", "relax.exp", "relax.exp", "relax.exp")
    conversion = Conversion("test")
    conversion.illegal("relax")
    conversion.legal("relax.tan")
    conversion.add("relax.exp", after_sin)
    conversion.add("relax.sin", to("relax.tan"))
    conversion.run(code)
    assert op_names(code) == ["relax.tan"] * 4 + ["func.return"]


# ---- legality ----


def test_legal_operations_are_left_alone() -> None:
    code = chain("relax.exp", "relax.sin")
    conversion = Conversion("test")
    conversion.illegal("relax.sin")
    conversion.legal("relax.exp")
    conversion.add("relax.exp", to("relax.tan"))
    conversion.add("relax.sin", to("relax.tan"))
    conversion.run(code)
    assert op_names(code) == ["relax.exp", "relax.tan", "func.return"]


def test_an_operations_rule_goes_before_its_dialects() -> None:
    conversion = Conversion("test")
    conversion.illegal("relax.exp")
    conversion.legal("relax")
    with pytest.raises(RelaxError, match=r"test cannot convert 'relax.exp' op"):
        conversion.run(chain("relax.exp", "relax.sin"))


def test_the_last_rule_for_a_name_holds() -> None:
    conversion = Conversion("test")
    conversion.illegal("relax.exp")
    conversion.run(chain("relax.sin"))
    conversion.legal("relax.exp")
    conversion.run(chain("relax.exp"))


def test_a_full_conversion_refuses_what_is_not_declared() -> None:
    conversion = Conversion("test", full=True)
    conversion.legal("func")
    with pytest.raises(RelaxError, match=r"test cannot convert 'relax.sin' op"):
        conversion.run(chain("relax.sin"))
    conversion.legal("relax")
    conversion.run(chain("relax.sin"))


def test_results_of_the_last_round_must_be_legal() -> None:
    conversion = Conversion("test")
    conversion.add("relax.exp", to("relax.sin"))
    conversion.run(chain("relax.exp"))
    conversion.illegal("relax.sin")
    with pytest.raises(RelaxError, match=r"test cannot convert 'relax.sin' op"):
        conversion.run(chain("relax.exp"))
    conversion.legal_if(lambda op: False, "relax.sin")
    with pytest.raises(RelaxError, match=r"test cannot convert 'relax.sin' op"):
        conversion.run(chain("relax.exp"))


def test_a_full_conversion_refuses_what_was_made_elsewhere() -> None:
    def elsewhere(op: Any, operands: Any, rewriter: Any) -> Any:
        body = op.operation.block
        ir.Operation.create("relax.sin", [operands[0].type], list(operands), ip=ir.InsertionPoint.at_block_begin(body))
        return to("relax.cos")(op, operands, rewriter)

    conversion = Conversion("test", full=True)
    conversion.legal("func", "relax.cos")
    conversion.add("relax.exp", elsewhere)
    with pytest.raises(RelaxError, match=r"test cannot convert 'relax.sin' op"):
        conversion.run(chain("relax.exp"))


def test_dynamic_legality_decides_by_operation() -> None:
    code = rx.Module.parse("""
func.func @f(%0: tensor<4xf32>, %1: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %2 = "relax.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.exp"(%1) : (tensor<8xf32>) -> tensor<8xf32>
  return %2, %3 : tensor<4xf32>, tensor<8xf32>
}""")
    conversion = Conversion("test")
    conversion.legal_if(lambda op: op.x.type.shape[0] == 4, "relax.exp")
    conversion.add("relax.exp", to("relax.tan"))
    conversion.run(code)
    assert op_names(code) == ["relax.exp", "relax.tan", "func.return"]


def test_an_operation_changed_in_place_becomes_legal() -> None:
    def mark(op: Any, operands: Any, rewriter: Any) -> Any:
        op.operation.attributes["test.done"] = ir.UnitAttr.get()
        return UPDATED

    code = chain("relax.exp")
    conversion = Conversion("test")
    conversion.legal_if(lambda op: "test.done" in op.operation.attributes, "relax.exp")
    conversion.add("relax.exp", mark)
    conversion.run(code)
    assert "test.done" in body_of(code)[0].operation.attributes


def test_opaque_operations_are_not_looked_into() -> None:
    code = rx.Module.parse("""
func.func @f(%0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = "relax.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
module @external attributes {relax.codegen = "dnnl"} {
  func.func @g(%0: tensor<4xf32>) -> tensor<4xf32> {
    %1 = "relax.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}""")
    conversion = Conversion("test")
    conversion.illegal("relax.exp")
    conversion.add("relax.exp", to("relax.tan"))
    conversion.leave_alone(lambda op: "relax.codegen" in op.attributes)
    conversion.run(code)
    assert op_names(code) == ["relax.tan", "func.return"]
    assert str(code).count("relax.exp") == 1


def test_the_root_stays() -> None:
    code = chain("relax.exp")
    conversion = Conversion("test")
    conversion.illegal("func.func")
    conversion.add("func.func", lambda op, operands, rewriter: ())
    conversion.run(code.body.operations[0])
    assert op_names(code) == ["relax.exp", "func.return"]
    conversion.run(code)
    assert len(code.body.operations) == 0


# ---- remaining operations ----


def test_one_error_lists_every_operation_with_every_reason() -> None:
    code = rx.Module.parse(
        """
func.func @f(%0: tensor<4xf32>, %1: tensor<2x4xf32>) {
  %2 = "relax.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.sum"(%1) {axis = array<i64: 1>, keepdims = true}
    : (tensor<2x4xf32>) -> tensor<2x1xf32> loc("Sum_7"("m.onnx":7:1))
  %4 = "relax.sin"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return
}""",
        "in.mlir",
    )
    conversion = Conversion("relax-legalize")
    conversion.illegal("relax")
    conversion.add("relax.sin", to("relax.cos"))
    conversion.add("relax.cos", lambda *_: Decline("no cosine here"), name="default/cos")
    conversion.add("relax.cos", lambda *_: Decline("nor on this target"), name="mynpu/cos", priority=1)
    conversion.add("relax.sum", lambda *_: Decline("more than one axis is needed"), name="sum")
    with pytest.raises(RelaxError) as caught:
        conversion.run(code)
    diagnostics = caught.value.diagnostics
    assert [(item.file, item.line, item.column, item.name) for item in diagnostics] == [
        ("in.mlir", 3, 8, ""),
        ("m.onnx", 7, 1, "Sum_7"),
        ("in.mlir", 6, 8, ""),
    ]
    assert [item.message for item in diagnostics] == [
        "relax-legalize cannot convert 'relax.exp' op (tensor<4xf32>)",
        "relax-legalize cannot convert 'relax.sum' op (tensor<2x4xf32>; axis = array<i64: 1>, keepdims = true)",
        "relax-legalize cannot convert 'relax.cos' op (tensor<4xf32>)",
    ]
    assert [[note.message for note in item.notes] for item in diagnostics] == [
        ["no pattern is registered for this operation"],
        ["pattern 'sum' declined: more than one axis is needed"],
        ["pattern 'mynpu/cos' declined: nor on this target", "pattern 'default/cos' declined: no cosine here"],
    ]
    assert str(caught.value) == (
        "in.mlir:3:8: relax-legalize cannot convert 'relax.exp' op (tensor<4xf32>) (and 2 more)\n"
        "note: no pattern is registered for this operation"
    )


def test_large_attributes_are_not_spelt_out() -> None:
    code = rx.Module.parse("""
func.func @f() -> tensor<1000xf32> {
  %0 = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = arith.constant dense<1.0> : tensor<1000xf32>
  return %1 : tensor<1000xf32>
}""")
    conversion = Conversion("test")
    conversion.illegal("arith")
    with pytest.raises(RelaxError) as caught:
        conversion.run(code)
    assert "no operands; value = dense<...> : tensor<4xf32>" in caught.value.diagnostics[0].message


def test_long_attributes_are_cut_behind_their_beginning() -> None:
    code = rx.Module.parse("func.func @f() { return }")
    with code.operation.context:
        for length, shown in ((78, "x" * 78), (79, "x" * 76 + "...")):
            code.operation.attributes["name"] = ir.StringAttr.get("x" * length)
            described = describe_operation(code.operation).replace('"', "")
            assert described == f"no operands; name = {shown}", f"of a text of {length} and two quotes"


def test_endless_conversions_name_the_operation() -> None:
    conversion = Conversion("test", max_rounds=5)
    conversion.add("relax.exp", to("relax.sin"))
    conversion.add("relax.sin", to("relax.exp"))
    with pytest.raises(RelaxError) as caught:
        conversion.run(chain("relax.exp"))
    assert caught.value.diagnostics[0].message == (
        "test comes to no end: 'relax.exp' op keeps coming back (pattern 'to_sin' still converts it)"
    )
    assert caught.value.diagnostics[0].line == 3
    assert caught.value.notes == ("stopped after 5 rounds",)


def test_an_update_that_does_not_make_legal_comes_to_an_end() -> None:
    conversion = Conversion("test", max_rounds=3)
    conversion.illegal("relax.exp")
    conversion.add("relax.exp", lambda op, operands, rewriter: UPDATED)
    with pytest.raises(RelaxError, match=r"comes to no end: 'relax.exp' op keeps coming back"):
        conversion.run(chain("relax.exp"))


# ---- bad use ----


def test_a_pattern_must_be_a_function_for_an_operation() -> None:
    conversion = Conversion("test")
    with pytest.raises(RelaxError, match=r"test: the pattern for 'relax.exp' must be a function, got 7"):
        conversion.add("relax.exp", 7)  # type: ignore[arg-type]
    with pytest.raises(RelaxError, match="'exp' names no operation"):
        conversion.add("exp", to("relax.sin"))
    with pytest.raises(RelaxError, match="max_rounds must be 1 or more, got 0"):
        Conversion("test", max_rounds=0)


def test_legality_that_raises_passes_through() -> None:
    conversion = Conversion("test")
    conversion.legal_if(lambda op: {}["lost"], "relax.exp")
    conversion.add("relax.exp", to("relax.tan"))
    with pytest.raises(KeyError, match="lost"):
        conversion.run(chain("relax.exp"))


def test_none_is_no_answer() -> None:
    conversion = Conversion("test")
    conversion.add("relax.exp", lambda op, operands, rewriter: None)
    with pytest.raises(
        RelaxError, match=r"in.mlir:3:6: pattern '<lambda>' for 'relax.exp' returned None: expected the"
    ):
        conversion.run(chain("relax.exp"))


@pytest.mark.slow
@pytest.mark.parametrize("misbehaviour", MISBEHAVIOURS, ids=lambda item: item.__name__)
def test_misbehaving_patterns_neither_crash_nor_go_unnoticed(misbehaviour: Any) -> None:
    code = rx.Module.parse(SOURCE, "in.mlir")
    conversion = Conversion("test", max_rounds=4)
    conversion.add("relax.sin", lambda op, operands, rewriter: misbehaviour(op))
    conversion.add("relax.cos", to("relax.tanh"))
    if misbehaviour.allowed_in_conversion:
        conversion.run(code)
    else:
        with pytest.raises(misbehaviour.error, match=misbehaviour.message):
            conversion.run(code)
    # Whatever happened, memory is sound: the IR can be walked, verified, printed and freed.
    gc.collect()
    code.print(generic=True, assume_verified=True)
    if misbehaviour.leaves_valid and not misbehaviour.__name__.startswith("returns_a_value_that"):
        code.verify()


def test_random_lowerings_reach_the_bottom() -> None:
    """Check that only legal operators are left, in order, for random conversions of a chain in any number of steps."""
    names = ["exp", "sin", "cos", "tan", "abs", "negative", "tanh", "sqrt"]
    for seed in range(30):
        chosen = random.Random(seed)
        order = chosen.sample(names, len(names))
        conversion = Conversion("test")
        conversion.illegal("relax")
        conversion.legal("relax.floor")
        expected = {"floor": 1}
        for index, name in enumerate(order):
            # Each operator becomes one or two operators that are defined before it.
            targets = [chosen.choice(["floor", *order[:index]]) for _ in range(chosen.randint(1, 2))]
            expected[name] = sum(expected[target] for target in targets)
            conversion.add(f"relax.{name}", lambda op, operands, rewriter, t=tuple(targets): several(t, operands))
        start = [chosen.choice(names) for _ in range(chosen.randint(1, 8))]
        code = chain(*[f"relax.{name}" for name in start])
        conversion.run(code)
        code.verify()
        assert op_names(code) == ["relax.floor"] * sum(expected[name] for name in start) + ["func.return"]


def several(names: tuple[str, ...], operands: Any) -> Any:
    value = operands[0]
    for name in names:
        value = getattr(rx.relax, name)(value)
    return value


def test_casts_that_are_left_are_named() -> None:
    code = rx.Module.parse("""
func.func @f(%0: tensor<4xf32>) -> tensor<?xf32> {
  %1 = builtin.unrealized_conversion_cast %0 : tensor<4xf32> to tensor<?xf32>
  %2 = "relax.exp"(%1) : (tensor<?xf32>) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}""")
    with pytest.raises(RelaxError) as caught:
        Conversion("test").run(code)
    message = "test leaves a cast: tensor<4xf32> is still needed as tensor<?xf32> by relax.exp"
    assert caught.value.diagnostics[0].message == message


def test_rules_are_asked_for_what_is_met_once_for_each_name() -> None:
    """Call rules for names that patterns make, too, but not for names of no operation."""
    met: list[str] = []
    rules = {"relax.exp": "relax.sin", "relax.sin": "relax.tan", "relax.cos": "relax.exp"}
    conversion = Conversion("test", full=True)

    def announce(conversion: Conversion, name: str) -> None:
        met.append(name)
        if name in rules:
            conversion.add(name, to(rules[name]))
        elif name != "relax.sqrt":
            conversion.legal(name)

    conversion.when_met(announce)
    for _ in range(2):
        code = chain("relax.exp", "relax.exp", "relax.sin")
        conversion.run(code)
        assert op_names(code)[:-1] == ["relax.tan"] * 3
    assert sorted(met) == ["func.func", "func.return", "relax.exp", "relax.sin", "relax.tan"]
    with pytest.raises(RelaxError, match=r"relax\.sqrt"):
        conversion.run(chain("relax.sqrt"))
    assert "relax.cos" not in met


def test_illegal_results_of_patterns_are_refused() -> None:
    conversion = Conversion("test")

    def announce(conversion: Conversion, name: str) -> None:
        if name == "relax.exp":
            conversion.add(name, to("relax.sin"))
        if name == "relax.sin":
            conversion.illegal(name)

    conversion.when_met(announce)
    with pytest.raises(RelaxError, match=r"relax\.sin"):
        conversion.run(chain("relax.exp"))
