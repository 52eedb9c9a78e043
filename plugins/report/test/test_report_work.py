# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost of operators by their rows, against the loops of their kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.dialect import all_ops
from relax_mlir.tools.opt.explanation import explanation
from relax_mlir.tools.run.input_sizes import evaluated
from relax_mlir_report.work import flops_of

SIZES = {"n": 3, "m": 7, "h": 9, "w": 10}
nn = relax.nn


def attributes(op: Any, **given: Any) -> Callable[..., Any]:
    return lambda *tensors: op(*tensors, **given)


CASES: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("add", relax.add, (("n", "m"), ("m",))),
    ("relu", nn.relu, (("n", "m"),)),
    ("clip", lambda x: relax.clip(x, 0.0, 1.0), (("n", "m"),)),
    ("permute_dims", relax.permute_dims, (("n", "m"),)),
    ("zeros_like", relax.zeros_like, (("n", "m"),)),
    ("matmul", relax.matmul, (("n", "m", 5), (5, 6))),
    ("matmul of a vector", relax.matmul, (("n", "m"), ("m",))),
    ("matmul of vectors", relax.matmul, (("m",), ("m",))),
    ("outer", relax.outer, (("n",), ("m",))),
    ("einsum of batches", attributes(relax.einsum, subscripts="bij,bjk->bik"), (("n", 3, "m"), ("n", "m", 5))),
    ("einsum without a sum", attributes(relax.einsum, subscripts="ij,j->ij"), (("n", "m"), ("m",))),
    ("einsum of one", attributes(relax.einsum, subscripts="ij->i"), (("n", "m"),)),
    ("einsum that moves", attributes(relax.einsum, subscripts="ij->ji"), (("n", "m"),)),
    ("einsum of others", attributes(relax.einsum, subscripts="...ij,jk->...ik"), ((2, 3, "n", 4), (4, "m"))),
    ("conv1d", nn.conv1d, (("n", 4, "w"), (6, 4, 3))),
    ("conv2d", attributes(nn.conv2d, strides=[2], padding=[1]), ((1, 4, "h", "w"), (6, 4, 3, 3))),
    ("conv2d in groups", attributes(nn.conv2d, groups=2), ((2, 4, 9, 9), (6, 2, 3, 2))),
    ("conv2d of other layouts", attributes(nn.conv2d, data_layout="NHWC", kernel_layout="HWIO"),
     ((1, "h", "w", 4), (3, 3, 4, 6))),
    ("max_pool2d", attributes(nn.max_pool2d, pool_size=[3, 2], strides=[2]), (("n", 4, "h", "w"),)),
    ("sum", attributes(relax.sum, axis=[1]), (("n", "m"),)),
    ("max", relax.max, (("n", "m"),)),
]  # fmt: skip


def built(build: Callable[..., Any], shapes: Any) -> tuple[rx.Module, Any]:
    """Return a module and its first result."""
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes]) as f:
        results = build(*f)
        results = results if isinstance(results, tuple) else (results,)
        f.returns(*results)
    return module, results[0]


def sized(shape: Any) -> tuple[int, ...]:
    return tuple(SIZES.get(size, size) for size in shape)


def counted(module: rx.Module, shapes: Any) -> int | None:
    """Count the operations in the loops that a target makes, for kernels with parameters of these shapes."""
    journal = rx.Journal()
    with journal.recording():
        rx.compile(module, cache=False, opt_level=0, jobs=1)
    return flops_of(list(journal.of("loops")), shapes)


@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize(("name", "build", "shapes"), CASES, ids=[name for name, *_ in CASES])
def test_counted_operations_equal_those_of_the_loops(name: str, build: Any, shapes: Any, is_symbolic: bool) -> None:
    fixed = [sized(shape) for shape in shapes]
    module, value = built(build, shapes if is_symbolic else fixed)
    work, same = rx.work_of(value.owner), built(build, fixed)[1]
    assert isinstance(work.flops, int) or is_symbolic
    of_symbols = tuple(evaluated(str(each), SIZES) for each in work)
    assert of_symbols == rx.work_of(same.owner), "symbols tell the same as numbers"
    assert counted(module, [*fixed, tuple(same.type.shape)]) == of_symbols[0]


@pytest.mark.parametrize(
    ("build", "shapes", "share"),
    [
        # Divisions of sums, square roots, a loop more for a small type's rounding.
        (attributes(nn.avg_pool2d, pool_size=[3]), ((1, 4, 9, 9),), 0.85),
        (attributes(nn.adaptive_avg_pool2d, output_size=[3]), ((1, 4, 9, 9),), 0.85),
        (attributes(relax.mean, axis=[1]), ((4, 9),), 0.85),
        (attributes(relax.variance, axis=[1]), ((4, 9),), 0.9),
        (attributes(relax.std, axis=[1]), ((4, 9),), 0.9),
        (nn.cross_entropy_with_logits, ((4, 5), (4, 5)), 0.9),
        (attributes(nn.layer_norm, axes=[1]), ((4, 9), (9,), (9,)), 0.9),
        (attributes(nn.rms_norm, axes=[1]), ((4, 9), (9,)), 0.85),
        (attributes(nn.group_norm, num_groups=2, channel_axis=1, axes=[2]), ((4, 8, 9), (8,), (8,)), 0.95),
        (attributes(nn.batch_norm, axis=1, training=False), ((4, 8, 9), *[(8,)] * 4), 0.95),
        (attributes(nn.batch_norm, axis=1, training=True), ((4, 8, 9), *[(8,)] * 4), 0.95),
        # The kernels also compute the border, and exp is a sequence of operations.
        (nn.conv2d_transpose, ((1, 4, 9, 9), (4, 6, 3, 3)), 0.65),
        (attributes(nn.softmax, axis=1), ((4, 9),), 0.15),
        (attributes(relax.image.resize2d, size=(6, 6)), ((1, 2, 4, 4),), 0.4),
    ],
)
def test_nearly_as_many_where_kernels_do_more(build: Any, shapes: Any, share: float) -> None:
    module, value = built(build, shapes)
    loops = counted(module, ())
    assert loops is not None and share * loops <= rx.work_of(value.owner).flops < loops


def test_a_transposed_convolution_costs_what_the_convolution_does() -> None:
    convolution = built(attributes(nn.conv2d, strides=[2], groups=2), (("n", 4, 9, 9), (6, 2, 3, 3)))[1].owner
    transposed = built(attributes(nn.conv2d_transpose, strides=[2], groups=2), (("n", 6, 4, 4), (6, 2, 3, 3)))[1].owner
    assert rx.work_of(convolution).flops == rx.work_of(transposed).flops == rx.sym("n") * (2 * 96 * 2 * 9)


@pytest.mark.parametrize(
    ("build", "shapes", "flops"),
    [
        (attributes(relax.einsum, subscripts="ij,jk,kl->il"), ((2, 3), (3, 4), (4, 5)), 2 * 24 + 2 * 40),
        (attributes(relax.einsum, subscripts="ij,jk,ik->i"), ((2, 3), (3, 4), (2, 4)), 2 * 24 + 2 * 8),
        (attributes(relax.einsum, subscripts="ij,ik,k,j->i"), ((2, 3), (2, 4), (4,), (3,)), 24 + 2 * 24 + 2 * 6),
        # Two products, and a softmax of the scores.
        (nn.attention, ((2, 3, 4, 8), (2, 5, 4, 8), (2, 5, 4, 8)), 2 * 2 * 2 * 4 * 3 * 5 * 8 + 5 * 2 * 4 * 3 * 5),
        (attributes(relax.image.affine_grid, size=(4, 5)), ((1, 2, 3),), 2 * 2 * (1 * 2 * 4 * 5)),
        (lambda x: relax.nn.nll_loss(x, relax.const([0, 1, 2], "int64")), ((3, 4),), 2 * 3),
        (attributes(relax.image.resize2d, size=(6, 5), method="nearest_neighbor"), ((1, 2, 4, 4),), 0),
        (lambda x: nn.dropout(x)[0], ((2, 3),), 0),
    ],
)
def test_some_in_numbers(build: Any, shapes: Any, flops: int) -> None:
    assert rx.work_of(built(build, shapes)[1].owner).flops == flops


def test_data_dependent_work_is_unknown() -> None:
    assert rx.work_of(built(relax.sort, ((4,),))[1].owner) == (None, 32)
    assert rx.work_of(built(relax.nonzero, ((4, 4),))[1].owner).bytes is None


def test_views_and_shapes_cost_nothing() -> None:
    assert rx.work_of(built(relax.shape_of, ((4, 5),))[1].owner) == (0, 0)
    assert rx.work_of(built(relax.flatten, ((4, 5),))[1].owner) == (0, 0)


def test_narrow_types_count_as_one_byte() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((3,), "bool"), rx.tensor((3,), "float16")]) as f:
        value = relax.where(f.args[0], f.args[1], f.args[1])
        f.returns(value)
    assert rx.work_of(value.owner) == (3, 3 + 6 * 3)


def test_rows_of_another_package() -> None:
    own = rx.Dialect("costs", doc="Of this test.")
    like = {"infer": lambda call: call.x, "doc": "Of this test."}
    own.op("silent", "x", **like)
    own.op("each", "x", pattern="broadcast", **like)
    own.op("moved", "x", pattern="injective", **like)
    own.op("seven", "x", pattern="injective", flops=7, **like)
    own.op("operand", "x", flops=(3, "x"), **like)
    own.op("own", "x", flops=lambda call, count: count * call.x.shape[0], **like)
    flops = [rx.work_of(built(own.ops[name], ((4, 5),))[1].owner).flops for name in own.ops]
    assert flops == [None, 20, 0, 140, 60, 80]


@pytest.mark.slow
def test_each_is_explained() -> None:
    for row in all_ops():
        if row.dialect.name == "relax":
            assert ("operations on numbers: " in explanation(row.full_name)) == (row.flops is not None)
    assert "operations on numbers: two for each tap and channel summed" in explanation("relax.nn.conv2d")
    assert "operations on numbers: 5 for each element of its result" in explanation("relax.nn.gelu")
    assert "operations on numbers: 1 for each element of 'x'" in explanation("relax.sum")
    assert "operations on numbers: none" in explanation("relax.permute_dims")
