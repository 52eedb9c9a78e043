# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products, operators of neural networks and of images, quantization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from export_row import R, Row, call, f, i, positive, shape_of
from relax_mlir.support.requantization import FORMS, ROUNDINGS

import relax_mlir as rx


def _products() -> list[Row]:
    return [
        Row("matmul", call("matmul"), (f(5, 2, 3), f(3, 4))),
        Row("matmul vector", call("matmul"), (f(3), f(2, 3, 4))),
        Row("matmul i8", call("matmul", out_dtype="int32"), (i(2, 3, dtype="int8"), i(3, 4, dtype="int8"))),
        Row(
            "matmul f16",
            call("matmul", out_dtype="float32"),
            (f(2, 3, dtype="float16"), f(3, 4, dtype="float16")),
            rtol=1e-3,
        ),
        Row("einsum", lambda x, y: R.einsum([x, y], subscripts="bij,bjk->bki"), (f(2, 3, 4), f(2, 4, 5))),
        Row("einsum implicit", lambda x, y: R.einsum([x, y], subscripts="...ij,jk"), (f(2, 3, 4), f(4, 5))),
        Row("outer", call("outer"), (f(2), f(3))),
        Row(
            "matmul_nbits", call("matmul_nbits", block_size=16), (f(2, 3, 40), i(5, 3, 8, dtype="uint8"), f(5, 3)), True
        ),
        Row(
            "matmul_nbits 8",
            call("matmul_nbits", bits=8, block_size=16),
            (f(3, 16), i(5, 1, 16, dtype="uint8"), f(5, 1), i(5, 1, dtype="uint8"), f(5)),
            True,
        ),
        Row(
            "matmul_nbits of two levels",
            lambda x, codes, scale, offset, outer: R.matmul_nbits(
                x, codes, scale, None, None, offset, outer, outer, block_size=16
            ),
            (f(3, 64), i(5, 4, 8, dtype="uint8"), i(5, 4, dtype="int8"), i(5, 4, dtype="uint8"), f(5, 2)),
            True,
        ),
        Row(
            "matmul_nbits of rounded rows",
            call("matmul_nbits", block_size=16, activation_bits=8),
            (f(2, 3, 40), i(5, 3, 8, dtype="uint8"), f(5, 3)),
            True,
        ),
        Row(
            "matmul_nbits 6",
            lambda x, codes, scale, offset: R.matmul_nbits(x, codes, scale, None, None, offset, bits=6, block_size=16),
            (f(3, 30), i(5, 2, 12, dtype="uint8"), f(5, 2), f(5, 2)),
            True,
        ),
        Row("outer i8", call("outer"), (i(2, dtype="int8"), i(3, dtype="int8"))),
    ]


def _networks() -> list[Row]:
    rows = [
        Row("nn.conv1d", call("nn.conv1d", padding=[2, 1], strides=[2]), (f(2, 3, 9), f(4, 3, 3))),
        Row(
            "nn.conv2d", call("nn.conv2d", padding=[1, 0], dilation=[2], groups=2), (f(2, 4, 9, 8), f(6, 2, 3, 2)), True
        ),
        Row(
            "nn.conv2d nhwc",
            call("nn.conv2d", padding=[1, 2, 0, 1], data_layout="NHWC", kernel_layout="HWIO"),
            (f(2, 7, 8, 3), f(3, 2, 3, 4)),
        ),
        Row(
            "nn.conv2d mixed",
            call("nn.conv2d", data_layout="NHWC", kernel_layout="OHWI", out_layout="NCHW"),
            (f(2, 7, 8, 3), f(4, 3, 2, 3)),
        ),
        Row(
            "nn.conv2d f16",
            call("nn.conv2d", out_dtype="float32"),
            (f(1, 2, 5, 5, dtype="float16"), f(3, 2, 3, 3, dtype="float16")),
            rtol=1e-2,
        ),
        Row(
            "nn.conv2d i8",
            call("nn.conv2d", out_dtype="int32"),
            (i(1, 2, 5, 5, low=0, dtype="uint8"), i(3, 2, 3, 3, dtype="uint8", low=0)),
        ),
        Row("nn.conv3d", call("nn.conv3d", padding=[1], strides=[1, 2, 1]), (f(1, 2, 5, 6, 4), f(3, 2, 2, 3, 2))),
        Row(
            "nn.conv1d_transpose",
            call("nn.conv1d_transpose", strides=[3], output_padding=[1]),
            (f(2, 3, 5), f(3, 4, 3)),
        ),
        Row(
            "nn.conv2d_transpose",
            call("nn.conv2d_transpose", strides=[2, 1], padding=[1, 0], groups=2),
            (f(1, 4, 5, 6), f(4, 3, 3, 2)),
            True,
        ),
        Row(
            "nn.conv2d_transpose nhwc",
            call("nn.conv2d_transpose", strides=[2], data_layout="NHWC", kernel_layout="HWIO"),
            (f(1, 5, 6, 3), f(3, 2, 3, 4)),
        ),
        Row("nn.conv3d_transpose", call("nn.conv3d_transpose", dilation=[2]), (f(1, 2, 3, 3, 3), f(2, 3, 2, 2, 2))),
        Row("nn.max_pool1d", call("nn.max_pool1d", pool_size=[3], strides=[2], padding=[1]), (f(2, 3, 9),)),
        Row(
            "nn.max_pool2d",
            call("nn.max_pool2d", pool_size=[3, 2], strides=[2], padding=[1, 0, 0, 1], layout="NHWC"),
            (f(2, 9, 8, 3),),
        ),
        Row(
            "nn.max_pool2d ceil",
            call("nn.max_pool2d", pool_size=[2], strides=[3], padding=[0, 0, 1, 1], ceil_mode=True),
            (f(1, 2, 6, 7),),
            True,
        ),
        Row("nn.max_pool3d", call("nn.max_pool3d", pool_size=[2], dilation=[2]), (f(1, 2, 5, 6, 4),)),
        Row("nn.avg_pool1d", call("nn.avg_pool1d", pool_size=[3], padding=[1]), (f(2, 3, 9),)),
        Row(
            "nn.avg_pool2d",
            call("nn.avg_pool2d", pool_size=[3], strides=[2], padding=[1], ceil_mode=True),
            (f(2, 3, 8, 8),),
            True,
        ),
        Row(
            "nn.avg_pool2d dropped",
            call("nn.avg_pool2d", pool_size=[2], strides=[3], padding=[0, 0, 1, 1], ceil_mode=True),
            (f(1, 2, 6, 7),),
            True,
        ),
        Row(
            "nn.avg_pool3d",
            call("nn.avg_pool3d", pool_size=[2], padding=[1], count_include_pad=True, layout="NDHWC"),
            (f(1, 5, 4, 6, 2),),
        ),
        Row("nn.adaptive_avg_pool1d", call("nn.adaptive_avg_pool1d", output_size=[3]), (f(2, 3, 7),), True),
        Row("nn.adaptive_avg_pool2d", call("nn.adaptive_avg_pool2d", output_size=[1]), (f(2, 3, 7, 5),)),
        Row(
            "nn.adaptive_avg_pool2d even",
            call("nn.adaptive_avg_pool2d", output_size=[2, 4], layout="NHWC"),
            (f(2, 6, 8, 3),),
            True,
        ),
        Row("nn.adaptive_avg_pool2d odd", call("nn.adaptive_avg_pool2d", output_size=[3, 4]), (f(2, 3, 7, 5),), True),
        Row("nn.adaptive_avg_pool3d", call("nn.adaptive_avg_pool3d"), (f(1, 2, 3, 4, 5),)),
        Row("nn.layer_norm", call("nn.layer_norm", axes=[-2, -1]), (f(2, 3, 4), f(3, 4), f(3, 4))),
        Row("nn.layer_norm order", call("nn.layer_norm", axes=[2, 0], center=False), (f(2, 3, 4), f(4, 2), f(4, 2))),
        Row(
            "nn.layer_norm plain", call("nn.layer_norm", axes=[-1], center=False, scale=False), (f(2, 3, 4), f(4), f(4))
        ),
        Row(
            "nn.layer_norm f16",
            call("nn.layer_norm", axes=[-1]),
            tuple(f(*s, dtype="float16") for s in ((2, 8), (8,), (8,))),
            rtol=1e-2,
        ),
        Row("nn.instance_norm", call("nn.instance_norm", channel_axis=1, axes=[2, 3]), (f(2, 3, 4, 5), f(3), f(3))),
        Row(
            "nn.instance_norm last",
            call("nn.instance_norm", channel_axis=-1, axes=[1, 2], scale=False),
            (f(2, 4, 5, 3), f(3), f(3)),
        ),
        Row(
            "nn.group_norm",
            call("nn.group_norm", num_groups=2, channel_axis=1, axes=[2, 3]),
            (f(2, 6, 4, 5), f(6), f(6)),
            True,
        ),
        Row(
            "nn.group_norm last",
            call("nn.group_norm", num_groups=3, channel_axis=-1, axes=[1, 2]),
            (f(2, 4, 5, 6), f(6), f(6)),
            True,
        ),
        Row("nn.rms_norm", call("nn.rms_norm"), (f(2, 3, 4), f(4))),
        Row(
            "nn.rms_norm f16",
            call("nn.rms_norm", axes=[1, 2]),
            (f(2, 3, 4, dtype="float16"), f(3, 4, dtype="float16")),
            rtol=1e-2,
        ),
        Row(
            "nn.batch_norm",
            lambda *x: tuple(R.nn.batch_norm(*x, axis=1, training=False)),
            (f(2, 3, 4), f(3), f(3), f(3), positive(3)),
        ),
        Row(
            "nn.batch_norm last",
            lambda *x: tuple(R.nn.batch_norm(*x, axis=-1, training=False, scale=False)),
            (f(2, 4, 3), f(3), f(3), f(3), positive(3)),
        ),
        Row(
            "nn.batch_norm training",
            lambda *x: tuple(R.nn.batch_norm(*x, axis=1, momentum=0.2)),
            (f(4, 3, 4), f(3), f(3), f(3), positive(3)),
        ),
        Row("nn.softmax", call("nn.softmax", axis=0), (f(4, 3),)),
        Row("nn.log_softmax", call("nn.log_softmax"), (f(4, 3),)),
        Row("nn.leakyrelu", call("nn.leakyrelu", alpha=0.2), (f(4, 3),)),
        Row("nn.prelu", call("nn.prelu"), (f(2, 3, 4), f(3))),
        Row("nn.softplus", call("nn.softplus", beta=2.0), (f(4, 3, scale=20),)),
        Row("nn.softplus one", call("nn.softplus"), (f(4, 3, scale=20),)),
        Row("nn.dropout", lambda x: tuple(R.nn.dropout(x)), (f(4, 3),)),
        Row("nn.cross_entropy_with_logits", call("nn.cross_entropy_with_logits"), (f(4, 3), f(4, 3))),
        Row("nn.cross_entropy_with_logits vector", call("nn.cross_entropy_with_logits"), (f(4), f(4))),
        Row("nn.nll_loss", lambda p, t, w: R.nn.nll_loss(p, t, w), (f(4, 3), i(4, low=0, high=3), positive(3))),
        Row("nn.nll_loss one", lambda p, t: R.nn.nll_loss(p, t, reduction="none"), (f(3), numpy.array(2, "int32"))),
        Row(
            "nn.nll_loss none",
            lambda p, t: R.nn.nll_loss(p, t, reduction="none", ignore_index=1),
            (f(4, 3, 2), i(4, 2, low=0, high=3)),
        ),
        Row("grad.no_grad", lambda x: R.grad.no_grad(R.grad.end_checkpoint(R.grad.start_checkpoint(x))), (f(2),)),
        Row("grad.start_checkpoint", lambda x: R.exp(R.grad.start_checkpoint(x)), (f(2),)),
        Row("grad.end_checkpoint", lambda x: R.exp(R.grad.end_checkpoint(x)), (f(2),)),
    ]
    query, key, value = f(2, 5, 4, 8), f(2, 6, 4, 8), f(2, 6, 4, 3)
    rows += [
        Row("nn.attention", call("nn.attention"), (query, key, value)),
        Row("nn.attention causal", call("nn.attention", causal_mask="TopLeft", scale=0.5), (query, key, value)),
        Row("nn.attention lower", call("nn.attention", causal_mask="BottomRight", window_size=2), (query, key, value)),
        Row("nn.attention window", call("nn.attention", window_size=2), (f(2, 9, 4, 8), key, value)),
        Row("nn.attention groups", call("nn.attention"), (query, key[:, :, :2], value[:, :, :1]), True),
        Row("nn.attention_bias", lambda q, k, v, m: R.nn.attention(q, k, v, m), (query, key, value, f(1, 4, 1, 6))),
        Row(
            "nn.attention_cached",
            lambda q, k, v, m: R.nn.attention_cached(q, k, v, m, length=R.prim_value(5), causal_mask="TopLeft"),
            (query, f(2, 2, 6, 8), f(2, 2, 6, 3), f(1, 4, 1, 5)),
            True,
        ),
        Row(
            "nn.attention_cached plain",
            lambda q, k, v: R.nn.attention_cached(q, k, v, length=R.prim_value(7)),
            (query, f(2, 4, 9, 8), f(2, 4, 9, 3)),
        ),
        Row(
            "nn.attention_bias nan",
            lambda q, k, v, m: R.nn.attention(q, k, v, m, blind="nan"),
            (query, key, value, numpy.full((2, 1, 5, 6), -numpy.inf, "float32")),
        ),
        Row(
            "nn.attention_bias none",
            lambda q, k, v, m: R.nn.attention(q, k, v, m),
            (query, key, value, numpy.full((2, 1, 5, 6), -numpy.inf, "float32")),
        ),
    ]
    return rows


def _images() -> list[Row]:
    rows = []
    small, odd = f(1, 2, 4, 6), f(1, 5, 7, 2)
    for method in ("nearest_neighbor", "linear", "cubic"):
        rows.append(Row(f"image.resize2d {method}", _resize((8, 12), method=method), (small,), True, 1e-4))
        layout = {} if method == "cubic" else {"layout": "NHWC"}
        rows.append(Row(f"image.resize2d {method} odd", _resize((8, 5), method=method, **layout), (odd,), True, 1e-4))
    for mode in ("align_corners", "asymmetric", "pytorch_half_pixel"):
        for method in ("nearest_neighbor", "linear"):
            rows.append(
                Row(
                    f"image.resize2d {mode} {method}",
                    _resize((7, 3), method=method, coordinate_transformation_mode=mode),
                    (small,),
                    True,
                    1e-4,
                )
            )
    for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil", ""):
        settings = {
            "method": "nearest_neighbor",
            "rounding_method": rounding,
            "coordinate_transformation_mode": "asymmetric",
        }
        rows.append(Row(f"image.resize2d nearest {rounding}", _resize((10, 9), **settings), (small,), True))
    crop = {
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "roi": [0.1, 0.2, 1.2, 0.9],
        "extrapolation_value": 2.0,
    }
    box = numpy.abs(f(1, 9, 4)).cumsum(-1)
    rois = numpy.array([[0, 0.5, 1, 7, 6.5], [0, 2, 2, 2.25, 3]], "float32")
    return [
        *rows,
        Row("image.resize2d crop", _resize((5, 4), **crop), (small,), True, 1e-4),
        Row("image.resize2d size", lambda x: R.image.resize2d(x, (shape_of(x)[2] + 3, 7)), (small,), rtol=1e-4),
        Row("image.resize2d i8", _resize((8, 12), method="nearest_neighbor"), (i(1, 2, 4, 6, dtype="int8"),), True),
        Row("image.resize3d", lambda x: R.image.resize3d(x, (6, 5, 3)), (f(1, 2, 3, 4, 5),), True, 1e-4),
        *(
            Row(
                f"image.grid_sample {method} {padding}",
                call("image.grid_sample", method=method, padding_mode=padding),
                (f(2, 3, 5, 6), f(2, 2, 4, 3)),
                rtol=1e-3,
            )
            for method in ("bilinear", "nearest", "bicubic")
            for padding in ("zeros", "border", "reflection")
        ),
        Row(
            "image.grid_sample nhwc",
            call("image.grid_sample", layout="NHWC", align_corners=True),
            (f(2, 5, 6, 3), f(2, 2, 4, 3)),
            rtol=1e-3,
        ),
        Row("image.affine_grid", lambda x: R.image.affine_grid(x, (4, 5)), (f(2, 2, 3),), True, 1e-4),
        Row(
            "image.affine_grid corners",
            lambda x: R.image.affine_grid(x, (4, 5), align_corners=False),
            (f(2, 2, 3),),
            True,
            1e-4,
        ),
        Row("vision.all_class_non_max_suppression", _suppressed, (box, numpy.abs(f(1, 2, 9))), True),
        Row(
            "vision.roi_align",
            call("vision.roi_align", pooled_size=[2, 3], spatial_scale=0.5, sample_ratio=2),
            (f(1, 3, 8, 9), rois),
            rtol=1e-4,
        ),
        Row(
            "vision.roi_align aligned",
            call("vision.roi_align", pooled_size=[2], spatial_scale=0.5, aligned=True, layout="NHWC"),
            (f(1, 8, 9, 3), rois),
            rtol=1e-4,
        ),
        Row(
            "vision.roi_pool",
            call("vision.roi_pool", pooled_size=[2, 3], spatial_scale=1.0),
            (f(1, 3, 8, 9), rois.round()),
        ),
    ]


def _resize(size: tuple[int, int], **settings: Any) -> Callable[..., Any]:
    return lambda x: R.image.resize2d(x, size, **settings)


def _suppressed(boxes: Any, scores: Any) -> Any:
    numbers = R.const([3], "int64"), R.const([0.4]), R.const([0.2])
    found, count = R.vision.all_class_non_max_suppression(boxes, scores, *numbers)
    return R.match_cast(found, rx.tensor(("k", 3), "int64")), count


def _quantized() -> list[Row]:
    scale = numpy.array([0.1, 0.2, 0.05], "float32")
    return [
        Row("quantize", lambda x: R.quantize(x, R.const(0.05), R.const(3, "int8"), axis=0), (f(4, 3, scale=9),)),
        Row(
            "quantize u8",
            lambda x, s: R.quantize(x, s, R.const([1, 2, 3], "uint8"), axis=1, out_dtype="uint8"),
            (f(4, 3), scale),
            True,
        ),
        Row(
            "quantize mixed",
            lambda x, s: R.quantize(x, s, R.const(2, "int32"), axis=1),
            (f(4, 3, scale=20), scale),
            True,
        ),
        Row("quantize single", lambda x, s: R.quantize(x, s, R.const(2, "int8"), axis=1), (f(4, 3), scale), True),
        Row("quantize 0-D", lambda x: R.quantize(x, R.const(0.05), R.const(3, "int8")), (f(),)),
        Row(
            "dequantize",
            lambda x, s: R.dequantize(x, s, R.const([1, 2, 3], "int8"), axis=-1),
            (i(4, 3, dtype="int8"), scale),
            True,
        ),
        Row(
            "dequantize i32",
            lambda x: R.dequantize(x, R.const(0.5), R.const(7, "int32"), out_dtype="float16"),
            (i(4, 3, dtype="int32"),),
            rtol=1e-3,
        ),
        Row(
            "dequantize f16",
            lambda x: R.dequantize(x, R.const(0.5), R.const(1.5, "float16")),
            (f(4, dtype="float16"),),
            rtol=1e-3,
        ),
        *(_requantized(form, rounding) for form in (*FORMS, "double") for rounding in ROUNDINGS),
        Row(
            "requantize 0-D",
            lambda x: R.requantize(x, R.const(0.05), R.const(0, "int32"), R.const(3, "int8")),
            (i(dtype="int32"),),
        ),
    ]


def _requantized(form: str, rounding: str) -> Row:
    """Return a row of sums and multipliers of all magnitudes, clamped or not."""
    random = numpy.random.default_rng(11)
    is_double = form == "double"
    how = rx.Requantize("q31>>shift" if is_double else form, rounding, rounding != "half_up", is_double)
    sums = random.integers(-(2**31), 2**31, (160, 4)) >> random.integers(0, 31, (160, 4))
    sums[:80] = numpy.arange(-40, 40)[:, None]
    multiplier, shift = how.parameters([0.5, 0.25, 0.0123, 3.7])
    zero = numpy.array([1, 2, 3, 4], "uint8" if rounding == "half_down" else "int8")
    settings = {"axis": 1, "out_dtype": zero.dtype.name, **how.attributes()}

    def body(x: Any) -> Any:
        return R.requantize(x, R.const(multiplier), R.const(shift), R.const(zero), **settings)

    return Row(f"requantize {form} {rounding}", body, (sums.astype("int32"),), True)


ROWS = [*_products(), *_networks(), *_images(), *_quantized()]
