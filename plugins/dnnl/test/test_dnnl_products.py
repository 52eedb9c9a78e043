# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen dnnl compared with the default path: convolutions and matrix products with epilogues.

The cases follow Apache TVM's test_codegen_dnnl.py and test_dnnl.py (relay).
"""

from __future__ import annotations

from typing import Any

import pytest
from dnnl_models import floats
from dnnl_parts import built, compare_steps
from relax_mlir import relax

const = relax.const


def conv(x: Any, *shape: int, **attributes: Any) -> Any:
    op = getattr(relax.nn, f"conv{len(shape) - 2}d")
    return op(x, const(floats(*shape)), **attributes)


@pytest.mark.parametrize(
    ("data", "weight", "attributes"),
    [
        ((2, 8, 10, 11), (16, 8, 3, 3), {"padding": 1}),
        ((1, 4, 13, 12), (6, 4, 3, 2), {"padding": (1, 0, 2, 1), "strides": (2, 1), "dilation": (2, 1)}),
        ((1, 8, 7, 7), (16, 2, 3, 3), {"groups": 4, "padding": 1}),
        ((1, 8, 7, 7), (8, 1, 3, 3), {"groups": 8, "padding": 1}),
        ((1, 8, 7, 7), (16, 1, 3, 3), {"groups": 8, "strides": 2}),
        ((1, 3, 21, 17), (16, 3, 7, 7), {"strides": 2, "padding": 3}),
        ((2, 4, 13), (6, 4, 3), {"padding": 1}),
        ((1, 4, 6, 5, 7), (6, 4, 3, 3, 3), {"padding": 1}),
    ],
)
def test_convolutions(data: Any, weight: Any, attributes: Any) -> None:
    assert compare_steps(built(lambda x: conv(x, *weight, **attributes), data)) == ["convolution"]


def test_windows_that_skip_the_end() -> None:
    """Skip the last row and column, which no window reaches."""
    assert compare_steps(built(lambda x: conv(x, 8, 4, 3, 3, strides=2), (1, 4, 8, 10))) == ["convolution"]


def test_bias_sum_and_activation_are_post_ops() -> None:
    def body(x: Any, other: Any) -> Any:
        y = relax.add(conv(x, 16, 8, 3, 3, padding=1), const(floats(16, 1, 1)))
        return relax.nn.relu(relax.add(other, y))

    assert compare_steps(built(body, (1, 8, 10, 10), (1, 16, 10, 10))) == ["convolution+bias+binary+eltwise"]


@pytest.mark.parametrize("is_product_first", [True, False])
def test_a_sum_is_a_post_op_of_the_product(is_product_first: bool) -> None:
    """Add to the product, not to the other operand's step, in both orders of the operands."""

    def body(x: Any, other: Any) -> Any:
        operands = conv(x, 16, 8, 3, 3, padding=1), relax.multiply(other, other)
        return relax.add(*operands if is_product_first else reversed(operands))

    assert compare_steps(built(body, (1, 8, 10, 10), (1, 16, 10, 10))) == ["binary", "convolution+binary"]


@pytest.mark.parametrize("shape", [(16, 1, 1), (1, 16, 1, 1)])
def test_a_bias_by_channels(shape: Any) -> None:
    body = lambda x: relax.add(const(floats(*shape)), conv(x, 16, 8, 3, 3))  # noqa: E731
    assert compare_steps(built(body, (1, 8, 6, 6))) == ["convolution+bias"]


@pytest.mark.parametrize("shape", [(6, 1), (4,), (1, 16, 6, 1)])
def test_operand_along_other_dimensions_is_no_bias(shape: Any) -> None:
    body = lambda x: relax.add(conv(x, 16, 8, 3, 3), const(floats(*shape)))  # noqa: E731
    assert compare_steps(built(body, (1, 8, 8, 6))) == ["convolution+binary"]


def test_one_number_for_all_channels_is_no_bias() -> None:
    body = lambda x, other: relax.add(conv(x, 16, 8, 3, 3), other)  # noqa: E731
    assert compare_steps(built(body, (1, 8, 8, 6), (1, 1, 1, 1))) == ["convolution+binary"]


def test_channels_last() -> None:
    def body(x: Any, other: Any) -> Any:
        weight = const(floats(3, 3, 8, 16))
        y = relax.nn.conv2d(x, weight, padding=1, data_layout="NHWC", kernel_layout="HWIO")
        return relax.tanh(relax.multiply(relax.add(y, const(floats(16))), other))

    assert compare_steps(built(body, (2, 9, 10, 8), (2, 9, 10, 16))) == ["convolution+bias+binary+eltwise"]


def test_result_layout() -> None:
    body = lambda x: conv(x, 16, 8, 3, 3, out_layout="NHWC")  # noqa: E731
    assert compare_steps(built(body, (1, 8, 6, 7))) == ["convolution"]


def test_weights_as_arguments() -> None:
    body = lambda x, w: relax.nn.relu(relax.nn.conv2d(x, w, padding=1))  # noqa: E731
    assert compare_steps(built(body, (1, 4, 6, 5), (8, 4, 3, 3))) == ["convolution+eltwise"]


def test_a_residual_block() -> None:
    def body(x: Any) -> Any:
        y = relax.nn.relu(conv(x, 16, 8, 3, 3, padding=1, strides=2))
        return relax.nn.relu(relax.add(conv(y, 16, 16, 3, 3, padding=1), conv(x, 16, 8, 1, 1, strides=2)))

    steps = ["convolution+eltwise", "convolution", "convolution+binary+eltwise"]
    assert compare_steps(built(body, (1, 8, 9, 9))) == steps


def test_product_with_two_users_is_not_fused() -> None:
    body = lambda x: (relax.nn.relu(y := conv(x, 16, 8, 3, 3)), y)  # noqa: E731
    assert compare_steps(built(body, (1, 8, 9, 9))) == ["convolution", "eltwise"]


@pytest.mark.parametrize(
    ("data", "weight", "attributes"),
    [
        ((1, 8, 5, 6), (8, 5, 3, 3), {"strides": 2, "padding": 1}),
        ((1, 8, 5, 6), (8, 5, 3, 3), {"strides": 2, "padding": 1, "output_padding": 1}),
        ((1, 8, 5, 6), (8, 3, 3, 3), {"strides": 2, "padding": 1, "groups": 2}),
        ((1, 8, 5, 6), (8, 3, 3, 2), {"dilation": (1, 2), "padding": (1, 0, 0, 1)}),
        ((1, 8, 5), (8, 3, 4), {"strides": 2, "padding": 1}),
        ((1, 4, 3, 5, 4), (4, 3, 2, 2, 2), {"strides": 2}),
    ],
)
def test_transposed_convolutions(data: Any, weight: Any, attributes: Any) -> None:
    def body(x: Any) -> Any:
        channels = weight[1] * attributes.get("groups", 1)
        y = getattr(relax.nn, f"conv{len(weight) - 2}d_transpose")(x, const(floats(*weight)), **attributes)
        return relax.add(y, const(floats(channels, *(1 for _ in weight[2:]))))

    assert compare_steps(built(body, data)) == ["deconvolution+bias"]


@pytest.mark.parametrize("data", [(3, 12), (3, 7, 12), (2, 3, 4, 12), (12,)])
def test_dense_layer(data: Any) -> None:
    body = lambda x: relax.nn.gelu(relax.add(relax.matmul(x, const(floats(12, 20))), const(floats(20))))  # noqa: E731
    assert compare_steps(built(body, data)) == ["inner_product+bias+eltwise"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((5, 7), (7, 4)),
        ((5, 12), (12,)),
        ((12,), (12,)),
        ((12,), (3, 12, 4)),
        ((2, 3, 5, 7), (2, 3, 7, 4)),
        ((2, 3, 5, 7), (3, 7, 4)),
        ((5, 7), (3, 7, 4)),
        ((2, 1, 5, 7), (1, 3, 7, 4)),
        ((2, 3, 7), (7, 5)),
    ],
)
def test_matrices(one: Any, other: Any) -> None:
    assert compare_steps(built(relax.matmul, one, other)) == ["matmul"]


def test_residual_with_flattened_rows() -> None:
    """Flatten the rows of the product and, in the same way, the rows of the added tensor."""

    def body(x: Any, other: Any) -> Any:
        return relax.add(other, relax.add(relax.matmul(x, const(floats(12, 20))), const(floats(20))))

    assert compare_steps(built(body, (2, 3, 12), (2, 3, 20))) == ["inner_product+bias+binary"]


def test_batch_broadcast_is_not_fused() -> None:
    body = lambda x, other: relax.add(relax.matmul(x, const(floats(12, 20))), other)  # noqa: E731
    assert compare_steps(built(body, (2, 3, 12), (2, 1, 20))) == ["inner_product", "binary"]


def test_transposed_operand_is_a_view() -> None:
    body = lambda x, y: relax.matmul(x, relax.permute_dims(y, [0, 1, 3, 2]))  # noqa: E731
    assert compare_steps(built(body, (2, 3, 5, 7), (2, 3, 4, 7))) == ["view", "matmul"]


def test_attention() -> None:
    def body(q: Any, k: Any, v: Any, mask: Any) -> Any:
        heads = [relax.permute_dims(relax.reshape(each, (2, 8, 4, 16)), [0, 2, 1, 3]) for each in (q, k, v)]
        scores = relax.matmul(heads[0], relax.permute_dims(heads[1], [0, 1, 3, 2]))
        weights = relax.nn.softmax(relax.add(relax.multiply(scores, const(0.25)), mask))
        return relax.reshape(relax.permute_dims(relax.matmul(weights, heads[2]), [0, 2, 1, 3]), (2, 8, 64))

    steps = compare_steps(built(body, (2, 8, 64), (2, 8, 64), (2, 8, 64), (2, 1, 1, 8)))
    assert [each for each in steps if each != "view"] == ["matmul+eltwise+binary", "softmax", "matmul"]


def test_convolution_pool_and_dense_layer() -> None:
    def body(x: Any) -> Any:
        y = relax.nn.adaptive_avg_pool2d(relax.nn.relu(conv(x, 16, 8, 3, 3)), output_size=1)
        return relax.matmul(relax.reshape(y, (2, 16)), const(floats(16, 10)))

    assert compare_steps(built(body, (2, 8, 9, 9))) == ["convolution+eltwise", "pooling", "view", "inner_product"]


def test_rows_of_a_convolution() -> None:
    """Reorder the convolution's blocked layout before the product."""

    def body(x: Any) -> Any:
        y = relax.permute_dims(conv(x, 16, 8, 3, 3), [0, 2, 3, 1])
        return relax.matmul(relax.reshape(y, (2, -1)), const(floats(16 * 49, 10)))

    assert compare_steps(built(body, (2, 8, 9, 9))) == ["convolution", "view", "view", "inner_product"]


@pytest.mark.parametrize(
    ("subscripts", "one", "other"),
    [
        ("ay,xy->ax", (3, 5), (4, 5)),
        ("ya,yx->ax", (5, 3), (5, 4)),
        ("ay,xy->xa", (3, 5), (4, 5)),
        ("abcd,abed->abce", (2, 3, 4, 5), (2, 3, 6, 5)),
        ("bahd,bchd->bhac", (2, 3, 4, 5), (2, 6, 4, 5)),
        ("abc,dc->abd", (2, 3, 5), (4, 5)),
        ("abc,bcd->ad", (2, 3, 5), (3, 5, 4)),
        ("abc,cde->daeb", (2, 3, 5), (5, 4, 6)),
        ("i,j->ij", (3,), (4,)),
        ("i,i->", (3,), (3,)),
        ("bi,bi->b", (3, 4), (3, 4)),
    ],
)
def test_einsum(subscripts: str, one: Any, other: Any) -> None:
    body = lambda x, y: relax.einsum([x, y], subscripts=subscripts)  # noqa: E731
    assert compare_steps(built(body, one, other)) == ["matmul"]
    constant = lambda x: relax.einsum([x, const(floats(*other))], subscripts=subscripts)  # noqa: E731
    labels, _, result = subscripts.partition("->")
    has_batch = any(labels.count(label) == 2 for label in result)
    assert compare_steps(built(constant, one)) == ["matmul" if has_batch else "inner_product"]
    first = lambda y: relax.einsum([const(floats(*one)), y], subscripts=subscripts)  # noqa: E731
    compare_steps(built(first, other))


def test_einsum_of_symbolic_sizes_with_post_ops() -> None:
    def body(x: Any, other: Any) -> Any:
        y = relax.einsum([x, const(floats(7, 12))], subscripts="nmk,ok->nmo")
        return relax.nn.relu(relax.add(relax.add(y, const(floats(7))), other))

    steps = compare_steps(built(body, ("n", "m", 12), ("n", "m", 7)), sizes={"n": 2, "m": 3})
    assert steps == ["inner_product+bias+binary+eltwise"]
