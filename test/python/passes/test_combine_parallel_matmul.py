# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-combine-parallel-matmul: slices of one product equal the separate products.

Situations of Apache TVM's test_transform_combine_parallel_matmul.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import blocks
import numpy
from before_after import changed, keeps_results, op_names
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.passes.graph.relax_combine_parallel_matmul import CombineParallelMatmul

import relax_mlir as rx
from relax_mlir import relax

PASS = "relax-combine-parallel-matmul"


def built(shapes: Sequence[Any], body: Any, dtype: str = "float32") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


@st.composite
def branches(draw: Any) -> tuple[rx.Module, int]:
    """Draw products of one operand by weights with epilogues, and return the expected number of products."""
    data = draw(st.sampled_from([(5,), ("n", 5), (2, 3, 5), (2, "n", 5)]))
    batches = [(), (2,)] if len(data) == 3 else [()]
    kinds = draw(st.lists(st.sampled_from(batches), min_size=1, max_size=4))
    sizes = [draw(st.sampled_from([1, 3, "m"])) for _ in kinds]
    weights = [(*batch, 5, size) for batch, size in zip(kinds, sizes, strict=True)]
    step = draw(st.sampled_from(["", "bias", "bias relu", "scale", "left bias", "tanh bias", "some", "wide"]))
    as_constants = draw(st.booleans())

    def body(x: Any, *parameters: Any) -> Any:
        results = []
        for index, (size, weight) in enumerate(zip(sizes, parameters, strict=True)):
            if as_constants and size != "m":
                weight = blocks.Weights(index)(*weights[index])
            value = relax.matmul(x, weight)
            numbers = blocks.Weights(index)(*((1, size) if step == "wide" else (size,))) if size != "m" else None
            if numbers is not None:
                value = _followed(value, step, numbers, index)
            results.append(value)
        return tuple(results)

    return built([data, *weights], body), len(set(kinds))


def _followed(value: Any, step: str, numbers: Any, index: int) -> Any:
    """Return a step after every branch, or after some."""
    if step in ("bias", "wide") or (step == "some" and index % 2):
        return relax.add(value, numbers)
    if step == "left bias":
        return relax.add(numbers, value)
    if step == "scale":
        return relax.multiply(value, numbers)
    if step == "bias relu":
        return relax.nn.relu(relax.add(value, numbers))
    return relax.add(relax.tanh(value), numbers) if step == "tanh bias" else value


@draws(30)
@given(branches())
def test_slices_are_the_products(case: tuple[rx.Module, int]) -> None:
    module, expected = case
    after = keeps_results(module, PASS, sizes={"n": 4, "m": 2}, tolerance=1e-5)
    assert op_names(after).count("relax.matmul") == expected


@draws(40)
@given(
    st.sampled_from("NCHW NHWC".split()), st.sampled_from("OIHW HWIO HWOI".split()), st.booleans(), st.integers(0, 1)
)
def test_convolutions(data: str, kernel: str, has_bias: bool, padding: int) -> None:
    sizes = {"N": 2, "C": 3, "I": 3, "H": 5, "W": 4}

    def shaped(layout: str, **own: int) -> tuple[int, ...]:
        return tuple({**sizes, **own}[letter] for letter in layout)

    def body(x: Any, *weights: Any) -> Any:
        results = []
        for weight in weights:
            outputs = weight.type.shape[kernel.index("O")]
            y = relax.nn.conv2d(x, weight, data_layout=data, kernel_layout=kernel, padding=padding)
            shape = [outputs if letter == "C" else 1 for letter in data]
            results.append(relax.add(y, blocks.Weights()(*shape)) if has_bias else y)
        return tuple(results)

    module = built([shaped(data), *(shaped(kernel, O=outputs, H=3, W=2) for outputs in (4, 1, 2))], body)
    names = op_names(keeps_results(module, PASS, tolerance=1e-5))
    assert names.count("relax.nn.conv2d") == 1 and names.count("relax.add") == has_bias


def test_groups_and_strides_of_their_own() -> None:
    def body(x: Any, w: Any, grouped: Any) -> Any:
        return (
            relax.nn.conv1d(x, w), relax.nn.conv1d(x, w, strides=2),
            relax.nn.conv1d(x, grouped, groups=2), relax.nn.conv1d(x, grouped, groups=2),
        )  # fmt: skip

    module = built([(1, 4, 8), (2, 4, 3), (2, 2, 3)], body)
    assert op_names(changed(module, PASS)) == op_names(module)


def test_weights_that_are_made_later_are_made_before() -> None:
    """Hoist a transpose and a cast, but no operator that depends on the first product or has an effect."""

    def body(x: Any, a: Any, b: Any) -> Any:
        p = relax.matmul(x, a)
        q = relax.matmul(x, relax.permute_dims(relax.astype(b, "float32")))
        r = relax.matmul(x, relax.multiply(a, p))
        return p, q, r

    module = rx.Module()
    with module.function("main", [rx.tensor((4, 4)), rx.tensor((4, 4)), rx.tensor((3, 4), "float16")]) as f:
        f.returns(*body(*f))
    after = keeps_results(module, PASS)
    assert op_names(after).count("relax.matmul") == 2
    assert op_names(after)[:4] == ["relax.astype", "relax.permute_dims", "relax.concat", "relax.matmul"]

    def checked(x: Any, a: Any) -> Any:
        p = relax.matmul(x, a)
        return p, relax.matmul(x, relax.match_cast(relax.permute_dims(a), "tensor<4x4xf32>"))

    module = built([(2, 4), ("k", "l")], checked)
    assert op_names(changed(module, PASS)) == op_names(module)


def test_groups_of_what_can_meet() -> None:
    """Two that depend on the first product meet each other."""

    def body(x: Any, a: Any) -> Any:
        p = relax.matmul(x, a)
        w = relax.exp(p)
        return relax.matmul(x, w), relax.matmul(x, a), relax.matmul(x, relax.tanh(w))

    after = keeps_results(built([(4, 4), (4, 4)], body), PASS, tolerance=1e-3)
    assert op_names(after).count("relax.matmul") == 2


def test_chains_of_combined_products() -> None:
    """Combine products that are operands and weights of other combined products."""

    def body(x: Any, a: Any, b: Any) -> Any:
        p, q = relax.matmul(x, a), relax.matmul(x, b)
        r, s = relax.matmul(p, q), relax.matmul(p, a)
        return relax.matmul(r, q), relax.matmul(r, s)

    after = keeps_results(built([(4, 4)] * 3, body), PASS, tolerance=1e-3)
    assert op_names(after).count("relax.matmul") == 3


def test_in_regions_and_by_functions() -> None:
    module = rx.Module.from_script(
        """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module(ssa=True)
class Module:
    @R.function
    def main(
        c: R.Tensor((), "bool"), x: R.Tensor((2, 4), "float32"), a: R.Tensor((4, 3), "float32")
    ) -> R.Tensor((2, 3), "float32"):
        b = tensor.extract(c, T.bool)
        p = R.matmul(x, a)
        if b:
            y = R.add(R.matmul(x, a), R.matmul(x, a))
        else:
            y = p
        return y
"""
    )
    after = changed(module, PASS)
    assert op_names(after).count("relax.matmul") == 2


def test_a_check_of_ones_own() -> None:
    seen: list[list[int]] = []

    def few_columns(products: Any) -> bool:
        seen.append([each.x2.type.shape[-1] for each in products])
        return sum(seen[-1]) < 8

    def body(x: Any, y: Any, a: Any, b: Any) -> Any:
        return relax.matmul(x, a), relax.matmul(x, b), relax.matmul(y, a), relax.matmul(y, a)

    module = built([(2, 4), (2, 4), (4, 3), (4, 5)], body)
    after = changed(module, CombineParallelMatmul(check=few_columns))
    assert seen == [[3, 5], [3, 3]] and op_names(after).count("relax.matmul") == 3
    assert op_names(changed(module, CombineParallelMatmul(least=3))).count("relax.matmul") == 4


def test_tags_of_others_stay() -> None:
    module = rx.Module.parse(
        """
        func.func @main(%x: tensor<2x4xf32>, %a: tensor<4x3xf32>) -> (tensor<?x3xf32>, tensor<2x3xf32>) {
          %0 = "relax.matmul"(%x, %a) {mynpu.tag = 7} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
          %1 = "relax.matmul"(%x, %a) {mynpu.tag = 7} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
          %2 = "relax.matmul"(%x, %a) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
          %3 = "relax.add"(%1, %2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          return %0, %3 : tensor<?x3xf32>, tensor<2x3xf32>
        }
        """
    )
    text = str(changed(module, PASS))
    assert text.count("relax.matmul") == 2 and text.count("mynpu.tag = 7") == 1
    # Users keep a type that is less precise than the slice's.
    assert text.count("relax.match_cast") == 1


def test_projections_of_attention() -> None:
    """Combine queries, keys and values, and both sides of a gated MLP."""
    for module, joined in ((blocks.transformer(2, length="n"), 2), (blocks.llama(2), 3)):
        after = keeps_results(module, PASS, tolerance=1e-3)
        assert op_names(module).count("relax.matmul") - op_names(after).count("relax.matmul") == 2 * joined


@draws(40)
@given(st.one_of(blocks.images(), blocks.sequences()))
def test_any_graph_keeps_its_results(module: rx.Module) -> None:
    keeps_results(module, PASS, tolerance=1e-3)


def test_sums_are_the_same_to_the_last_bit_where_columns_are_computed_alike() -> None:
    module = built([(3, 8), (8, 16), (8, 16)], lambda x, a, b: (relax.matmul(x, a), relax.matmul(x, b)))
    ones = [numpy.full(shape, 0.1, "f4") for shape in [(3, 8), (8, 16), (8, 16)]]
    keeps_results(module, PASS, ones, tolerance=0)
