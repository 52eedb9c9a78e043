# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One small case for each operator that has a rule for cuda: arrays, and the operator on them.

Where sizes are dynamic, the first size of the first array is a symbol. So is the first size of each other array that is
equal to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

import relax_mlir as rx
from relax_mlir import relax

_random = numpy.random.default_rng(20261123)


class Case(NamedTuple):
    """Case. The first word of its name is the operator."""

    arrays: tuple[Any, ...]
    build: Callable[..., Any]
    #: Whether sizes may be open.
    is_open: bool = True


def floats(*shape: int) -> Any:
    return _random.normal(size=shape).astype("float32")


def below(limit: int, *shape: int, dtype: str = "int64") -> Any:
    return _random.integers(0, limit, shape).astype(dtype)


def case(build: Callable[..., Any], *arrays: Any, is_open: bool = True) -> Case:
    return Case(tuple(map(numpy.asarray, arrays)), build, is_open)


def known(build: Callable[..., Any], *arrays: Any) -> Case:
    """Return a case with sizes that the operator has to know."""
    return case(build, *arrays, is_open=False)


X, ROWS, BOOLS = floats(3, 5), floats(2, 3, 4), _random.random((3, 5)) < 0.5
LINE, IMAGE, CUBE = floats(2, 4, 9), floats(1, 4, 7, 6), floats(1, 2, 4, 5, 4)
SQUARE = (numpy.eye(4) * 9 + floats(2, 4, 4)).astype("float32")
INTS, COUNTS = below(40, 3, 5, dtype="int32") - 20, below(7, 3, 5, dtype="int32") + 1
BOXES = numpy.array([[0, 0, 2, 2], [0, 0, 2, 2.1], [3, 3, 4, 4], [0.1, 0, 2, 2]], "float32")
REGIONS = numpy.array([[0, 0.5, 0.5, 5, 4], [0, 1, 2, 3, 6], [0, 0, 0, 6, 5]], "float32")
#: [class, score, corners] of each box.
SCORED = numpy.concatenate([[[0], [1], [0], [0]], [[0.9], [0.8], [0.7], [0.6]], BOXES], 1).astype("float32")[None]

_ONE = "acos asin atan atanh abs asinh ceil cos cosh erf exp floor isfinite isinf isnan log negative round rsqrt"
_ONE += " sigmoid sign sin sinh sqrt square tan tanh trunc"
_TWO = "add subtract multiply divide maximum minimum floor_divide floor_mod mod power atan2 log_add_exp"
_TWO += " equal not_equal less less_equal greater greater_equal"
_BITS = "bitwise_and bitwise_or bitwise_xor left_shift right_shift"
_LOGICAL = "logical_and logical_or logical_xor"
_SUMS = "sum mean prod max min variance std argmax argmin"
_NN = "relu gelu gelu_tanh selu silu softplus leakyrelu"

ELEMENTWISE: dict[str, Case] = {
    **{name: case(getattr(relax, name), numpy.abs(X) / 4 + 0.1) for name in _ONE.split()},
    "acosh": case(relax.acosh, numpy.abs(X) + 1.5),
    **{name: case(getattr(relax, name), numpy.abs(X) + 0.1, numpy.abs(X[::-1]) + 0.2) for name in _TWO.split()},
    **{name: case(getattr(relax, name), COUNTS * 3, COUNTS) for name in _BITS.split()},
    "bitwise_not": case(relax.bitwise_not, INTS),
    **{name: case(getattr(relax, name), BOOLS, X > 0) for name in _LOGICAL.split()},
    "logical_not": case(relax.logical_not, BOOLS),
    "astype": case(lambda x: relax.astype(x, "int32"), X * 10),
    "bitcast": case(lambda x: relax.bitcast(x, "int32"), X),
    "clip": case(lambda x: relax.clip(x, -0.5, 0.5), X),
    "ewise_fma": case(relax.ewise_fma, X, X, X),
    "where": case(relax.where, BOOLS, X, -X),
    **{f"nn.{name}": case(getattr(relax.nn, name), X) for name in _NN.split()},
    "nn.prelu": case(lambda x, a: relax.nn.prelu(x, a, axis=1), X, floats(5)),
    "nn.dropout": case(lambda x: relax.nn.dropout(x)[0], X),
    "grad.no_grad": case(relax.grad.no_grad, X),
    "grad.start_checkpoint": case(relax.grad.start_checkpoint, X),
    "grad.end_checkpoint": case(relax.grad.end_checkpoint, X),
    "quantize": case(lambda x, s, z: relax.quantize(x, s, z, 0), X, numpy.float32(0.1), numpy.int8(3)),
    "dequantize": case(
        lambda x, s, z: relax.dequantize(x, s, z, 0), INTS.astype("int8"), numpy.float32(0.1), numpy.int8(3)
    ),
    "requantize": case(
        lambda x, m, s, z: relax.requantize(x, m, s, z, 0, form="q31", rounding="half_up"),
        INTS.astype("int32") * 1000,
        numpy.int32(2**30 + 12345),
        numpy.int32(6),
        numpy.int8(3),
    ),
}

SHAPES: dict[str, Case] = {
    "broadcast_to": known(lambda x: relax.broadcast_to(x, (3, 5)), X[:1]),
    "concat": case(lambda x, y: relax.concat([x, y], 1), X, X),
    "expand_dims": case(lambda x: relax.expand_dims(x, 1), X),
    "flatten": case(relax.flatten, ROWS),
    "nn.batch_flatten": case(relax.nn.batch_flatten, ROWS),
    "flip": case(lambda x: relax.flip(x, 0), X),
    "layout_transform": known(lambda x: relax.layout_transform(x, lambda i, j: (j, i // 2, i % 2)), floats(4, 3)),
    "meshgrid": case(lambda x, y: relax.meshgrid([x, y]), floats(3), floats(4)),
    "nn.pad": case(lambda x: relax.nn.pad(x, (0, 1, 2, 0), "reflect"), X),
    "nn.pixel_shuffle": case(lambda x: relax.nn.pixel_shuffle(x, 2), IMAGE),
    "permute_dims": case(lambda x: relax.permute_dims(x, (2, 0, 1)), ROWS),
    "repeat": case(lambda x: relax.repeat(x, 2, 1), X),
    "reshape": known(lambda x: relax.reshape(x, (5, 3)), X),
    "reverse_sequence": case(relax.reverse_sequence, X, numpy.array([2, 5, 1])),
    "slice_scatter": known(lambda x, y: relax.slice_scatter(x, y, 0, 4, 2, 1), X, floats(3, 2)),
    "split": case(lambda x: relax.split(x, 2, 2), ROWS),
    "squeeze": case(lambda x: relax.squeeze(x, 1), floats(3, 1, 2)),
    "stack": case(lambda x, y: relax.stack([x, y], 1), X, X),
    "strided_slice": case(lambda x: relax.strided_slice(x, [1], [3], [0], [-1]), X),
    "dynamic_strided_slice": case(
        relax.dynamic_strided_slice, X, numpy.array([0, 1]), numpy.array([3, 5]), numpy.array([2, 2]), is_open=False
    ),
    "tile": case(lambda x: relax.tile(x, (2, 1)), X),
    "tril": case(relax.tril, X),
    "triu": case(relax.triu, X),
    "size": case(relax.size, X),
    "arange": known(lambda x: relax.add(x, relax.arange(5, dtype="float32")), X),
    "eye": known(lambda x: relax.add(x, relax.eye(3, 5)), X),
    "eye_like": case(relax.eye_like, X),
    "full": known(lambda x: relax.full((2, 3), x), numpy.float32(3)),
    "full_like": case(relax.full_like, X, numpy.float32(3)),
    "ones": known(lambda x: relax.add(x, relax.ones((3, 5), "float32")), X),
    "ones_like": case(relax.ones_like, X),
    "zeros": known(lambda x: relax.add(x, relax.zeros((3, 5), "float32")), X),
    "zeros_like": case(relax.zeros_like, X),
    "hamming_window": known(lambda x: relax.add(x, relax.hamming_window(5, True, 0.54, 0.46, "float32")), X),
    "scalar_to_tensor": known(lambda x: relax.add(x, relax.scalar_to_tensor(relax.prim_value(2))), below(9, 3)),
    "one_hot": case(lambda i: relax.one_hot(i, 1.0, 0.0, 4), below(4, 5)),
}

INDEXING: dict[str, Case] = {
    "take": case(lambda x, i: relax.take(x, i, 0), X, numpy.array([2, 0, 1, -1])),
    "gather_elements": case(lambda x, i: relax.gather_elements(x, i, 1), X, below(5, 3, 2)),
    "gather_nd": case(relax.gather_nd, X, numpy.array([[0, 1], [2, 3]])),
    "index_tensor": case(lambda x, i, j: relax.index_tensor(x, [i, j]), X, below(3, 4), below(5, 4)),
    "index_put": case(
        lambda x, i, j, v: relax.index_put(x, [i, j], values=v), X, numpy.array([0, 2]), numpy.array([1, 4]), floats(2)
    ),
    "scatter_elements": case(
        lambda x, i, u: relax.scatter_elements(x, i, u, 1), X, numpy.array([[0, 2]] * 3), floats(3, 2)
    ),
    "scatter_elements add": case(
        lambda x, i, u: relax.scatter_elements(x, i, u, 1, "add"), X, numpy.array([[1, 1]] * 3), floats(3, 2)
    ),
    "scatter_nd": case(relax.scatter_nd, X, numpy.array([[0, 1], [2, 3]]), floats(2)),
    "append_pages": case(
        relax.append_pages, floats(2, 4, 1, 3), floats(5, 1, 3), numpy.array([7, 0, -1, 3, 5], "int32")
    ),
    "append_pages_quantized": known(
        relax.append_pages_quantized,
        below(9, 2, 4, 1, 3, dtype="int8"),
        floats(2, 4, 1),
        floats(3, 1, 3),
        numpy.array([7, -1, 3], "int32"),
    ),
    "bucketize": case(relax.bucketize, X, numpy.array([-1, 0, 0.5, 1], "float32")),
    "nonzero": case(relax.nonzero, numpy.maximum(X, 0)),
    "unique": case(relax.unique, below(4, 9)),
    "sort": case(lambda x: relax.sort(x, 1), X),
    "argsort": case(lambda x: relax.argsort(x, 0), X),
    "topk": case(lambda x: relax.topk(x, 2, 1), X),
    "multinomial_from_uniform": case(
        relax.multinomial_from_uniform,
        numpy.full((2, 4), 0.25, "float32"),
        numpy.array([[0.1], [0.6], [0.9]], "float32"),
        numpy.array([[0], [1], [1]]),
    ),
}

SUMS: dict[str, Case] = {
    **{name: case(lambda x, name=name: getattr(relax, name)(x, 1), ROWS) for name in _SUMS.split()},
    "sum of all": case(relax.sum, ROWS),
    "median": case(lambda x: relax.median(x, 1), X),
    "cumsum": case(lambda x: relax.cumsum(x, 1), X),
    "cumprod": case(lambda x: relax.cumprod(x, 0), X),
    "collapse_sum_like": known(relax.collapse_sum_like, ROWS, floats(3, 1)),
    "collapse_sum_to": known(lambda x: relax.collapse_sum_to(x, (3, 1)), ROWS),
    "nn.softmax": case(lambda x: relax.nn.softmax(x, 1), ROWS),
    "nn.log_softmax": case(relax.nn.log_softmax, ROWS),
    "nn.layer_norm": case(lambda x, g, b: relax.nn.layer_norm(x, g, b, [-1]), ROWS, floats(4), floats(4)),
    "nn.rms_norm": case(relax.nn.rms_norm, ROWS, floats(4)),
    "nn.group_norm": case(lambda x, g, b: relax.nn.group_norm(x, g, b, 2, 1, [2, 3]), IMAGE, floats(4), floats(4)),
    "nn.instance_norm": case(lambda x, g, b: relax.nn.instance_norm(x, g, b, 1, [2, 3]), IMAGE, floats(4), floats(4)),
    "nn.batch_norm": case(
        lambda x, *rest: relax.nn.batch_norm(x, *rest, axis=1, training=False)[0],
        IMAGE, floats(4), floats(4), floats(4), numpy.abs(floats(4)) + 0.1,
    ),
    "nn.cross_entropy_with_logits": case(relax.nn.cross_entropy_with_logits, X, numpy.abs(X)),
    "nn.nll_loss": case(relax.nn.nll_loss, X, below(5, 3), numpy.abs(floats(5)) + 0.1),
}  # fmt: skip

PRODUCTS: dict[str, Case] = {
    "matmul": case(relax.matmul, ROWS, floats(4, 5)),
    "matmul of bytes": case(
        lambda x, y: relax.matmul(x, y, "int32"), below(9, 3, 8, dtype="int8"), below(9, 8, 5, dtype="int8")
    ),
    "einsum": case(lambda x, y: relax.einsum([x, y], subscripts="bij,bkj->bik"), ROWS, floats(2, 5, 4)),
    "outer": case(relax.outer, floats(3), floats(4)),
    "matmul_nbits": known(
        lambda x, c, s: relax.matmul_nbits(x, c, s, block_size=16),
        floats(3, 32),
        below(256, 5, 2, 8, dtype="uint8"),
        floats(5, 2),
    ),
    "matmul_nbits of rounded rows": known(
        lambda x, c, s: relax.matmul_nbits(x, c, s, block_size=16, activation_bits=8),
        floats(3, 30),
        below(256, 5, 2, 8, dtype="uint8"),
        floats(5, 2),
    ),
    "matmul_nbits of two levels": known(
        lambda x, c, s, o, f: relax.matmul_nbits(x, c, s, None, None, o, f, f, bits=6, block_size=16),
        floats(3, 60),
        below(256, 5, 4, 12, dtype="uint8"),
        below(64, 5, 4, dtype="int8") - numpy.int8(32),
        below(64, 5, 4, dtype="uint8"),
        floats(5, 2),
    ),
    "nn.attention": case(relax.nn.attention, *(floats(2, 3, 2, 4) for _ in range(3))),
    "nn.attention_bias": case(relax.nn.attention_bias, *(floats(2, 3, 2, 4) for _ in range(3)), floats(2, 2, 3, 3)),
    "nn.attention_cached": known(
        lambda q, k, v: relax.nn.attention_cached(q, k, v, length=relax.prim_value(3)),
        floats(2, 2, 2, 4),
        floats(2, 2, 5, 4),
        floats(2, 2, 5, 4),
    ),
    "nn.attention_var_len": known(
        relax.nn.attention_var_len,
        *(floats(1, 7, 2, 4) for _ in range(3)),
        numpy.array([0, 3, 7], "int32"),
        numpy.array([4], "int32"),
    ),
    "paged_attention": known(
        relax.paged_attention,
        floats(3, 4, 5),
        *(floats(4, 2, 2, 5) for _ in range(2)),
        numpy.array([[3, 0], [1, 2]], "int32"),
        numpy.array([0, 0, 1], "int32"),
        numpy.array([2, 3, 4], "int32"),
    ),
    "linalg.cholesky": case(relax.linalg.cholesky, SQUARE),
    "linalg.lu_factor": case(relax.linalg.lu_factor, SQUARE),
    "linalg.qr_factor": case(relax.linalg.qr_factor, floats(2, 4, 3)),
    "linalg.multiply_q": case(relax.linalg.multiply_q, SQUARE / 9, floats(2, 4), floats(2, 4, 3)),
    "linalg.solve_triangular": case(relax.linalg.solve_triangular, SQUARE, floats(2, 4, 3)),
    "nn.conv1d": case(lambda x, w: relax.nn.conv1d(x, w, padding=1), LINE, floats(3, 4, 3)),
    "nn.conv2d": case(lambda x, w: relax.nn.conv2d(x, w, (2, 1), (1, 0, 2, 1)), IMAGE, floats(6, 4, 3, 3)),
    "nn.conv2d depthwise": case(lambda x, w: relax.nn.conv2d(x, w, groups=4), IMAGE, floats(4, 1, 3, 3)),
    "nn.conv3d": case(relax.nn.conv3d, CUBE, floats(3, 2, 2, 2, 2)),
    "nn.conv1d_transpose": case(lambda x, w: relax.nn.conv1d_transpose(x, w, 2), LINE, floats(4, 3, 3)),
    "nn.conv2d_transpose": case(lambda x, w: relax.nn.conv2d_transpose(x, w, (2, 2)), IMAGE, floats(4, 2, 3, 3)),
    "nn.conv3d_transpose": case(relax.nn.conv3d_transpose, CUBE, floats(2, 2, 2, 2, 2)),
}


def pooling(kind: str, rank: int) -> Callable[..., Any]:
    pool = getattr(relax.nn, f"{kind}_pool{rank}d")
    return lambda x: pool(x, [2] * rank, [2] * rank, [1] * 2 * rank)


WINDOWS: dict[str, Case] = {
    **{
        f"nn.{kind}_pool{rank}d": case(pooling(kind, rank), x)
        for rank, x in ((1, LINE), (2, IMAGE), (3, CUBE))
        for kind in ("max", "avg")
    },
    **{
        f"nn.adaptive_avg_pool{rank}d": case(
            lambda x, rank=rank: getattr(relax.nn, f"adaptive_avg_pool{rank}d")(x, [2] * rank), x
        )
        for rank, x in ((1, LINE), (2, IMAGE), (3, CUBE))
    },
    "image.resize2d": case(lambda x: relax.image.resize2d(x, (5, 12)), IMAGE),
    "image.resize2d cubic": case(lambda x: relax.image.resize2d(x, (5, 12), method="cubic"), IMAGE),
    "image.resize3d": case(lambda x: relax.image.resize3d(x, (3, 7, 6)), CUBE),
    "image.grid_sample": case(relax.image.grid_sample, IMAGE, numpy.clip(floats(1, 2, 3, 3), -1.2, 1.2)),
    "image.affine_grid": case(lambda x: relax.image.affine_grid(x, (3, 4)), floats(2, 2, 3)),
    "vision.roi_align": case(lambda x, r: relax.vision.roi_align(x, r, (2, 2), 1.0, 2), IMAGE, REGIONS),
    "vision.roi_pool": case(lambda x, r: relax.vision.roi_pool(x, r, (2, 2), 1.0), IMAGE, REGIONS),
    "vision.all_class_non_max_suppression": case(
        relax.vision.all_class_non_max_suppression,
        BOXES[None], numpy.array([[[0.9, 0.8, 0.7, 0.6]]], "float32"),
        numpy.array(3), numpy.array([0.5], "float32"), numpy.array([0.1], "float32"),
    ),
    "vision.get_valid_counts": case(lambda x: relax.vision.get_valid_counts(x, 0.65), SCORED),
    "vision.non_max_suppression": known(
        lambda x, c, i: relax.vision.non_max_suppression(x, c, i, return_indices=False),
        SCORED, numpy.array([4], "int32"), numpy.arange(4, dtype="int32")[None],
    ),
    "vision.multibox_transform_loc": known(
        relax.vision.multibox_transform_loc, floats(1, 3, 4), floats(1, 16) / 4, BOXES[None] / 4
    ),
}  # fmt: skip

FAMILIES = {
    "elementwise": ELEMENTWISE,
    "shapes": SHAPES,
    "indexing": INDEXING,
    "sums": SUMS,
    "products": PRODUCTS,
    "windows": WINDOWS,
}


def cases_of(family: str, is_open: bool) -> dict[str, Case]:
    """Return the cases to compile. With open sizes these are the cases that allow them."""
    family_cases = FAMILIES[family].items()
    return {name: each for name, each in family_cases if each.is_open or not is_open}


def module_of(cases: dict[str, Case], is_open: bool) -> rx.Module:
    """Return a module with a function for each case."""
    module = rx.Module()
    for name, each in cases.items():
        first = each.arrays[0].shape[:1]
        infos = []
        for array in each.arrays:
            opened = is_open and array.ndim > 0 and array.shape[:1] == first
            infos.append(rx.tensor(("n", *array.shape[1:]) if opened else array.shape, array.dtype.name))
        with module.function(function_name(name), infos) as f:
            made = each.build(*f)
            f.returns(*(made if isinstance(made, (tuple, list)) or hasattr(made, "__len__") else (made,)))
    return module


def function_name(name: str) -> str:
    return name.replace(".", "_").replace(" ", "_")
