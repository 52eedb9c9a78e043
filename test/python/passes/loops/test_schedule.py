# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules as a whole: handles, text, refusals, and that no step is half done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Optional

import numpy as np
import pytest
from own_rules import without_new
from relax_mlir.passes.kernels.loops import primitives as primitives
from relax_mlir.passes.kernels.loops.handles import BlockRV, IndexMap, LoopRV
from relax_mlir.passes.kernels.schedule import registry as schedules
from relax_mlir.targets.core.registry import all_targets, load_schedules
from schedule_kernels import KERNELS, agree, check, kernel

import relax_mlir as rx
from relax_mlir import relax, te
from relax_mlir.patterns import structure


def product() -> tuple[rx.Schedule, Any, list[Any]]:
    sch = rx.Schedule(kernel("matmul").module())
    block = sch.get_block("C")
    return sch, block, sch.get_loops(block)


def test_the_module_that_was_given_stays_as_it_was() -> None:
    module = kernel("matmul").module()
    before = str(module)
    sch = rx.Schedule(module)
    sch.unroll(sch.split(sch.get_loops(sch.get_block("C"))[0], [None, 4])[1])
    assert str(module) == before and "tir.schedule" in str(sch.mod)


def test_a_schedule_goes_on_where_another_one_ended() -> None:
    sch, _, (i, *_) = product()
    sch.split(i, [None, 4])
    again = rx.Schedule(sch.mod)
    assert again.show() == sch.show() and again.trace == sch.trace
    again.vectorize(again.get_loops(again.get_block("C"))[1])
    check(kernel("matmul"), again)


def test_the_trace_is_python_that_does_it_again() -> None:
    sch, block, (i, _, k) = product()
    outer, inner = sch.split(i, factors=[None, 4])
    sch.reorder(outer, k, inner)
    sch.annotate(outer, "grain", 2)
    assert sch.trace.splitlines() == [
        "# schedule 1",
        'C = sch.get_block("C")',
        "i, j, k = sch.get_loops(C)",
        "i_0, i_1 = sch.split(i, [None, 4])",
        "sch.reorder(i_0, k, i_1)",
        'sch.annotate(i_0, "grain", 2)',
    ]
    names = {"sch": rx.Schedule(kernel("matmul").module())}
    exec(sch.trace, names)
    assert names["sch"].show() == sch.show()
    del block


def test_blocks_by_their_names() -> None:
    """Pass names instead of handles. The text then has the handle."""
    sch = rx.Schedule(kernel("chain").module())
    sch.compute_inline("B")
    i, _ = sch.get_loops("D")
    sch.compute_at("C", i)
    assert sch.trace.splitlines()[1:] == [
        'B = sch.get_block("B")',
        "sch.compute_inline(B)",
        'D = sch.get_block("D")',
        "i_2, j_2 = sch.get_loops(D)",
        'C = sch.get_block("C")',
        "sch.compute_at(C, i_2)",
    ]
    check(kernel("chain"), rx.Schedule(kernel("chain").module(), trace=sch.trace))
    before = sch.trace
    with pytest.raises(rx.RelaxError, match=r"block 'B' does not exist any more: compute_inline\(B\) removed it"):
        sch.compute_inline("B")
    with pytest.raises(rx.RelaxError, match="'D' is already in 'i_2'"):
        sch.compute_at("D", i)
    assert sch.trace == before


@pytest.mark.parametrize("name", ["lambda", "None", "sch", "print"])
def test_any_name_can_stand_in_a_text(name: str) -> None:
    a = te.placeholder((4, 4), name="A")
    module = te.create_prim_func([a, te.compute((4, 4), lambda i, j: a[i, j] * 2.0, name=name)])
    sch = rx.Schedule(module)
    sch.split(sch.get_loops(name)[0], [None, 2])
    assert rx.Schedule(module, trace=sch.trace).show() == sch.show()


def test_a_tensor_with_two_readers_is_one_block() -> None:
    """Keep one block, even if it reads only at computed places."""
    a = te.placeholder((6,), name="A")
    b = te.compute((6,), lambda i: te.if_then_else(i >= 1, a[i - 1], 0.0), name="B")
    c = te.compute((6,), lambda i: b[i] * 2.0, name="C")
    d = te.compute((6,), lambda i: b[i] + c[i], name="D")
    sch = rx.Schedule(te.create_prim_func([a, d]))
    assert [block.name for tree in sch.trees() for block in tree.blocks()] == ["B", "C", "D"]
    array = np.arange(6, dtype="float32")
    result = np.from_dlpack(rx.compile(sch.mod)["main"](array))
    np.testing.assert_array_equal(result, 3 * np.concatenate([[0], array[:-1]]))


def test_a_script_keeps_the_schedule() -> None:
    sch, _, (i, *_) = product()
    sch.split(i, [None, 4])
    text = sch.mod.script()
    again = rx.Module.from_script(text)
    assert again.script() == text and rx.Schedule(again).show() == sch.show()


TWO = """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module
class Two:
    @T.prim_func
    def double(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("same"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @T.prim_func
    def more(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("same"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        cls = Two
        y = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((4, 8), "float32"))
        return R.call_tir(cls.more, (y,), out_sinfo=R.Tensor((4, 8), "float32"))
"""


def test_several_functions() -> None:
    sch = rx.Schedule(rx.Module.from_script(TWO))
    with pytest.raises(rx.RelaxError, match="@double and @more have such a block; say which one"):
        sch.get_block("same")
    with pytest.raises(rx.RelaxError, match="there is no PrimFunc 'doubl'; did you mean 'double'"):
        sch.get_block("same", "doubl")
    with pytest.raises(rx.RelaxError, match=r"no PrimFunc has such a block; did you mean 'same'\? \(there are"):
        sch.get_block("sama")
    for name in ("double", "more"):
        i, j = sch.get_loops(sch.get_block("same", name))
        sch.vectorize(j)
    with pytest.raises(rx.RelaxError, match="expected loops and blocks of one PrimFunc of this schedule, got"):
        sch.reorder(i, sch.get_loops(sch.get_block("same", "double"))[0])
    again = rx.Schedule(rx.Module.from_script(TWO), trace=sch.trace)
    assert again.trace == sch.trace
    assert "i_more, j_more = sch.get_loops(same_more)" in sch.trace.splitlines(), (
        "handles of one name are distinguished"
    )
    x = np.ones((4, 8), "float32")
    np.testing.assert_array_equal(rx.compile(again.mod)["main"](x), x * 3)


def test_a_schedule_of_nothing() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    with pytest.raises(rx.RelaxError, match="there is no PrimFunc to schedule: legalize the graph first"):
        rx.Schedule(module)


def test_loops_over_memory_have_no_blocks() -> None:
    module = rx.Module.from_script("""
from relax_mlir.script import tir as T

@T.prim_func
def sums(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    B[0] = A[0]
    for i in range(7):
        B[i + 1] = B[i] + A[i + 1]
""")
    with pytest.raises(rx.RelaxError, match="only linalg operations, and views of their operands, can be"):
        rx.Schedule(module).get_block("B")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda sch, block, i: sch.split(block, [None, 2]), "expected a loop of this schedule, got BlockRV"),
        (lambda sch, block, i: sch.get_loops(i), "expected a block of this schedule, got LoopRV"),
        (lambda sch, block, i: sch.split(i), "missing a required argument: 'factors'"),
        (lambda sch, block, i: sch.split(i, [None, 2], 1, 2, 3), "too many positional arguments"),
        (lambda sch, block, i: sch.split("i", [None, 2]), "got those of nothing"),
        (lambda sch, block, i: sch.annotate(i, "note", object()), "a schedule is text"),
        (lambda sch, block, i: sch.annotate(i, 3, "note"), "'ann_key' must be a string, not 3"),
        (lambda sch, block, i: sch.annotate(i, "note", float("nan")), "a schedule is text"),
        (
            lambda sch, block, i: sch.annotate(i, "grain", "many"),
            "'grain' must be the number of steps that a thread takes at a time",
        ),
        (lambda sch, block, i: sch.get_block(None), "'name' must be a string, not None"),
        (lambda sch, block, i: sch.get_block("C", 3), "'func_name' must be a string, not 3"),
        (lambda sch, block, i: sch.get_loops("B"), "there is no block 'B' (there are C)"),
        (lambda sch, block, i: sch.cache_read(block, 0, 3), "'storage_scope' must be a string, not 3"),
        (lambda sch, block, i: sch.cache_read(block, 0, "locl"), "'locl' is no scope of memory"),
        (lambda sch, block, i: sch.transform_layout(block, 0, int), "the index map: ValueError"),
        (lambda sch, block, i: sch.transform_layout(block, 0, lambda a, b: a / b), "the index map: TypeError"),
        (
            lambda sch, block, i: sch.transform_layout(block, 0, 3),
            "must be an index map (a function of indices), not 3",
        ),
        (
            lambda sch, block, i: sch.transform_layout(block, 0, lambda a, b: (a, "b")),
            "computed from its parameters with + - * // %",
        ),
        (lambda sch, block, i: sch.set_scope(block, 0, ["local"]), "'storage_scope' must be a string, not ['local']"),
        (lambda sch, block, i: sch.bind(i, 3), "'thread_axis' must be a string, not 3"),
        (lambda sch, block, i: sch.pad_einsum(block, 4), "expected 3 numbers of at least 1"),
        (lambda sch, block, i: sch.tensorize(i, 4), "'tensor_intrin' must be a string, not 4"),
        (lambda sch, block, i: sch.rfactor(i, "a"), "factor_axis must be from"),
    ],
)
def test_bad_arguments(step: Callable[..., Any], message: str) -> None:
    sch, block, (i, *_) = product()
    before = sch.show(), sch.trace
    with pytest.raises(rx.RelaxError) as error:
        step(sch, block, i)
    assert message in str(error.value) and "Traceback" not in str(error.value)
    assert (sch.show(), sch.trace) == before


def test_a_primitive_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail by an argument of a wrong type, which the error names, or by a bug of the primitive."""
    sch = rx.Schedule(kernel("chain").module())
    loop, before = sch.get_loops("C")[0], sch.show()
    with pytest.raises(rx.RelaxError, match="compute_at: 'index' is int, got str 'a'"):
        sch.compute_at("B", loop, index="a")
    with pytest.raises(rx.RelaxError, match=r"'consumer_blocks' is Sequence\[BlockRV\] \| None, got BlockRV"):
        sch.cache_read("C", 0, "local", sch.get_block("C"))
    with pytest.raises(rx.RelaxError, match=r"pad_value 1000.* is too large for 'B'"):
        sch.transform_layout("B", 0, lambda i, j: (i, j // 16, j % 16), pad_value=10**400)
    monkeypatch.setattr("relax_mlir.passes.kernels.primitives.unroll.check_serial", lambda edit: None)
    with pytest.raises(TypeError, match="takes 1 positional argument") as error:
        sch.unroll(loop)
    assert not isinstance(error.value, rx.RelaxError) and sch.show() == before


def test_code_is_counted_where_it_is_asked_for() -> None:
    """Count functions as many operations, and lanes that are not adjacent one by one."""
    sch = rx.Schedule(kernel("softmax").module())
    i, j = sch.get_loops("E")
    sch.unroll(j)
    with pytest.raises(rx.RelaxError, match=r"unroll\(i_1\): the code would have .* operations, at most 16384"):
        sch.unroll(i)
    sch, _, (i, j, _) = product()
    sch.unroll(j)
    many = sch.split(i, [1, 32])[1]
    with pytest.raises(rx.RelaxError, match=r"unroll\(i_1\): the code would have .* operations"):
        sch.unroll(many)  # that many loops
    sch, _, (i, j, k) = product()
    sch.unroll(j), sch.unroll(k)
    with pytest.raises(rx.RelaxError, match=r"vectorize\(i\): the code would have .* operations"):
        sch.vectorize(i)


def test_refusals_show_the_loops_that_they_are_about() -> None:
    sch = rx.Schedule(kernel("chain").module())
    loop = sch.get_loops(sch.get_block("C"))[0]
    for step in (
        lambda: sch.split(loop, [0]),
        lambda: sch.rfactor(loop, 0),
        lambda: sch.compute_at(sch.get_block("C"), loop),
    ):
        with pytest.raises(rx.RelaxError) as error:
            step()
        shown = str(error.value).partition("the loops as they stand:\n")[2]
        assert shown.count("T.block") == 1 and 'T.block("C")' in shown


def test_refusals_show_the_loops_as_they_were() -> None:
    """Show the old loops in a refusal, also where the step's result is the reason."""
    sch, _, (i, j, _) = product()
    before = sch.show()
    sch.unroll(j)
    with pytest.raises(rx.RelaxError) as error:
        sch.unroll(sch.split(i, [1, 64])[1])
    assert "for i_0, i_1 in T.grid(1, 64):" in str(error.value) and "T.unroll(64)" not in str(error.value)
    assert before != sch.show()


def test_unknown_steps_are_distinguished() -> None:
    sch, *_ = product()
    with pytest.raises(AttributeError, match="a schedule has no 'splitt'; did you mean 'split'"):
        sch.splitt(1)
    assert {"split", "tensorize", "rfactor", "mod", "trace"} <= set(dir(sch))
    assert not hasattr(sch, "_repr_html_"), "what has no name of a step is none"
    assert "Split a loop into nested loops" in sch.split.__doc__


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "the first line of a schedule is its version"),
        (["# schedule 2"], "expected '# schedule 1', found '# schedule 2'"),
        (["# schedule 1", "import os"], "line 2 of the schedule, 'import os': expected a call of sch"),
        (["# schedule 1", "C = sch.get_block("], "expected one call of sch"),
        (["# schedule 1", "x.y = sch.get_block('C')"], "only names are assigned to"),
        (["# schedule 1", "C = sch.get_block(open('f'))"], "is neither a value nor a handle"),
        (["# schedule 1", "sch.annotate(i, 'a', {[]: 1})"], "is neither a value nor a handle"),
        (["# schedule 1", "sch.transform_layout(C, lambda i: i % 0)"], "division by zero: 'i' % 0"),
        (["# schedule 1", f"sch.reorder({'-' * 5000}1)"], "expected one call of sch"),
        (["# schedule 1", "C = sch.get_block('C')", "i, j = sch.get_loops(C)"], "it gives 4 handles for 2 names"),
        (["# schedule 1", "C = sch.get_block('C')", "sch.unroll(k)"], "no line before it gives 'k'"),
        (["# schedule 1", "C = sch.get_block('C')", "sch.explode(C)"], "unknown schedule primitive 'explode'"),
    ],
)
def test_texts_that_are_no_schedules(lines: list[str], message: str) -> None:
    sch, _, (i, *_) = product()
    sch.split(i, [None, 4])
    before = sch.show(), sch.trace
    with pytest.raises(rx.RelaxError) as error:
        sch.replay("\n".join(lines))
    assert message in str(error.value)
    assert (sch.show(), sch.trace) == before


# ---- rules that choose ----


@pytest.fixture
def forgotten() -> Iterator[None]:
    load_schedules(all_targets())
    primitives.primitive_names()
    with without_new(schedules._SCHEDULES), without_new(primitives._PRIMITIVES):
        yield


def graph() -> rx.Module:
    module = rx.Module()
    with module.function("main", {"a": rx.tensor(("n", 8)), "b": rx.tensor((8, 6))}) as f:
        f.returns(relax.nn.relu(relax.matmul(*f)))
    return module


def agrees(module: rx.Module) -> bool:
    a, b = (np.random.default_rng(0).standard_normal(shape).astype("float32") for shape in ((5, 8), (8, 6)))
    result = np.from_dlpack(rx.compile(module)["main"](a, b))
    return bool(np.allclose(result, np.maximum(a @ b, 0), atol=1e-5))


def unrolled(seen: list[str]) -> Callable[..., Any]:
    def rule(function: Any, context: Any) -> Any:
        sch = context.schedule(function)
        name = next(block.name for tree in sch.trees() for block in tree.blocks() if block.is_reduction)
        _, inner = sch.split(sch.get_loops(sch.get_block(name))[0], [None, 4])
        sch.unroll(inner)
        seen.append(sch.show())
        return sch

    return rule


def test_a_rule_of_an_operator(forgotten: None) -> None:
    seen: list[str] = []
    rx.register_schedule(operator="relax.matmul", target="llvm")(unrolled(seen))
    assert agrees(graph()) and len(seen) == 1 and "T.unroll(4)" in seen[0]
    lowered = rx.lower(graph(), pipeline=rx.stages("llvm").until("plan"))
    assert "sch.unroll" in str(lowered) and "tir.plan" not in str(lowered)


def test_a_rule_of_a_pattern_comes_before_the_compilers_own(forgotten: None) -> None:
    seen: list[str] = []
    rx.register_schedule("out_ewise_fusable", target="llvm")(unrolled(seen))
    assert agrees(graph()) and len(seen) == 1


def test_a_rule_of_a_structure_comes_first(forgotten: None) -> None:
    seen: list[str] = []
    wanted = structure("""
func.func @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%0 : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}""")
    rx.register_schedule(structure=wanted, target="llvm")(unrolled(seen))

    @rx.register_schedule(operator="relax.matmul", target="llvm")
    def never(function: Any, context: Any) -> Any:
        seen.append("operator")
        return context.decline("only what has no structure")

    module = rx.Module()
    with module.function("main", {"a": rx.tensor(("n", 8)), "b": rx.tensor((8, 6))}) as f:
        f.returns(relax.matmul(*f))
    rx.compile(module)
    assert len(seen) == 1 and seen[0] != "operator"
    assert agrees(graph()) and seen[1:] == ["operator"], "with a relu it is another structure"


def test_kernels_that_a_rule_declines_are_planned(forgotten: None) -> None:
    @rx.register_schedule(operator="relax.matmul", target="llvm")
    def never(function: Any, context: Any) -> Any:
        context.schedule(function).get_loops  # noqa: B018  # begun, and left
        return context.decline("never")

    assert agrees(graph())
    assert "tir.plan" in str(rx.lower(graph(), pipeline=rx.stages("llvm").until("plan")))


def test_registrations_that_mean_nothing(forgotten: None) -> None:
    with pytest.raises(rx.RelaxError, match="expected an operator pattern, an operator or a structure"):
        rx.register_schedule(target="llvm")
    with pytest.raises(rx.RelaxError, match=r"'matmul' is no full name of an operator, such as 'relax\.matmul'"):
        rx.register_schedule(operator="matmul", target="llvm")
    rx.register_schedule(operator="relax.matmul", target="llvm")(unrolled([]))
    with pytest.raises(rx.RelaxError, match=r"operator 'relax\.matmul' already has a schedule for target 'llvm'"):
        rx.register_schedule(operator="relax.matmul", target="llvm")(lambda function, context: None)


def test_an_own_primitive(forgotten: None) -> None:
    @rx.register_primitive
    def halve(edit: Any, loop: Any) -> Any:
        """Two loops of one."""
        if edit.loop(loop).extent == 1:
            edit.refuse("one step has no halves")
        return primitives.find_primitive("split").function(edit, loop, [2, None])

    sch, _, (i, *_) = product()
    outer, _ = sch.halve(i)
    one, _ = sch.split(outer, [1, None])
    with pytest.raises(rx.RelaxError, match=r"halve\(i_0_0\): one step has no halves"):
        sch.halve(one)
    check(kernel("matmul"), rx.Schedule(kernel("matmul").module(), trace=sch.trace))

    @rx.register_primitive
    def elsewhere(edit: Any, loop: Any) -> Any:
        """Use a handle of another PrimFunc."""
        edit.loop(type(loop)("other", loop.name))

    with pytest.raises(rx.RelaxError, match=r"elsewhere\(i_0_0\): 'i_0_0' is of @other, not of @matmul"):
        sch.elsewhere(one)
    with pytest.raises(rx.RelaxError, match="has no doc string, which is its help"):
        rx.register_primitive(lambda edit: None)


if TYPE_CHECKING:
    from relax_mlir.passes.kernels.loops.tree import Loop as OnlyForTypeCheckers

Stage = BlockRV
Label = Annotated[str, "shown"]


def test_arguments_of_an_own_primitive_are_what_annotations_mean(forgotten: None) -> None:
    seen: list[tuple[object, ...]] = []

    @rx.register_primitive
    def mark(
        edit: Any,
        stage: Stage,
        *labels: Label,
        note: Optional[str] = None,  # noqa: UP045  # as older code has it
        order: IndexMap | None = None,
        loop: LoopRV | None = None,
        unknown: OnlyForTypeCheckers | None = None,
    ) -> None:
        """Record the arguments."""
        seen.append((stage, labels, note, order, unknown))

    sch = rx.Schedule(kernel("matmul").module())
    sch.mark("C", "a", "b", note="c", order=lambda i: i + 1, unknown=2)
    ((stage, labels, note, order, unknown),) = seen
    assert (stage, labels, note, unknown) == (sch.get_block("C"), ("a", "b"), "c", 2)
    assert isinstance(order, IndexMap)
    sch.mark("C", note=None, order=None)
    assert seen[1][1:] == ((), None, None, None)
    with pytest.raises(rx.RelaxError, match="mark: 'note' must be a string, not 3"):
        sch.mark("C", note=3)
    with pytest.raises(rx.RelaxError, match="mark: 'labels' must be a string, not 4"):
        sch.mark("C", "a", 4)
    with pytest.raises(rx.RelaxError, match="mark: 'order' must be an index map"):
        sch.mark("C", order=5)


def test_show_is_read_back_where_it_is_plain() -> None:
    """Read the shown text back as TVMScript."""
    for each in KERNELS:
        if each.name not in ("softmax", "gather", "rows", "products_of_bytes", "means", "open_matmul"):
            text = "from relax_mlir.script import tir as T\n\n" + rx.Schedule(each.module()).show()
            agree(each, rx.compile(rx.Module.from_script(text))["main"])
