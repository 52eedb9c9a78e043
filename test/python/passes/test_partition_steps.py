# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts as lists of steps: operands have the pattern's order and names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy
import pytest
from partitioning import Native, add, built, codegen, matmul, product, relu
from relax_mlir.passes.core.external import external_modules
from relax_mlir.passes.graph.partition import planning

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import every, is_const, is_op, outputs, wildcard

X, Y, Z = (wildcard().named(name) for name in "xyz")
W, V = is_const().named("w"), is_const().named("v")
MATRICES = numpy.random.default_rng(1).normal(size=(2, 4, 4)).astype("float32")


def const(number: int) -> Any:
    return relax.const(MATRICES[number])


def steps_of(body: Any, pattern: Any, *passes: str, whole: bool = True, plan: str = "priority", **members: Any) -> Any:
    """Return the steps of the only part after passes, and the part itself."""
    module = built(body)
    with codegen([("npu.it", pattern)], **members) as npu:
        rx.Pipeline([rx.Partition(codegens=(npu,), plan=plan), *(rx.External(npu, each) for each in passes)]).run(
            module
        )
        (part,) = external_modules(module.operation)
        (steps,) = rx.Codegen.steps(part, whole=whole).values()
    return steps.steps, steps


def test_steps_of_a_part() -> None:
    seen: dict[bool, Any] = {}

    class Told(Native):
        def compile(self, module: rx.Module, options: Any) -> bytes:
            for whole in (True, False):
                (seen[whole],) = self.steps(module, whole=whole).values()
            return super().compile(module, options)

    with codegen([("npu.layer", relu(product))], base=Told) as npu:
        rx.compile(built(lambda a, b: relax.nn.relu(relax.matmul(a, b))), partition=[npu], opt_level=0)
    (step,) = seen[True].steps
    assert (step.composite, step.inputs, step.outputs) == ("npu.layer", (0, 1), (3,))
    assert (seen[True].inputs, seen[True].outputs) == ((0, 1), (3,))
    assert [(each.inputs, each.outputs) for each in seen[False].steps] == [((0, 1), (2,)), ((2,), (3,))]


def first_product_first(a: Any, b: Any) -> Any:
    one = relax.matmul(a, const(0))
    return relax.subtract(one, relax.matmul(b, const(1)))


def second_product_first(a: Any, b: Any) -> Any:
    other = relax.matmul(b, const(1))
    return relax.subtract(relax.matmul(a, const(0)), other)


@pytest.mark.parametrize("body", [first_product_first, second_product_first])
def test_the_order_in_which_a_graph_is_written_does_not_show(body: Any) -> None:
    (step,), part = steps_of(body, is_op("relax.subtract")(matmul(X, W), matmul(Y, V)))
    assert step.inputs == tuple(step[name] for name in "xwyv")
    assert [part.inputs.index(step[name]) for name in "xy"] == [0, 1]
    for number, name in enumerate("wv"):
        numpy.testing.assert_array_equal(part.constants[step[name]], MATRICES[number])


@pytest.mark.parametrize("body", [lambda a, b: relax.add(const(0), relax.matmul(a, b)),
                                  lambda a, b: relax.add(relax.matmul(a, b), const(0))])  # fmt: skip
def test_commutative_operands_are_in_the_patterns_order(body: Any) -> None:
    """Order operands of one operator by the pattern, also without a surrounding function."""
    (step,), _ = steps_of(body, add(matmul(X, Y), W))
    assert step.inputs == (step["x"], step["y"], step["w"]) == (0, 1, step["w"])
    (step,), _ = steps_of(lambda a, b: relax.add(const(0), a), add(X, W))
    assert step.inputs == (0, step["w"])


def test_one_value_in_two_places() -> None:
    """Give each role its own name for one value. A subpattern at two places is one role."""
    (step,), _ = steps_of(lambda a, b: relax.multiply(a, a), is_op("relax.multiply")(X, Y))
    assert step.inputs == (0, 0) and step["x"] == step["y"] == 0
    (step,), _ = steps_of(lambda a, b: relax.multiply(a, a), is_op("relax.multiply")(X, X))
    assert step.inputs == (0,)
    both = outputs(is_op("relax.exp")(X), is_op("relax.tanh")(X))
    (step,), _ = steps_of(lambda a, b: (relax.exp(a), relax.tanh(a)), both)
    assert step.inputs == (0,) and len(step.outputs) == 2


def test_a_wildcard_for_what_is_made_inside() -> None:
    """Refuse an access to an intermediate value, which is no operand."""

    def body(a: Any, b: Any) -> Any:
        inner = relax.nn.relu(a)
        return relax.add(inner, inner)

    (step,), _ = steps_of(body, add(relu(X), Y))
    assert step.inputs == (step["x"],)
    with pytest.raises(rx.RelaxError, match="'y' is an inner value of the step"):
        step["y"]


def test_optional_values_of_a_step_can_be_absent() -> None:
    layer = matmul(X, Y).optional(lambda y: add(y, is_const().named("bias"))).named("y")
    (step,), _ = steps_of(lambda a, b: relax.add(relax.matmul(a, b), const(0)), layer)
    assert "bias" in step and step.get("bias") == step["bias"] == step.inputs[2]
    assert step["y"] == step.outputs[0]
    (step,), _ = steps_of(lambda a, b: relax.matmul(a, b), layer)
    assert "bias" not in step and step.get("bias") is None and step.inputs == (0, 1)
    with pytest.raises(rx.RelaxError, match=r"step 'npu.it': no value is named 'bias' \(it has x, y\)"):
        step["bias"]
    with pytest.raises(rx.RelaxError, match=r"no value is named 'xx'; did you mean 'x'"):
        step["xx"]


def test_alternatives() -> None:
    either = is_op("relax.exp")(X) | is_op("relax.subtract")(Y, Z)
    (step,), _ = steps_of(lambda a, b: relax.subtract(b, a), either)
    assert "x" not in step and step.inputs == (step["y"], step["z"]) == (0, 1)


def test_lists() -> None:
    (step,), _ = steps_of(lambda a, b: relax.concat([b, a, b]), is_op("relax.concat")([X, Y, Z]))
    assert step.inputs == (0, 1, 0) == (step["x"], step["y"], step["z"])
    any_number = is_op("relax.concat")(every(lambda: wildcard().named("x")))
    (step,), _ = steps_of(lambda a, b: relax.concat([b, a, b]), any_number)
    assert step.inputs == (0, 1, 0) == step.all("x") and step["x"] == 0


def test_repeated_operands_are_in_the_patterns_order() -> None:
    """List repeated operands in the pattern's order, which is the graph's order here."""
    chain = X.repeated(lambda y: add(y, is_const().named("w")), least=1)
    (step,), part = steps_of(lambda a, b: relax.add(relax.add(a, const(0)), const(1)), chain)
    for number, each in zip(step.all("w"), (0, 1), strict=True):
        numpy.testing.assert_array_equal(part.constants[number], MATRICES[each])
    assert step.inputs == (step["x"], *step.all("w"))


def test_unstated_operands_are_in_the_operators_order() -> None:
    """Order operands of operators without a stated operand by position, and operands for `...` last."""
    (step,), _ = steps_of(lambda a, b: relax.subtract(a, relax.exp(b)), is_op("relax.subtract")(X, is_op("relax.exp")))
    assert step.inputs == (1, 0) and step["x"] == 1
    (step,), _ = steps_of(lambda a, b: relax.subtract(relax.exp(b), a), is_op("relax.subtract")(is_op("relax.exp"), X))
    assert step.inputs == (0, 1) and step["x"] == 1
    clip = is_op("relax.where")(is_op("relax.less")(X, Y), ...)
    (step,), _ = steps_of(lambda a, b: relax.where(relax.less(b, a), a, b), clip)
    assert step.inputs == (0, 1, 1, 0)


def test_inner_operations_of_a_step_have_names() -> None:
    """Find operations by the names of their results, with their attributes."""
    pooled = relu(is_op("relax.nn.softmax")(X).named("rows")).named("out")
    (step,), _ = steps_of(lambda a, b: relax.nn.relu(relax.nn.softmax(a, axis=0)), pooled)
    assert step.op("rows").axis == 0 and step.op("out").operation == step.operation.operation
    assert step["out"] == step.outputs[0]
    with pytest.raises(
        rx.RelaxError, match="'rows' is an inner value of the step: whole=False gives a step for each operation"
    ):
        step["rows"]
    with pytest.raises(rx.RelaxError, match="no operation defines 'x'"):
        step.op("x")


def test_an_operation_by_itself_calls_operands_as_its_operator() -> None:
    body = lambda a, b: relax.nn.relu(relax.matmul(b, a))  # noqa: E731
    (dot, after), _ = steps_of(body, relu(matmul(X, Y)), whole=False)
    assert (dot["x1"], dot["x2"]) == dot.inputs == (0, 1)
    assert after["x"] == dot.outputs[0] and "y" not in after
    (step,), _ = steps_of(lambda a, b: relax.concat([b, a]), is_op("relax.concat"), whole=False)
    assert step.all("tensors") == step.inputs


def test_constants_that_are_passed() -> None:
    """Pass constants to a separate codegen."""
    (step,), part = steps_of(second_product_first, is_op("relax.subtract")(matmul(X, W), matmul(Y, V)), separate=True)
    assert step.inputs == tuple(step[name] for name in "xwyv") and not part.constants


def test_constants_without_a_sign_that_are_passed() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((5, 3), "uint8")]) as f:
        (x,) = f
        f.returns(relax.add(x, relax.const(numpy.uint8([1, 2, 3]))))
    with codegen([("npu.it", is_op("relax.add")(X, is_const()))], separate=True) as npu:
        rx.Pipeline([rx.Partition(codegens=(npu,))]).run(module)
        (part,) = external_modules(module.operation)
        (steps,) = rx.Codegen.steps(part).values()
    assert steps.inputs == (0, 1) and not steps.constants


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int4", "uint4", "float16"])
@pytest.mark.parametrize("sizes", [(), (3,), (40, 40)])
def test_constants_of_types_that_numpy_lacks(dtype: str, sizes: tuple[int, ...]) -> None:
    numbers = numpy.asarray(numpy.random.default_rng(1).integers(-4, 5, sizes))
    array = numpy.asarray(abs(numbers) if dtype == "uint4" else numbers).astype(getattr(ml_dtypes, dtype, dtype))
    module = rx.Module()
    with module.function("main", [rx.tensor((40, 40) if len(sizes) == 2 else (5, *sizes), dtype)]) as f:
        (x,) = f
        f.returns(relax.add(x, relax.const(array)))
    with codegen([("npu.it", is_op("relax.add")(X, is_const()))]) as npu:
        rx.Pipeline([rx.Partition(codegens=(npu,))]).run(module)
        (steps,) = rx.Codegen.steps(external_modules(module.operation)[0]).values()
    (found,) = steps.constants.values()
    assert found.dtype == array.dtype
    numpy.testing.assert_array_equal(found.astype("float32"), array.astype("float32"))


def test_passes_that_change_what_was_matched() -> None:
    """Keep the names of operands, but not of constants, after passes that changed the part, and say why."""
    layer = add(matmul(X, is_op("relax.exp")(W)), Y)
    (step,), _ = steps_of(lambda a, b: relax.add(relax.matmul(b, relax.exp(const(0))), a), layer, "relax-fold-constant")
    assert step.is_changed and step.inputs[:2] == (step["x"], step["y"]) and len(step.inputs) == 3
    changed = r"no value is named 'w' \(it has x, y; passes have changed the matched operations\)"
    with pytest.raises(rx.RelaxError, match=changed):
        step["w"]


def test_a_planner_that_does_not_say_how_it_matches() -> None:
    @rx.register_planner("plain")
    def plain(block: Any, composites: Sequence[Any]) -> Iterator[rx.Taken]:
        last = next(op.operation for op in block.operations if op.operation.name == "relax.subtract")
        (match,) = composites[0].matches(last)
        yield rx.Taken(composites[0], match.operations)

    try:
        pattern = is_op("relax.subtract")(matmul(X, W), matmul(Y, V))
        (step,), _ = steps_of(second_product_first, pattern, plan="plain")
    finally:
        planning._PLANNERS.entries.pop("plain")
    assert step.inputs == tuple(step[name] for name in "xwyv")


TEXT = """
module attributes {relax.codegen = "npu"} {
  func.func private @it(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
      attributes {relax.composite = "npu.it"STATED} {
    %0 = "relax.subtract"(%y, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @part(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @it(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}"""


def steps_of_text(stated: str) -> Any:
    module = rx.Module.parse(TEXT.replace("STATED", stated))
    ((step,),) = (part.steps for part in rx.Codegen.steps(module).values())
    return step


def test_functions_that_say_nothing_of_a_pattern() -> None:
    step = steps_of_text("")
    assert step.inputs == (1, 0)
    with pytest.raises(rx.RelaxError, match=r"no value is named 'x' \(it has no names\)"):
        step["x"]


@pytest.mark.parametrize(
    "stated",
    ["7", "{}", '{operations = [], reads = ["%9"], names = {}}', '{operations = [], reads = ["x"], names = {}}',
     '{operations = ["relax.subtract"], reads = ["0.7"], names = {}}', "{operations = [7], reads = [], names = {}}"],
)  # fmt: skip
def test_attributes_that_say_nothing_sensible(stated: str) -> None:
    with pytest.raises(rx.RelaxError, match=r"does not describe the values of a pattern|must be a dictionary, got 7"):
        steps_of_text(f", relax.pattern = {stated}")


def test_a_name_that_no_value_has_is_reported_with_the_line_that_asks() -> None:
    """Report the codegen's line, and the existing names."""

    class Asking(Native):
        def compile(self, module: rx.Module, options: Any) -> bytes:
            (part,) = self.steps(module).values()
            return str(part.steps[0]["weight"]).encode()

    with codegen([("npu.it", matmul(X, W))], base=Asking) as npu:
        asked = r"codegen 'npu' declined .*no value is named 'weight' \(it has w, x\) \(at passes/test_partition_st"
        with pytest.raises(rx.RelaxError, match=asked):
            rx.compile(built(lambda a, b: relax.matmul(a, const(0))), partition=[npu], strict_partition=True)
