# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Greedy and walk rewriting with Python patterns, and misbehaving patterns."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
from chains import body_of, create, op_names
from misbehaving import MISBEHAVIOURS, SOURCE
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.patterns import (
    UPDATED,
    Pattern,
    PatternSet,
    apply_greedy,
    apply_walk,
    counting_applications,
    defining_op,
)
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax

DRIVERS = [apply_greedy, apply_walk]


def replace_by(name: str) -> Callable[..., Any]:
    def rewrite(op: Any, rewriter: Any) -> Any:
        return create(op, name)

    return rewrite


def module(body: str = "%1 = {sin}(%0)\n%2 = {sin}(%1)", returned: str = "%2") -> rx.Module:
    """Return a function of `%0: tensor<4xf32>`. `{sin}(%0)` abbreviates the operator with its types."""
    lines = [line.strip() for line in body.split("\n")]
    text = "\n".join(
        line.replace("{", '"relax.').replace("}", '"') + " : (tensor<4xf32>) -> tensor<4xf32>" for line in lines
    )
    return rx.Module.parse(
        f"\nfunc.func @f(%0: tensor<4xf32>) -> tensor<4xf32> {{\n{text}\nreturn {returned} : tensor<4xf32>\n}}",
        "in.mlir",
    )


@pytest.mark.parametrize("apply", DRIVERS)
def test_a_returned_operation_replaces(apply: Any) -> None:
    code = module()
    assert apply(code, [Pattern("relax.sin", replace_by("relax.cos"))])
    code.verify()
    assert op_names(code) == ["relax.cos", "relax.cos", "func.return"]


@pytest.mark.parametrize("apply", DRIVERS)
def test_applications_are_counted(apply: Any) -> None:
    swap = Pattern("relax.sin", replace_by("relax.cos"), name="swap")
    never = Pattern("relax.sin", lambda op, rewriter: None, name="never")
    with counting_applications() as outer:
        apply(module(), [never, swap])
        with counting_applications() as inner:
            apply(module(), [swap])
    apply(module(), [swap])
    assert dict(inner) == {"swap": 2} and dict(outer) == {"swap": 2}


@pytest.mark.parametrize("apply", DRIVERS)
def test_none_means_that_nothing_happened(apply: Any) -> None:
    code = module()
    seen = []
    assert not apply(code, [Pattern("relax.sin", lambda op, rewriter: seen.append(op.operation.name))])
    assert seen == ["relax.sin"] * 2
    assert op_names(code) == ["relax.sin", "relax.sin", "func.return"]


@pytest.mark.parametrize("apply", DRIVERS)
def test_unused_new_operations_are_erased(apply: Any) -> None:
    def changes_its_mind(op: Any, rewriter: Any) -> Any:
        create(op, "relax.exp")
        return None

    code = module()
    before = str(code)
    assert not apply(code, [Pattern("relax.sin", changes_its_mind)])
    assert str(code) == before


@pytest.mark.parametrize("apply", DRIVERS)
def test_updated_keeps_the_operation(apply: Any) -> None:
    def mark(op: Any, rewriter: Any) -> Any:
        if "test.mark" in op.operation.attributes:
            return None
        op.operation.attributes["test.mark"] = ir.UnitAttr.get()
        return UPDATED

    code = module()
    assert apply(code, [Pattern("relax.sin", mark)])
    assert all("test.mark" in op.operation.attributes for op in list(body_of(code))[:2])


@pytest.mark.parametrize("apply", DRIVERS)
def test_new_operations_have_the_location_of_the_old(apply: Any) -> None:
    code = module()
    apply(code, [Pattern("relax.sin", replace_by("relax.cos"))])
    assert [str(op.operation.location) for op in list(body_of(code))[:2]] == [
        'loc("in.mlir":3:6)',
        'loc("in.mlir":4:6)',
    ]


def test_greedy_goes_on_with_what_was_made() -> None:
    code = module()
    chain = [Pattern("relax.sin", replace_by("relax.cos")), Pattern("relax.cos", replace_by("relax.tan"))]
    apply_greedy(code, chain)
    assert op_names(code) == ["relax.tan", "relax.tan", "func.return"]


def test_a_walk_does_not() -> None:
    code = module()
    apply_walk(code, [Pattern("relax.sin", replace_by("relax.cos")), Pattern("relax.cos", replace_by("relax.tan"))])
    assert op_names(code) == ["relax.cos", "relax.cos", "func.return"]


@pytest.mark.parametrize("apply", DRIVERS)
def test_the_highest_benefit_then_the_first_is_tried_first(apply: Any) -> None:
    code = module("%1 = {sin}(%0)", "%1")
    tried: list[str] = []

    def note(name: str) -> Callable[..., Any]:
        return lambda op, rewriter: tried.append(name)

    patterns = [Pattern("relax.sin", note(name), benefit) for name, benefit in [("a", 1), ("b", 5), ("c", 1), ("d", 5)]]
    apply(code, patterns)
    assert tried[:4] == ["b", "d", "a", "c"]


@pytest.mark.parametrize("apply", DRIVERS)
def test_several_operations_classes_and_definitions_name_operations(apply: Any) -> None:
    code = module("%1 = {sin}(%0)\n%2 = {cos}(%1)")
    sin = type(body_of(code)[0])
    apply(code, [Pattern([sin, rx.relax.cos], replace_by("relax.exp"))])
    assert op_names(code) == ["relax.exp", "relax.exp", "func.return"]


def test_greedy_patterns_replace_other_operations() -> None:
    def fuse(op: Any, rewriter: Any) -> Any:
        inner = defining_op(op.x, "relax.sin")
        if inner is None:
            return None
        rewriter.replace(inner, inner.x)
        return create(op, "relax.tan")

    def erase_dead_users(op: Any, rewriter: Any) -> Any:
        for use in list(op.operation.results[0].uses):
            if use.owner.operation.name == "relax.exp":
                use.owner.operation.erase()
        return None

    code = module("%1 = {sin}(%0)\n%2 = {cos}(%1)")
    apply_greedy(code, [Pattern("relax.cos", fuse)])
    code.verify()
    assert op_names(code) == ["relax.tan", "func.return"]
    code = module("%1 = {sin}(%0)\n%2 = {exp}(%1)", "%1")
    apply_greedy(code, [Pattern("relax.sin", erase_dead_users)])
    assert op_names(code) == ["relax.sin", "func.return"]


def test_an_unused_operation_with_effects_can_be_erased() -> None:
    code = rx.Module.parse('func.func @f(%0: tensor<4xf32>) {\n"relax.print"(%0) : (tensor<4xf32>) -> ()\nreturn\n}')
    assert apply_greedy(code, [Pattern("relax.print", lambda op, rewriter: ())])
    assert op_names(code) == ["func.return"]


@pytest.mark.parametrize("apply", DRIVERS)
def test_new_operations_without_results_stay(apply: Any) -> None:
    """Keep operations without results that a pattern makes: they usually have an effect, and no value to use."""

    def name(op: Any, rewriter: Any) -> Any:
        if op.format == "seen":
            return None
        rx.relax.assert_op(op.condition, format="seen")
        return ()

    code = rx.Module.parse('func.func @f(%0: tensor<i1>) {\n"relax.assert_op"(%0) : (tensor<i1>) -> ()\nreturn\n}')
    assert apply(code, [Pattern("relax.assert_op", name)])
    assert 'format = "seen"' in str(code)


def test_patterns_that_feed_themselves_come_to_an_end() -> None:
    code = module()
    with pytest.raises(
        RelaxError, match=r"loop test: patterns still apply after 4 rounds; last applied: 'again' to 'rel"
    ):
        apply_greedy(
            code, [Pattern("relax.sin", replace_by("relax.sin"), name="again")], max_iterations=4, what="loop test"
        )
    code.verify()


def test_a_growing_loop_comes_to_an_end() -> None:
    def grow(op: Any, rewriter: Any) -> Any:
        return create(op, "relax.sin", create(op, "relax.sin").result)

    with pytest.raises(RelaxError, match="patterns still apply"):
        apply_greedy(module(), [Pattern("relax.sin", grow)], max_iterations=3)


def test_defining_op() -> None:
    code = module()
    first, second = list(body_of(code))[:2]
    assert defining_op(second.x, "relax.sin").operation == first.operation
    assert defining_op(second.x).operation == first.operation
    assert defining_op(second.x, "relax.cos") is None
    assert defining_op(first.x) is None


@pytest.mark.parametrize("iterations", [0, -1])
def test_rounds_must_be_positive(iterations: int) -> None:
    with pytest.raises(RelaxError, match="max_iterations must be 1 or more"):
        apply_greedy(module(), [], max_iterations=iterations)


@pytest.mark.parametrize("name", ["sin", 7, None, "relax"])
def test_an_operation_must_be_named(name: Any) -> None:
    with pytest.raises(RelaxError, match="names no operation"):
        apply_walk(module(), [Pattern(name, replace_by("relax.cos"))])


@pytest.mark.slow
@pytest.mark.parametrize("apply", DRIVERS)
@pytest.mark.parametrize("misbehaviour", MISBEHAVIOURS, ids=lambda item: item.__name__)
def test_misbehaving_patterns_neither_crash_nor_go_unnoticed(apply: Any, misbehaviour: Any) -> None:
    code = rx.Module.parse(SOURCE, "in.mlir")
    others = Pattern("relax.cos", replace_by("relax.tanh"))
    allowed = misbehaviour.allowed_in_greedy if apply is apply_greedy else misbehaviour.allowed_in_walk
    if allowed:
        apply(code, [Pattern("relax.sin", lambda op, rewriter: misbehaviour(op)), others])
    else:
        with pytest.raises(misbehaviour.error, match=misbehaviour.message):
            apply(code, [Pattern("relax.sin", lambda op, rewriter: misbehaviour(op)), others])
    # Whatever happened, memory is sound: the IR can be walked, verified, printed and freed.
    gc.collect()
    code.print(generic=True, assume_verified=True)
    if misbehaviour.leaves_valid:
        code.verify()
    else:
        with pytest.raises(RelaxError):
            code.verify()


def test_erasing_works_again_afterwards() -> None:
    code = module()
    with pytest.raises(RelaxError, match=r"pattern '<lambda>' for 'relax.sin': KeyError: 'x' .at bindings/test_pat"):
        apply_greedy(code, [Pattern("relax.sin", lambda op, rewriter: {}["x"])])
    block = body_of(code)
    block[1].operation.results[0].replace_all_uses_with(block[0].operation.results[0])
    block[1].operation.erase()
    assert op_names(code) == ["relax.sin", "func.return"]


@pytest.mark.parametrize("apply", DRIVERS)
def test_nothing_replaces_only_what_is_unused(apply: Any) -> None:
    """Refuse `()` for an operation with a used result: it would leave a null operand in the IR."""
    code = module()
    with pytest.raises(RelaxError, match=r"pattern '<lambda>' for 'relax.sin' returned 0 values for 1 results"):
        apply(code, [Pattern("relax.sin", lambda op, rewriter: ())])
    code.verify()
    assert op_names(code) == ["relax.sin", "relax.sin", "func.return"]


def test_nothing_replaces_what_is_unused() -> None:
    code = module("%1 = {sin}(%0)", returned="%0")
    assert apply_walk(code, [Pattern("relax.sin", lambda op, rewriter: ())])
    assert op_names(code) == ["func.return"]


@pytest.mark.parametrize("apply", DRIVERS)
@pytest.mark.parametrize(
    ("condition", "asked"),
    [
        ({"after": ("relax.sin",)}, ["relax.cos", "relax.add"]),
        ({"after": ("relax.cos", "relax.exp")}, ["relax.add"]),
        ({"only_after": ("relax.sin",)}, ["relax.cos"]),
        ({"only_after": ("relax.sin", "relax.cos")}, ["relax.cos", "relax.add"]),
        ({"after": ("relax.cos",), "only_after": ("relax.sin",)}, []),
        ({}, ["relax.sin", "relax.cos", "relax.add"]),
    ],
)
def test_patterns_are_asked_behind_what_they_name(apply: Any, condition: dict[str, Any], asked: list[str]) -> None:
    code = rx.Module()
    with code.function("main", {"x": rx.tensor((4,))}) as f:
        y = relax.sin(next(iter(f)))
        f.returns(relax.add(relax.cos(y), y))
    seen: list[str] = []

    def pattern(op: Any, rewriter: Any) -> None:
        seen.append(op.operation.name)

    apply(code, [Pattern(["relax.sin", "relax.cos", "relax.add"], pattern, **condition)])
    assert seen == asked


def test_a_filtered_pattern_leaves_its_place_to_the_next() -> None:
    code = module()
    first = Pattern("relax.sin", replace_by("relax.exp"), after=("relax.cos",), benefit=2)
    apply_greedy(code, [first, Pattern("relax.sin", replace_by("relax.cos"))])
    # The first pattern waits for the result of the second pattern.
    assert op_names(code) == ["relax.cos", "relax.exp", "func.return"]


@pytest.mark.parametrize("apply", DRIVERS)
def test_a_pattern_set_serves_several_contexts(apply: Any) -> None:
    """Check that a pattern set keeps no state of a run: its patterns are looked up again in the next module."""
    patterns = PatternSet(
        [
            Pattern("relax.sin", replace_by("relax.cos"), after=["relax.exp"]),
            Pattern(["relax.sin", "relax.tan"], replace_by("relax.exp"), benefit=0),
        ]
    )
    for body, expected in (
        ("%1 = {exp}(%0)\n%2 = {sin}(%1)", ["relax.exp", "relax.cos"]),
        ("%1 = {tan}(%0)\n%2 = {negative}(%1)", ["relax.exp", "relax.negative"]),
        ("%1 = {cos}(%0)\n%2 = {sin}(%1)", ["relax.cos", "relax.exp"]),
    ):
        code = module(body)
        assert apply(code, patterns)
        assert op_names(code)[:-1] == expected
    assert not apply(module("%1 = {negative}(%0)\n%2 = {negative}(%1)"), patterns)


def test_a_pattern_set_is_used_while_it_is_used() -> None:
    """Run the same set on another module inside of a pattern, like a pattern that compiles a part."""
    inner: list[list[str]] = []

    def outer(op: Any, rewriter: Any) -> Any:
        if not inner:
            inner.append([])
            code = module("%1 = {sin}(%0)\n%2 = {exp}(%1)")
            apply_greedy(code, patterns)
            inner[0] = op_names(code)
        return create(op, "relax.cos")

    patterns = PatternSet([Pattern("relax.sin", outer)])
    code = module()
    apply_greedy(code, patterns)
    assert op_names(code)[:-1] == ["relax.cos", "relax.cos"]
    assert inner[0][:-1] == ["relax.cos", "relax.exp"]
