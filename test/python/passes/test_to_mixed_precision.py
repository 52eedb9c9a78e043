# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-to-mixed-precision: results are nearly the same, their types are equal, and nothing is cast back and forth.

Situations of Apache TVM's test_transform_to_mixed_precision.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import blocks
import numpy
import pytest
from before_after import changed, keeps_results, op_names
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from own_rules import without_new_precisions
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.dialect import all_ops
from relax_mlir.passes.graph.mixed_precision.registry import precision_of
from relax_mlir.passes.graph.relax_to_mixed_precision import ToMixedPrecision

import relax_mlir as rx
from relax_mlir import relax

PASS = "relax-to-mixed-precision"


def built(shapes: Sequence[Any], body: Any, dtype: str = "float32") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def operations(module: rx.Module, name: str) -> list[Any]:
    return [op for op in operations_in(module.operation) if op.name == name]


def check_casts(module: rx.Module) -> None:
    """Check that no value is cast twice to one type, and that no cast is cast."""
    casts = operations(module, "relax.astype")
    seen = [(cast.operands[0], cast.results[0].type) for cast in casts]
    assert len(set(seen)) == len(seen), module
    for cast in casts:
        owner = cast.operands[0].owner
        assert getattr(owner, "OPERATION_NAME", "") != "relax.astype", module


def element_types(module: rx.Module, name: str) -> list[str]:
    return [str(op.results[0].type.element_type) for op in operations(module, name)]


@pytest.mark.parametrize("options", ["", "{results=f32}", "{dtype=bf16}", "{dtype=bf16 results=f32}"])
@pytest.mark.parametrize("make", [blocks.transformer, blocks.llama, blocks.resnet])
def test_models(make: Any, options: str) -> None:
    module = make()
    after = keeps_results(module, PASS + options, tolerance=0.15 if "bf16" in options else 0.02)
    check_casts(after)
    low = "bf16" if "bf16" in options else "f16"
    for name in ("relax.matmul", "relax.nn.conv2d"):
        for product in operations(after, name):
            assert all(str(operand.type.element_type) == low for operand in product.operands)
            assert str(product.results[0].type.element_type) == ("f32" if "results" in options else low)


@draws(40)
@given(st.one_of(blocks.images(), blocks.sequences()), st.sampled_from(["", "{results=f32}"]))
def test_any_graph_nearly_keeps_its_results(module: rx.Module, options: str) -> None:
    after = changed(module, PASS + options)
    check_casts(after)
    # Functions such as exp make a difference of any size out of a small one: types and shapes are compared.
    keeps_results(module, PASS + options, tolerance=2.1)


def test_convolutions_of_all_kinds() -> None:
    def body(x: Any, y: Any, z: Any, *kernels: Any) -> Any:
        return (
            relax.nn.conv1d(x, kernels[0]), relax.nn.conv2d(y, kernels[1]), relax.nn.conv3d(z, kernels[2]),
            relax.nn.conv1d_transpose(x, kernels[0]), relax.nn.conv2d_transpose(y, kernels[1]),
            relax.nn.conv3d_transpose(z, kernels[2]), relax.einsum([x, x], subscripts="abc,abd->cd"),
        )  # fmt: skip

    shapes = [(2, 2, *(4,) * rank) for rank in (1, 2, 3)] + [(2, 2, *(3,) * rank) for rank in (1, 2, 3)]
    after = keeps_results(built(shapes, body), PASS, tolerance=0.1)
    # Each of six operands is cast once, each of seven results back.
    assert op_names(after).count("relax.astype") == 6 + 7


def test_attention() -> None:
    module = built([(1, 3, 2, 4)] * 3, lambda q, k, v: relax.nn.attention(q, k, v, causal_mask="TopLeft"))
    after = keeps_results(module, PASS, tolerance=0.02)
    assert element_types(after, "relax.nn.attention") == ["f16"]


def test_following_operators_need_narrow_operands() -> None:
    """Cast constants, but not a parameter of f32."""

    def body(x: Any, y: Any) -> Any:
        p = relax.matmul(x, x)
        alone = relax.add(p, relax.const(numpy.ones((2, 2), "f4")))
        joined = relax.concat([p, alone, relax.const(numpy.ones((2, 2), "f4"))])
        return relax.multiply(joined, relax.const(numpy.float32(2))), relax.subtract(p, y), relax.negative(y)

    after = keeps_results(built([(2, 2), (2, 2)], body), PASS, tolerance=0.02)
    for name, expected in (
        ("add", "f16"),
        ("concat", "f16"),
        ("multiply", "f16"),
        ("subtract", "f32"),
        ("negative", "f32"),
    ):
        assert element_types(after, f"relax.{name}") == [expected], name


def test_operators_on_constants_alone_stay_wide() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2,))}) as f:
        (x,) = f
        offset = relax.add(relax.const(numpy.float32([1, 2])), relax.const(numpy.float32([3, 4])))
        f.returns(relax.subtract(x, offset))
    after = changed(module, ToMixedPrecision())
    assert str(after) == str(module)


def test_constant_operands_of_products_are_cast_late() -> None:
    """Cast a bias whose axes are computed during compilation, then fold it. The sum stays in 16 bits."""

    def body(x: Any) -> Any:
        bias = relax.expand_dims(relax.const(numpy.arange(300, dtype="f4") % 4), axis=[1])
        return relax.add(relax.matmul(relax.const(numpy.ones((300, 2), "f4")), x), bias)

    after = keeps_results(built([(2, 5)], body), PASS, tolerance=0.02)
    assert element_types(after, "relax.add") == ["f16"]
    assert element_types(after, "relax.expand_dims") == ["f32"]


def test_operands_of_other_types_are_left_alone() -> None:
    """Keep a condition and indices. Shapes are known for both types."""

    def body(x: Any) -> Any:
        p = relax.matmul(x, x)
        taken = relax.take(p, relax.const(numpy.array([1, 0])), axis=0)
        chosen = relax.where(relax.greater(p, taken), p, relax.const(numpy.float32(0)))
        return chosen, relax.clip(p, -1.0, 1.0), relax.reshape(p, relax.shape_of(relax.flatten(p)))

    module = built([(2, 2)], body)
    after = keeps_results(module, PASS, tolerance=0.02)
    check_casts(after)
    for name in ("take", "where", "reshape", "flatten"):
        assert element_types(after, f"relax.{name}") == ["f16"], name


def test_results_that_stay_wide() -> None:
    """Keep a product with an f32 result, and cast around an operator with several results."""
    module = built([(2, 2)], lambda x: relax.nn.relu(relax.matmul(x, x, out_dtype="float32")))
    after = keeps_results(module, PASS, tolerance=0.02)
    assert element_types(after, "relax.matmul") == ["f32"] == element_types(after, "relax.nn.relu")
    split = built([(2, 4), (4, 4)], lambda x, y: relax.split(relax.matmul(x, y), 2, axis=1))
    after = keeps_results(split, PASS, tolerance=0.02)
    assert op_names(after).count("relax.astype") == 4


def test_products_of_other_floats_stay() -> None:
    module = built([(2, 2)], lambda x: relax.matmul(x, x), "float64")
    assert str(changed(module, PASS)) == str(module)


@pytest.mark.parametrize(("number", "dtype", "low"), [
    (65504.0, "f16", True), (65536.0, "f16", False), (-1e30, "bf16", True), (numpy.inf, "bf16", False),
    (-numpy.inf, "f16", False),
])  # fmt: skip
def test_constants_that_do_not_fit(number: float, dtype: Any, low: bool) -> None:
    module = built([(2, 2)], lambda x: relax.matmul(x, relax.const(numpy.array([[1, number], [0, 1]], "f4"))))
    after = changed(module, ToMixedPrecision(dtype=dtype))
    assert element_types(after, "relax.matmul") == [dtype if low else "f32"]
    assert ("relax.astype" in op_names(after)) == low


def test_large_constants_are_rounded_once() -> None:
    weight = numpy.random.default_rng(0).normal(size=(64, 64)).astype("f4")
    module = built([(2, 64)], lambda x: relax.matmul(relax.matmul(x, relax.const(weight)), relax.const(weight)))
    after = changed(module, PASS)
    assert [str(op.results[0].type.element_type) for op in operations(after, "arith.constant")] == ["f16", "f16"]
    assert op_names(after) == ["relax.astype", "relax.matmul", "relax.matmul", "relax.astype"]


def test_regions_use_what_is_cast_outside() -> None:
    module = rx.Module.from_script(
        """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module(ssa=True)
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        b = tensor.extract(c, T.bool)
        p = R.matmul(x, x)
        if b:
            q = R.matmul(p, x)
            y = R.nn.relu(q)
        else:
            y = R.exp(p)
        z = R.add(y, p)
        return z
"""
    )
    arrays = [numpy.array(True), numpy.full((2, 2), 0.5, "f4")]
    after = keeps_results(module, PASS, arrays, tolerance=0.02)
    keeps_results(module, PASS, [numpy.array(False), arrays[1]], tolerance=0.02)
    check_casts(after)
    assert element_types(after, "relax.matmul") == ["f16", "f16"] and element_types(after, "relax.add") == ["f32"]


def test_blocks_in_any_order() -> None:
    """Process a block that uses a value before the block that defines it."""
    text = """
      func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
        cf.br ^bb2
      ^bb1:
        %e = "relax.exp"(%p) : (tensor<2x2xf32>) -> tensor<2x2xf32>
        return %e : tensor<2x2xf32>
      ^bb2:
        %p = "relax.matmul"(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
        cf.br ^bb1
      }
    """
    after = changed(rx.Module.parse(text), PASS)
    assert op_names(after) == ["relax.astype", "relax.exp", "relax.matmul", "relax.astype"]


def test_operators_and_nodes_that_are_kept() -> None:
    module = built([(2, 2)], lambda x: relax.nn.relu(relax.matmul(x, x)))
    for keep, expected in (("nn.relu", ["f16", "f32"]), ("relax.matmul", ["f32", "f32"]), ("nn.gelu", ["f16", "f16"])):
        after = changed(module, ToMixedPrecision(keep=(keep,)))
        assert element_types(after, "relax.matmul") + element_types(after, "relax.nn.relu") == expected


def test_a_word_of_ones_own() -> None:
    module = built([(2, 2)], lambda x: relax.exp(relax.matmul(x, x)))
    with without_new_precisions():
        rx.register_precision(["relax.exp"], "follow")
        rx.register_precision("relax.matmul", "always")
        assert element_types(changed(module, PASS), "relax.exp") == ["f16"]
        with pytest.raises(rx.RelaxError, match=r"a precision of 'relax.exp' already: .*test_to_mixed"):
            rx.register_precision("relax.exp", "never")
        with pytest.raises(rx.RelaxError, match=r"one of always, follow, never, not 'allways'; did you mean 'always'"):
            rx.register_precision("relax.log", "allways")  # type: ignore[arg-type]
        with pytest.raises(rx.RelaxError, match=r"unknown operator 'relax.lgo'; did you mean 'relax.log'"):
            rx.register_precision("relax.lgo", "never")
    assert element_types(changed(module, PASS), "relax.exp") == ["f32"]


def test_rows_of_operators_state_their_precision() -> None:
    said = {row.full_name: precision_of(row) for row in all_ops() if row.full_name.startswith("relax.")}
    always = {name for name, precision in said.items() if precision == "always"}
    assert {"relax.matmul", "relax.einsum", "relax.nn.conv2d", "relax.nn.attention_bias"} <= always
    assert all(said[f"relax.{name}"] == "never" for name in "exp sum cumsum bitcast call_tir print match_cast".split())
    assert all(said[f"relax.{name}"] == "follow" for name in "add reshape nn.relu concat shape_of mean".split())


@pytest.mark.parametrize("precision", ["bf16", "f16"])
def test_a_program_in_another_precision(precision: str) -> None:
    """Fold norms into weights before, and round constants during compilation."""
    random = numpy.random.default_rng(1)
    x, weights = random.normal(size=(20, 64)).astype("f4"), random.normal(size=(64, 48)).astype("f4")
    module = built([(20, 64)], lambda x: relax.nn.relu(relax.matmul(x, relax.const(weights))))
    program = rx.compile(module, precision=precision)
    expected = numpy.maximum(x @ weights, 0)
    got = numpy.from_dlpack(program["main"](x))
    assert got.dtype == "float32"
    difference = abs(got - expected).max() / expected.max()
    assert 1e-6 < difference < (1e-2 if precision == "bf16" else 1e-3)
    stages = rx.stages("llvm").until("legalize")
    lowered = [str(rx.lower(module, pipeline=stages, precision=each)) for each in ("f32", precision)]
    assert [f"tensor<64x48x{precision}>" in text for text in lowered] == [False, True]
    assert "relax.astype" not in lowered[1].partition("@matmul")[0]


def test_precisions_are_known() -> None:
    module = built([(2, 3)], lambda x: relax.exp(x))
    with pytest.raises(rx.RelaxError, match=r"'bf_16': expected one of bf16, f16, f32; did you mean 'bf16'\?"):
        rx.compile(module, precision="bf_16")
