# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that move elements, or reduce them; shapes and constants."""

from __future__ import annotations

from typing import Any

import numpy
from export_row import R, Row, b, call, f, i, shape_of

import relax_mlir as rx


def _reshaping() -> list[Row]:
    return [
        Row("reshape", lambda x: R.reshape(x, (shape_of(x)[0], 4, 3)), (f(2, 12),)),
        Row("reshape all", lambda x: R.reshape(x, (shape_of(x)[1], shape_of(x)[0])), (f(2, 3),)),
        Row("reshape joined", lambda x: R.reshape(x, (shape_of(x)[0] * shape_of(x)[1], 3)), (f(2, 5, 3),)),
        Row("reshape zero", lambda x: R.reshape(x, (0, 7)), (f(0, 3),), True),
        Row("reshape given", lambda x, s: R.reshape(x, R.tensor_to_shape(s)), (f(2, 6), numpy.array([3, 4])), True),
        Row("flatten", call("flatten"), (f(2, 3),)),
        Row("nn.batch_flatten", call("nn.batch_flatten"), (f(2, 3, 4),)),
        Row("expand_dims", call("expand_dims", axis=[0, -1]), (f(2, 3),)),
        Row("squeeze", call("squeeze", axis=[-1]), (f(2, 3, 1),)),
        Row("squeeze all", call("squeeze"), (f(1, 3, 1),), True),
        Row("permute_dims", call("permute_dims", axes=[1, -1, 0]), (f(2, 3, 4),)),
        Row("permute_dims reversed", call("permute_dims"), (f(2, 3, 4),)),
        Row("broadcast_to", lambda x: R.broadcast_to(x, (4, 2, 3)), (f(2, 1),), True),
        Row("collapse_sum_to", lambda x: R.collapse_sum_to(x, (3, 1)), (f(2, 3, 4),), True),
        Row("collapse_sum_like", call("collapse_sum_like"), (f(2, 3), f(3))),
        Row("repeat", call("repeat", repeats=3, axis=1), (f(2, 3),)),
        Row("repeat flat", call("repeat", repeats=2), (f(2, 3),)),
        Row("tile", call("tile", repeats=[2, 1, 3]), (f(2, 3),)),
        Row("tile less", call("tile", repeats=[2]), (f(2, 3),)),
        Row("flip", call("flip", axis=-1), (f(2, 3),)),
        Row("concat", lambda x, y: R.concat([x, y], axis=-1), (f(2, 3), f(2, 4))),
        Row("concat one", lambda x: R.concat([x], axis=0), (f(2, 3),)),
        Row("stack", lambda x, y: R.stack([x, y], axis=-1), (f(2, 3), f(2, 3))),
        Row("split sections", lambda x: tuple(R.split(x, 3, axis=1)), (f(2, 7),)),
        Row("split places", lambda x: tuple(R.split(x, [1, 4], axis=-1)), (f(2, 7),)),
        Row("split one", lambda x: R.split(x, 1), (f(4, 2),)),
        Row("meshgrid", lambda x, y: tuple(R.meshgrid([x, y])), (f(2), f(3))),
        Row("meshgrid xy", lambda x, y: tuple(R.meshgrid([x, y], indexing="xy")), (f(2), f(3))),
        Row("meshgrid three", lambda x, y, z: tuple(R.meshgrid([x, y, z], indexing="xy")), (f(2), f(3), f(4))),
        Row("nn.pixel_shuffle", call("nn.pixel_shuffle", upscale_factor=2), (f(2, 8, 3, 4),)),
        *(
            Row(f"nn.pad {mode}", call("nn.pad", pad_width=[0, 0, 1, 2], pad_mode=mode, pad_value=1.5), (f(2, 4),))
            for mode in ("constant", "reflect", "replicate", "circular")
        ),
        Row("nn.pad less", call("nn.pad", pad_width=[1, -1, -1, 2]), (i(3, 4, dtype="int32"),)),
    ]


def _indexing() -> list[Row]:
    rows = [
        Row("strided_slice", call("strided_slice", axes=[1, 0], begin=[-3, 0], end=[9, 5], strides=[1, 2]), (f(6, 5),)),
        Row(
            "strided_slice back",
            call("strided_slice", axes=[-1], begin=[3], end=[-(2**63 - 1)], strides=[-2]),
            (f(2, 5),),
        ),
        Row("strided_slice size", lambda x: R.strided_slice(x, [0], [0], [shape_of(x)[0] - 1]), (f(6, 5),)),
        Row("strided_slice nothing", lambda x: R.strided_slice(x, [], [], []), (f(2),)),
        Row(
            "dynamic_strided_slice",
            lambda x, a, e, s: R.match_cast(R.dynamic_strided_slice(x, a, e, s), rx.tensor(("p", "q"))),
            (f(6, 5), numpy.array([1, 0]), numpy.array([5, 4]), numpy.array([2, 3])),
            True,
        ),
        Row("gather_elements", call("gather_elements", axis=-1), (f(2, 5), i(2, 3, low=0, high=4))),
        Row("gather_nd", call("gather_nd"), (f(4, 3, 2), i(5, 2, low=0, high=2)), True),
        Row("gather_nd batch", call("gather_nd", batch_dims=1), (f(2, 3, 4), i(2, 1, low=0, high=2)), True),
        Row(
            "index_tensor",
            lambda x, p, q: R.index_tensor(x, [p, q]),
            (f(4, 3, 2), i(5, 1, low=0, high=3), i(2, low=0, high=2)),
        ),
        Row(
            "index_put",
            lambda x, p, q, v: R.index_put(x, [p, q], v),
            (f(4, 3), i(5, low=0, high=3), i(5, low=0, high=2), f(1)),
            True,
        ),
        Row(
            "index_put add",
            lambda x, p, v: R.index_put(x, [p], v, accumulate=True),
            (f(4, 3), i(6, low=0, high=3), f(6, 3)),
        ),
        Row(
            "reverse_sequence", call("reverse_sequence", seq_axis=0, batch_axis=1), (f(4, 3, 2), numpy.array([1, 4, 2]))
        ),
        Row(
            "reverse_sequence far",
            call("reverse_sequence", seq_axis=2, batch_axis=0),
            (f(3, 2, 4), numpy.array([1, 4, 2], "int32")),
        ),
        Row("slice_scatter", lambda x, y: R.slice_scatter(x, y, 1, 6, 2, axis=1), (f(2, 7), f(2, 3)), True),
        Row("nonzero", lambda x: R.match_cast(R.nonzero(x), rx.tensor((2, "k"), "int64")), (i(3, 4, low=0, high=2),)),
        Row("bucketize", call("bucketize"), (f(2, 3), numpy.sort(f(5)))),
        Row("bucketize right", call("bucketize", out_int32=True, right=True), (i(7), numpy.arange(-3, 4))),
        Row("bucketize mixed", call("bucketize"), (i(7, dtype="int32"), numpy.sort(f(4)))),
        Row("scatter_nd", call("scatter_nd", reduction="add"), (f(4, 3), i(6, 1, low=0, high=3), f(6, 3)), True),
    ]
    for reduction in ("update", "add", "mul", "max", "min"):
        given = f(3, 5), numpy.array([[0, 3, 1]]), f(1, 3)
        rows.append(
            Row(f"scatter_elements {reduction}", call("scatter_elements", axis=1, reduction=reduction), given, True)
        )
    places = numpy.array([[0, 2], [-1, 1]])
    outside = numpy.array([[0, 7], [-5, 1]], "int32")
    rows += [
        Row("take", call("take", axis=1), (f(4, 3), places)),
        Row("take flat", call("take"), (f(4, 3), places)),
        Row("take scalar", lambda x: R.take(x, 1, axis=-1), (f(4, 3),)),
    ]
    for mode in ("clip", "wrap", "nan"):
        rows.append(Row(f"take {mode}", call("take", axis=1, mode=mode), (f(2, 3, 4), outside)))
        rows.append(Row(f"take {mode} flat", call("take", mode=mode), (f(4, 3), outside)))
    return rows


def _reductions() -> list[Row]:
    rows = []
    for name in ("sum", "prod", "max", "min", "mean", "std", "variance"):
        rows.append(Row(name, call(name, axis=[0, -1]), (f(2, 3, 4),)))
        rows.append(Row(f"{name} all", call(name, keepdims=True), (f(2, 3),)))
        rows.append(Row(f"{name} none", call(name, axis=[]), (f(2, 3),)))
    rows.append(Row("mean images", call("mean", axis=[3, -2], keepdims=True), (f(2, 3, 4, 5),)))
    for name in ("sum", "prod", "max", "min"):
        rows.append(Row(f"{name} bool", call(name, axis=[1]), (b(4, 3),)))
        rows.append(Row(f"{name} i8", call(name, axis=[1]), (i(4, 3, dtype="int8"),)))
        rows.append(Row(f"{name} i64", call(name), (i(2, 3),)))
    for name in ("argmax", "argmin"):
        rows.append(Row(name, call(name, axis=-1, keepdims=True), (f(2, 5),)))
        rows.append(Row(f"{name} all", call(name, keepdims=True), (f(2, 5),)))
        rows.append(Row(f"{name} i16", call(name, axis=0), (i(9, 2, dtype="int16"),)))
    for name in ("cumsum", "cumprod"):
        rows.append(Row(name, call(name, axis=1), (f(2, 5, 3),)))
        rows.append(Row(f"{name} flat", call(name, exclusive=True), (f(2, 3),)))
        rows.append(Row(f"{name} bool", call(name, axis=0, dtype="int32"), (b(4, 3),)))
    rows += [
        Row("sort", call("sort", axis=0), (f(5, 2),)),
        Row("sort down i8", call("sort", descending=True), (i(2, 9, dtype="int8"),)),
        Row("sort bool", call("sort"), (b(9),)),
        Row("sort u64", call("sort"), (numpy.array([3, 2**63 + 1, 2**64 - 1, 0], "uint64"),)),
        Row("argsort", call("argsort", axis=0, dtype="int64"), (f(5, 2),)),
        Row("argsort f32", call("argsort", descending=True, dtype="float32"), (f(7),)),
        Row("topk", lambda x: tuple(R.topk(x, 2, axis=0)), (f(5, 2),)),
        Row("topk all", lambda x: tuple(R.topk(x, 0, largest=False, dtype="int64")), (f(2, 5),)),
        Row("topk values", lambda x: R.topk(x, 2, ret_type="values"), (f(5),)),
        Row("topk indices", lambda x: R.topk(x, 2, ret_type="indices"), (f(5),)),
        Row("median", lambda x: tuple(R.median(x, axis=[1])), (f(2, 4),)),
        Row("median kept", lambda x: tuple(R.median(x, axis=[0], keepdims=True)), (f(5, 2),)),
        Row(
            "unique",
            lambda x: tuple(
                R.match_cast(each, rx.tensor(("k",), "int64")) for each in R.unique(x, True, True, False, True)
            ),
            (i(9),),
            True,
        ),
        Row(
            "unique axis",
            lambda x: R.match_cast(R.unique(x, axis=0), rx.tensor(("k", 2), "int64")),
            (i(9, 2, low=0, high=2),),
            True,
        ),
    ]
    return rows


def _shapes() -> list[Row]:
    return [
        Row("shape_of", lambda x: R.shape_to_tensor(R.shape_of(x)), (f(2, 3),)),
        Row("size", call("size"), (f(2, 3),)),
        Row("match_cast", lambda x: R.reshape(R.match_cast(x, rx.tensor(("p", "q"))), ("q", "p")), (f(2, 3),)),
        Row("tensor_to_shape", lambda x, s: R.shape_to_tensor(R.tensor_to_shape(s)), (f(2), numpy.array([2, 3]))),
        Row("prim_value", lambda x: R.add(x, R.scalar_to_tensor(_half(x))), (i(5),)),
        Row("constant u8", lambda x: R.add(x, R.const([1, 2, 255], "uint8")), (i(3, low=0, dtype="uint8"),), True),
        Row(
            "constant bf16",
            lambda x: R.add(x, R.astype(R.const([1, 2.5, numpy.inf], "bfloat16"), "float32")),
            (f(3),),
            True,
        ),
        Row(
            "constant bf16 filled",
            lambda x: R.add(x, R.astype(R.const(numpy.full(900, 1.5), "bfloat16"), "float32")),
            (f(900),),
            True,
        ),
        Row(
            "constant f8",
            lambda x: R.add(x, R.astype(R.const([1, -2, 0.5], "float8_e4m3fn"), "float32")),
            (f(3),),
            True,
        ),
        Row(
            "constant i4",
            lambda x: R.add(x, R.astype(R.const([1, -8, 7], "int4"), "int32")),
            (i(3, dtype="int32"),),
            True,
        ),
        Row(
            "constant i4 large",
            lambda x: R.add(x, R.astype(R.const(numpy.arange(3000) % 16 - 8, "int4"), "int32")),
            (i(3000, dtype="int32"),),
            True,
        ),
        Row("constant large", lambda x: R.add(x, R.const(numpy.arange(900, dtype="float32"))), (f(900),), True),
    ]


def _half(value: Any) -> Any:
    size = shape_of(value)[0]
    return (size * 3 + 1) // 2 if isinstance(size, int) else f"({size}*3 + 1)//2"


ROWS = [*_reshaping(), *_indexing(), *_reductions(), *_shapes()]
