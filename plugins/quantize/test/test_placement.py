# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choice of layers and tensors: which are quantized, with which scales, and that results stay near the float model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest
import relax_mlir as rx
import small_npu
from relax_mlir import relax
from relax_mlir.bindings.navigation import operations_named
from relax_mlir.dialects.relax.known_constants import elements_of
from relax_mlir.patterns import is_const, is_op, wildcard
from relax_mlir.recipes import Op, Share
from relax_mlir_quantize.quantize import Quantized

RANDOM = numpy.random.default_rng(65)


def weights(*shape: int) -> Any:
    fan_in = int(numpy.prod(shape[1:])) if len(shape) == 4 else shape[0]
    return relax.const((RANDOM.normal(size=shape) / fan_in**0.5).astype("float32"))


def bias(*shape: int) -> Any:
    return relax.const((RANDOM.normal(size=shape) * 0.1).astype("float32"))


def conv(x: Any, inputs: int, outputs: int, *, strides: int = 1) -> Any:
    return relax.nn.conv2d(x, weights(outputs, inputs, 3, 3), padding=1, strides=[strides, strides])


def model(make: Callable[..., Any], **inputs: Sequence[object]) -> rx.Module:
    module = rx.Module()
    with module.function("main", {name: rx.tensor(tuple(shape)) for name, shape in inputs.items()}) as f:
        made = make(*f)
        f.returns(*made) if isinstance(made, tuple) else f.returns(made)
    return module


def pictures() -> list[list[numpy.ndarray]]:
    return [[RANDOM.normal(size=(2, 3, 8, 8)).astype("float32")] for _ in range(8)]


def images(make: Callable[..., Any]) -> rx.Module:
    return model(make, x=("n", 3, 8, 8))


def near(
    module: rx.Module, quantized: Quantized, data: list[list[numpy.ndarray]], bound: float = 0.06, *, parts: bool = True
) -> None:
    """Compare the quantized module with the float module, on llvm and by the accelerator."""
    float_ = rx.compile(module)["main"]
    programs = [rx.compile(quantized.module)["main"]]
    if parts:
        programs.append(rx.compile(quantized.module, partition=["small_npu"], strict_partition=True)["main"])
    for arguments in data[:2]:
        expected = listed(float_(*arguments))
        for program in programs:
            for ours, theirs in zip(listed(program(*arguments)), expected, strict=True):
                numpy.testing.assert_allclose(ours, theirs, atol=bound * max(abs(theirs).max(), 1e-6))


def listed(results: Any) -> list[numpy.ndarray]:
    each = results if isinstance(results, (list, tuple)) else [results]
    return [numpy.asarray(one) for one in each]


def quantized_of(module: rx.Module, data: Any, for_: Any = "small_npu", **options: Any) -> Quantized:
    return rx.quantize(module, data, for_=for_, calibrate="minmax", **options)


def patterns(quantized: Quantized) -> list[str]:
    return [row.pattern.removeprefix("small_npu.") for row in quantized.report.rows]


def scales_into(module: rx.Module, operator: str) -> list[float]:
    """Return the scales of the dequantized operands of an operator."""
    (found,) = operations_named(module.operation, operator)
    makers = [operand.owner for operand in found.operands]
    return [elements(maker.operands[1]) for maker in makers if maker.name == "relax.dequantize"]


def elements(value: Any) -> float:
    found = elements_of(value)
    assert found is not None
    return float(found)


def count_of(module: rx.Module, operator: str) -> int:
    return len(operations_named(module.operation, operator))


def test_residual_sums_are_layers_with_a_scale_of_each_operand() -> None:
    def make(x: Any) -> Any:
        first = relax.nn.relu(relax.add(conv(x, 3, 4), bias(4, 1, 1)))
        second = relax.add(conv(first, 4, 4), bias(4, 1, 1))
        return relax.nn.relu(relax.add(second, first))

    module = images(make)
    data = pictures()
    quantized = quantized_of(module, data)
    assert patterns(quantized) == ["conv", "conv", "add"]
    near(module, quantized, data)


def test_concatenations_and_pools_share_a_scale() -> None:
    def make(x: Any) -> Any:
        left, right = relax.nn.relu(conv(x, 3, 4)), relax.multiply(conv(x, 3, 4), relax.const(1.0))
        both = relax.concat([left, relax.nn.max_pool2d(left, pool_size=[3, 3], padding=[1, 1, 1, 1])], axis=1)
        return conv(both, 8, 2), right

    module = images(make)
    data = pictures()
    quantized = quantized_of(module, data)
    first, second = scales_into(quantized.module, "relax.concat")
    assert first == second
    assert set(scales_into(quantized.module, "relax.nn.max_pool2d")) == {first}
    near(module, quantized, data)


def test_a_concatenation_joins_the_ranges_of_its_operands() -> None:
    def make(x: Any) -> Any:
        small, large = conv(x, 3, 4), relax.multiply(relax.const(1.0), x)
        wide = conv(relax.multiply(large, relax.const(8.0)), 3, 4)
        return conv(relax.concat([small, wide], axis=1), 8, 2)

    module = images(make)
    data = pictures()
    quantized = quantized_of(module, data)
    first, second = scales_into(quantized.module, "relax.concat")
    assert first == second
    scales = {row.node: row.scale for row in quantized.report.rows}
    assert len(set(list(scales.values())[:1])) == 1
    near(module, quantized, data, 0.1)


def test_readers_of_other_types_get_other_integers_of_the_result() -> None:
    @rx.codegens.register_codegen("two_types")
    class TwoTypes(rx.codegens.Codegen):
        patterns = (
            ("two_types.conv", is_op("relax.nn.conv2d")(wildcard().named("x"), is_const().named("w"))),
            ("two_types.linear", is_op("relax.matmul")(wildcard().named("x"), is_const().named("w"))),
        )
        recipe = rx.Recipe(
            Op("two_types.conv", x="i8", w="i8 symmetric", y="i8"),
            Op("two_types.linear", x="i16", w="i8 symmetric", y="i16"),
        )

    def make(x: Any) -> Any:
        first = conv(x, 3, 4)
        return conv(first, 4, 4), relax.matmul(first, weights(8, 8))

    module = images(make)
    data = pictures()
    quantized = quantized_of(module, data, "two_types")
    # The result is written once, as i8. The i16 of the product are made of these.
    (product,) = operations_named(quantized.module.operation, "relax.matmul")
    numbers = product.operands[0].owner.operands[0]
    assert "i16" in str(numbers.type)
    assert numbers.owner.operands[0].owner.name == "relax.dequantize"
    near(module, quantized, data, parts=False)


def test_a_result_that_is_also_an_output_is_quantized_once() -> None:
    def make(x: Any) -> Any:
        first = relax.nn.relu(conv(x, 3, 4))
        return first, conv(first, 4, 4), relax.tanh(first)

    module = images(make)
    data = pictures()
    quantized = quantized_of(module, data)
    assert patterns(quantized) == ["conv", "conv"]
    # the data, and two results
    assert count_of(quantized.module, "relax.quantize") == 3
    near(module, quantized, data)


def test_layers_may_share_constants() -> None:
    shared: list[Any] = []

    def make(x: Any) -> Any:
        shared[:] = [weights(3, 3, 3, 3), bias(3, 1, 1)]
        first = relax.nn.relu(relax.add(relax.nn.conv2d(x, shared[0], padding=1), shared[1]))
        return relax.add(relax.nn.conv2d(first, shared[0], padding=1), shared[1])

    module = images(make)
    data = pictures()
    quantized = quantized_of(module, data)
    assert patterns(quantized) == ["conv", "conv"]
    near(module, quantized, data)


def test_values_inside_of_a_layer_may_have_readers() -> None:
    def make(x: Any) -> Any:
        sums = conv(x, 3, 4)
        return relax.nn.relu(sums), relax.tanh(sums)

    module = images(make)
    data = pictures()
    near(module, quantized_of(module, data), data)


BRANCHES = """
func.func @main(%x: tensor<2x8xf32>, %c: i1) -> tensor<2x8xf32> {
  %w = arith.constant dense<0.25> : tensor<8x8xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %1 = scf.if %c -> (tensor<2x8xf32>) {
    %2 = "relax.matmul"(%0, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    scf.yield %2 : tensor<2x8xf32>
  } else {
    scf.yield %0 : tensor<2x8xf32>
  }
  return %1 : tensor<2x8xf32>
}
"""


def test_layers_in_branches_and_loops_stay_real_and_say_why() -> None:
    module = rx.Module.parse(BRANCHES)
    data = [[RANDOM.normal(size=(2, 8)).astype("float32"), True] for _ in range(8)]
    quantized = quantized_of(module, data)
    assert patterns(quantized) == ["linear"]
    reasons = [why for why in quantized.report.kept.values() if "inside of" in why]
    assert reasons == ["inside of scf.if: layers in branches and loops stay real"]


def test_sizes_may_be_dynamic() -> None:
    module = model(lambda x: relax.nn.relu(relax.matmul(x, weights(8, 4))), x=("n", 8))
    data = [[RANDOM.normal(size=(n, 8)).astype("float32")] for n in range(1, 9)]
    quantized = quantized_of(module, data)
    near(module, quantized, [*data[-2:]])


def test_one_of_several_functions_is_quantized() -> None:
    module = rx.Module()
    for name in ("first", "second"):
        with module.function(name, {"x": rx.tensor(("n", 8))}) as f:
            f.returns(relax.matmul(*f, weights(8, 4)))
    data = [[RANDOM.normal(size=(2, 8)).astype("float32")] for _ in range(8)]
    quantized = quantized_of(module, data, function="second")
    assert count_of(quantized.module, "relax.quantize") == 2
    program, float_ = rx.compile(quantized.module), rx.compile(module)
    numpy.testing.assert_array_equal(program["first"](*data[0]), float_["first"](*data[0]))
    numpy.testing.assert_allclose(program["second"](*data[0]), float_["second"](*data[0]), atol=0.1)


def test_a_layer_of_constant_data_stays_real_and_says_why() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4, 4))}) as f:
        constant = relax.matmul(bias(4, 4), weights(4, 4))
        f.returns(relax.add(relax.matmul(*f, weights(4, 4)), constant))
    data = [[RANDOM.normal(size=(4, 4)).astype("float32")] for _ in range(8)]
    quantized = quantized_of(module, data)
    assert patterns(quantized) == ["linear"]
    near(module, quantized, data)


@pytest.mark.parametrize("shape", [(4,), (1, 4), (5, 4), (1,), (5, 1), ()])
def test_a_bias_of_any_shape_is_in_range(shape: tuple[int, ...]) -> None:
    module = model(lambda x: relax.add(relax.matmul(x, weights(8, 4)), bias(*shape)), x=(5, 8))
    data = [[RANDOM.normal(size=(5, 8)).astype("float32")] for _ in range(8)]
    per_channel = rx.Recipe(
        Op("linear", pattern=small_npu.SmallNpu.patterns[1][1], x="i8", w="i8@channel symmetric", bias="i32 derived")
    )
    quantized = quantized_of(module, data, per_channel)
    near(module, quantized, data, parts=False)
    (row,) = quantized.report.rows or [None]
    assert (row is None) == (shape in [(1,), (5, 1), ()]) or "bias" not in row.types


def test_nodes_stay_real_on_request() -> None:
    def make(x: Any) -> Any:
        first = relax.nn.relu(conv(x, 3, 4))
        pooled = relax.nn.max_pool2d(first, pool_size=[2, 2], strides=[2, 2])
        return relax.matmul(relax.reshape(pooled, [-1, 64]), weights(64, 4))

    module = images(make)
    data = pictures()
    kept = quantized_of(module, data, keep=["nn.conv*"])
    assert patterns(kept) == ["linear"]
    assert "kept by request: 'nn.conv*'" in kept.report.kept.values()
    near(module, kept, data)
    pools = quantized_of(module, data, keep=["relax.nn.max_pool2d"])
    assert "kept by request: 'relax.nn.max_pool2d'" in pools.report.kept.values()
    near(module, pools, data)


def test_a_fixed_scale_is_that_of_the_recipe() -> None:
    module = model(lambda x: relax.matmul(relax.sigmoid(relax.matmul(x, weights(8, 8))), weights(8, 4)), x=("n", 8))
    data = [[RANDOM.normal(size=(3, 8)).astype("float32")] for _ in range(8)]
    quantized = quantized_of(module, data)
    last = operations_named(quantized.module.operation, "relax.matmul")[-1]
    assert elements(last.operands[0].owner.operands[1]) == 1 / 256
    near(module, quantized, data)


def test_parts_of_tensors_have_the_scale_of_the_whole() -> None:
    def make(x: Any) -> Any:
        first, second = relax.split(relax.nn.relu(conv(x, 3, 4)), 2, axis=1)
        rows = relax.take(first, relax.const(numpy.array([1, 0])), axis=1)
        return conv(relax.concat([rows, second], axis=1), 4, 2)

    module = images(make)
    data = pictures()
    quantized = quantized_of(module, data)
    assert len(set(scales_into(quantized.module, "relax.concat"))) == 1
    near(module, quantized, data)


def test_pools_of_unsigned_integers() -> None:
    x, w = wildcard().named("x"), is_const().named("w")
    unsigned = rx.Recipe(
        Op("conv", pattern=is_op("relax.nn.relu")(is_op("relax.nn.conv2d")(x, w)), x="u8", w="i8 symmetric"),
        Share("relax.nn.max_pool2d", "relax.nn.avg_pool2d"),
    )

    def make(x: Any) -> Any:
        first = relax.nn.relu(conv(x, 3, 4))
        largest = relax.nn.max_pool2d(first, pool_size=[3, 3], padding=[1, 1, 1, 1])
        mean = relax.nn.avg_pool2d(largest, pool_size=[3, 3], padding=[1, 1, 1, 1])
        return relax.nn.relu(conv(mean, 4, 2))

    module = images(make)
    data = pictures()
    quantized = quantized_of(module, data, unsigned)
    assert set(scales_into(quantized.module, "relax.nn.avg_pool2d")) == set(
        scales_into(quantized.module, "relax.nn.max_pool2d")
    )
    near(module, quantized, data, parts=False)
