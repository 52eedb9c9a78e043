# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of each kernel and part of a program, against the reference."""

from __future__ import annotations

from typing import Any

import faulty_codegen  # noqa: F401  # registers it
import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op, wildcard
from relax_mlir_proof.testing.each import ACCUMULATED, OWN, REWRITTEN, compared, each, first_wrong, is_far
from relax_mlir_proof.testing.program_values import ProgramValues

X = numpy.random.default_rng(0).normal(size=(3, 8)).astype("float32")


def built(body: Any, *shapes: tuple[Any, ...]) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes]) as f:
        f.returns(body(*f))
    return module


class Choosy(rx.codegens.Codegen):
    """Codegen on numpy for softmax and tanh: it declines the first part, and the second one uses a workspace."""

    name = "choosy"
    patterns = (
        ("choosy.softmax", is_op("relax.nn.softmax")(wildcard().named("x"))),
        ("choosy.tanh", is_op("relax.tanh")(wildcard().named("x"))),
    )

    def workspace(self, function: Any) -> int:
        return 64

    def compile(self, module: Any, options: Any) -> bytes:
        if "relax.nn.softmax" in str(module):
            raise rx.RefusalError("no softmax today")
        return ",".join(self.functions(module)).encode()

    def load(self, data: Any) -> Any:
        return dict.fromkeys(bytes(data).decode().split(","), tanh)


def tanh(x: Any, out: Any, workspace: Any) -> None:
    numpy.from_dlpack(workspace)[...] = 7
    numpy.from_dlpack(out)[...] = numpy.tanh(numpy.from_dlpack(x))


rx.codegens.register_codegen("choosy")(Choosy)


@pytest.mark.filterwarnings("ignore:.*no softmax today")
def test_a_part_that_its_codegen_declines_and_a_workspace() -> None:
    """Decline a part, which becomes a kernel of the target. An unused result is no value."""
    module = built(lambda x: relax.tanh(relax.exp(relax.nn.softmax(x))), ("n", 8))
    found = each(module, [X], partition=["choosy"])
    assert first_wrong(found) is None, found
    assert [value.name.partition("::")[0] for value in found][-1].endswith("choosy")
    assert len(found) == 3 and all(value.isolated is not None for value in found)
    assert found[-1].expected[0].shape == (3, 8) and len(found[-1].expected) == 1


def test_sizes_without_an_input_are_passed_to_kernels() -> None:
    """Pass n to the kernel, since 2 * n + 1 does not reveal it."""
    module = built(lambda x, y: relax.nn.softmax(relax.concat([x, x, y], axis=0)), ("n", 8), (1, 8))
    *_, last = each(module, [X, X[:1]])
    assert last.isolated is not None and not last.problem
    assert [array.shape for array in last.inputs] == [(7, 8), (3,)]


def test_the_first_wrong_value_and_its_successors_are_found() -> None:
    module = built(lambda x: relax.nn.softmax(relax.subtract(relax.const(0.75), relax.nn.softmax(x))), ("n", 8))
    found = each(module, [X], partition=["faulty{fault=order}"])
    assert [value.problem for value in found] == ["", OWN, ACCUMULATED]
    wrong = first_wrong(found)
    assert wrong is found[1]
    numpy.testing.assert_allclose(wrong.expected[0], 0.75 - wrong.inputs[0], rtol=1e-6)


rx.register_target(rx.Target("wrong-tanh", parents=("llvm",), doc="Of this test."))


@rx.rules.register_lower_intrinsic("tir.tanh", target="wrong-tanh")
def wrong_tanh(op: Any) -> Any:
    return op.x


def test_a_kernel_whose_code_is_wrong() -> None:
    module = built(lambda x: relax.nn.softmax(relax.tanh(relax.nn.softmax(x))), ("n", 8))
    assert [value.problem for value in each(module, [X], target="wrong-tanh")] == ["", OWN, ACCUMULATED]


def test_lists_and_numbers_as_arguments() -> None:
    module = rx.Module.parse(
        """func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %k: i64) -> tensor<4x3xf32>
            attributes {relax.input_groups = [
              {kind = "list", size = 2 : i64, name = "xs"}, {kind = "value", size = 1 : i64, name = "k"}]} {
          %0 = "relax.concat"(%a, %b) {axis = 0} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
          %1 = "relax.nn.softmax"(%0) : (tensor<4x3xf32>) -> tensor<4x3xf32>
          return %1 : tensor<4x3xf32>
        }"""
    )
    program = rx.compile(module, cache=False, observe=True)
    values = ProgramValues(program, "main", [[X[:2, :3], X[1:, :3]], 5])
    found = list(compared(values, values.of_model(), None))
    assert len(found) == 2 and first_wrong(found) is None


def test_operators_of_one_line() -> None:
    """Run several operators with one name.

    A value that matches none of them is an error only if results differ, too.
    """
    module = built(lambda x: relax.nn.softmax(relax.add(relax.add(x, relax.const(1.0)), relax.const(2.0))), ("n", 8))
    assert first_wrong(each(module, [X])) is None

    def swapped(stages: rx.Stages) -> rx.Stages:
        return stages.insert_before("legalize", "swap", SwapOperands())

    module = built(lambda x: relax.nn.softmax(relax.subtract(x, relax.nn.relu(x))), ("n", 8))
    program = rx.compile(module, pipeline=swapped(rx.stages()), cache=False, observe=True)
    values = ProgramValues(program, "main", [X])
    wrong = first_wrong(list(compared(values, values.of_model(), None)))
    assert wrong is not None and wrong.problem == REWRITTEN


class SwapOperands(rx.Pass):
    """Wrong rewrite that swaps the operands of differences."""

    name = "test-each-swap"

    def run(self, op: Any) -> None:
        from relax_mlir.bindings.navigation import operations_in

        for operation in operations_in(op):
            if operation.name == "relax.subtract":
                first, second = operation.operands
                operation.operands[0], operation.operands[1] = second, first


def test_a_program_that_raises() -> None:
    module = built(lambda x: relax.tanh(x), (2, 3))
    program = rx.compile(module, partition=["faulty{fault=none}"], cache=False, observe=True)
    with pytest.raises(rx.RelaxError, match="the program: main failed: "):
        values = ProgramValues(program, "main", [X])
        list(compared(values, {}, None))


def test_is_far_compares_with_the_tolerance_of_the_type() -> None:
    one = numpy.float32([1, 100, numpy.nan, numpy.inf])
    near = one + numpy.float32([0.005, 0, 0, 0])
    assert not is_far([near], [one], None) and is_far([near], [one], 1e-6)
    assert is_far([near], [one.astype("float64")], 1) and is_far([near[:3]], [one], 1) and is_far([], [one], 1)
    assert is_far([numpy.int8([1])], [numpy.int8([2])], 10)
    assert is_far([numpy.float32([numpy.nan])], [numpy.float32([1])], 10)
