# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Part of gradient_cases.py for images, regions, attention and layouts."""

from __future__ import annotations

from typing import Any

import numpy
from gradient_cases import call, relax, use
from relax_mlir.dialects.relax import const


def _i32(*values: int) -> Any:
    return const(numpy.array(values, "int32"))


def _i8(*rows: list[int]) -> Any:
    return const(numpy.array(rows, "int8"))


# ---- layouts, windows ----
call("nn.conv2d", (1, 4, 5, 2), (3, 2, 3, 2), data_layout="NHWC", kernel_layout="OHWI", padding=[1], strides=[2, 1])
call("nn.conv1d", (2, 4, 2), (3, 2, 2), data_layout="NWC", out_layout="NCW")
call("nn.conv2d_transpose", (1, 3, 3, 2), (2, 3, 2, 2), data_layout="NHWC")
call("nn.max_pool2d", (1, 4, 5, 2), pool_size=2, strides=2, layout="NHWC", out_layout="NCHW")
call("nn.max_pool2d", (1, 1, 5, 6), pool_size=2, strides=[2, 3], ceil_mode=True)
call("nn.avg_pool1d", (1, 2, 6), pool_size=3, strides=2, ceil_mode=True, padding=[1, 1])
call("nn.max_pool1d", (1, 1, 6), pool_size=3, strides=2, ceil_mode=True, padding=[0, 2])
call("nn.avg_pool2d", (1, 1, 5, 6), pool_size=[3, 2], strides=3, ceil_mode=True, padding=[1, 0])
for _pool in ("max", "avg"):
    for _size in (4, 5, 6):
        _free: Any = {
            "pool_size": [3, 2],
            "strides": 2,
            "ceil_mode": True,
            "padding": [1, 0],
            "dims": [(1, 1, "h", "w")],
        }
        call(f"nn.{_pool}_pool2d", (1, 1, _size, 9 - _size), **_free)
call("nn.avg_pool2d", (1, 4, 5, 2), pool_size=2, layout="NHWC", padding=1, count_include_pad=True)
# Windows with gaps between them: whether there is a last one depends on the size.
for _size in (4, 5, 6, 7):
    _gaps: Any = {"pool_size": 2, "strides": 4, "ceil_mode": True, "padding": [0, 1], "dims": [(1, 1, "w")]}
    call("nn.max_pool1d", (1, 1, _size), **_gaps)
    call("nn.avg_pool1d", (1, 1, _size), count_include_pad=_size % 2 == 0, **_gaps)
# Large windows.
call("nn.max_pool2d", (1, 1, 12, 14), pool_size=[11, 12], dims=[(1, 1, "h", "w")])
call("nn.avg_pool2d", (1, 1, 27, 14), pool_size=[13, 10], strides=[2, 3], dilation=[2, 1], padding=[1, 0])
call("nn.adaptive_avg_pool1d", (2, 2, 5), output_size=3)
call("nn.adaptive_avg_pool2d", (1, 5, 4, 2), output_size=[2, 3], layout="NHWC", out_layout="NCHW")
call("nn.adaptive_avg_pool2d", (2, 2, 3, 4), output_size=1, dims=[("n", 2, 3, 4)])
call("nn.adaptive_avg_pool3d", (1, 1, 2, 3, 2))

# ---- resizing ----
for _mode in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
    for _method in ("nearest_neighbor", "linear", "cubic"):
        use(
            f"resize2d {_method} {_mode}",
            lambda x, method=_method, mode=_mode: relax["image.resize2d"](
                x, (5, 2), method=method, coordinate_transformation_mode=mode
            ),
            (1, 2, 3, 3),
        )
use("resize2d up and down", lambda x: relax["image.resize2d"](x, ("2 * h", 1)), (2, 1, 2, 4), dims=[("n", 1, "h", 4)])
use(
    "resize2d part",
    lambda x: relax["image.resize2d"](
        x,
        (4, 3),
        roi=[0.1, -0.3, 0.8, 1.2],
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=2.0,
        layout="NHWC",
    ),
    (1, 4, 5, 2),
)
use("resize2d cubic without outside", lambda x: relax["image.resize2d"](x, (5, 4), method="cubic", cubic_exclude=1),
    (1, 1, 3, 3))  # fmt: skip
use("resize3d", lambda x: relax["image.resize3d"](x, (3, 2, 4)), (1, 1, 2, 3, 2))
for _align in (False, True):
    use(f"affine_grid {_align}", lambda x, align=_align: relax["image.affine_grid"](x, (2, 3), align_corners=align),
        (2, 2, 3), dims=[("n", 2, 3)])  # fmt: skip
use("affine_grid of volumes", lambda x: relax["image.affine_grid"](x, (2, 3, 2)), (1, 3, 4))

# ---- sampling: from inside of the image to beyond its ends ----
for _padding in ("zeros", "border", "reflection"):
    for _method in ("nearest", "bilinear", "bicubic"):
        call("image.grid_sample", (2, 2, 3, 4), (2, 2, 2, 3), low=-1.6, high=1.7, method=_method, padding_mode=_padding,
             align_corners=_method == "bilinear")  # fmt: skip
call("image.grid_sample", (1, 3, 2, 4), (1, 2, 2, 2), low=-1.3, padding_mode="reflection", layout="NHWC")
call("image.grid_sample", (1, 1, 2, 3, 2), (1, 3, 2, 1, 2), low=-1.2, high=1.1, layout="NCDHW")
call("image.grid_sample", (2, 1, 2, 2), (2, 2, 2, 2), dims=[("n", 1, 2, 2), ("n", 2, "h", 2)])
for _padding in ("zeros", "border", "reflection"):
    call("image.grid_sample", (1, 2, 3, 2), (1, 2, 2, 3), low=-1.6, high=1.7, padding_mode=_padding,
         method="bicubic" if _padding == "zeros" else "bilinear", align_corners=_padding == "reflection",
         dims=[("n", "c", "h", "w"), ("n", 2, 2, 3)])  # fmt: skip
call("image.grid_sample", (1, 1, 1, 3), (1, 2, 2, 2), low=-1.3, padding_mode="reflection", align_corners=True)


# ---- regions: the first operand is data, the second moves the regions a little ----
_REGIONS = numpy.array([[0, 0.3, 0.4, 4.1, 3.3], [1, 1.2, -0.7, 5.6, 2.2], [0, 2.6, 2.1, 2.9, 2.7]])


def _regions(op: str, **attributes: Any) -> Any:
    def build(x: Any, shift: Any) -> Any:
        mask = const(numpy.array([0.0, 1, 1, 1, 1]))
        rois = relax["add"](const(_REGIONS), relax["multiply"](relax["multiply"](shift, mask), const(0.1, "f64")))
        return relax[op](x, rois, **attributes)

    return build


for _mode in ("avg", "max", "max_share"):
    for _aligned in (False, True):
        use(f"roi_align {_mode} {_aligned}",
            _regions("vision.roi_align", pooled_size=[2, 3], spatial_scale=0.9, sample_ratio=2, mode=_mode,
                     aligned=_aligned), (2, 2, 4, 5), (3, 5))  # fmt: skip
    use(f"roi_align {_mode} of as many samples as each region has",
        _regions("vision.roi_align", pooled_size=[2, 1], spatial_scale=1.2, sample_ratio=0, mode=_mode,
                 aligned=_mode == "max"), (2, 1, 4, 5), (3, 5))  # fmt: skip
use("roi_align of any size", _regions("vision.roi_align", pooled_size=[1, 2], spatial_scale=1.2, sample_ratio=-1,
    layout="NHWC"), (2, 4, 5, 2), (3, 5), dims=[("n", "h", "w", 2), (3, 5)])  # fmt: skip
use("roi_align NHWC", _regions("vision.roi_align", pooled_size=2, spatial_scale=1.0, sample_ratio=1, layout="NHWC"),
    (2, 4, 5, 2), (3, 5))  # fmt: skip
use("roi_pool", _regions("vision.roi_pool", pooled_size=[2, 2], spatial_scale=0.8), (2, 2, 4, 5), (3, 5))
use("roi_pool of any size", _regions("vision.roi_pool", pooled_size=[2, 2], spatial_scale=0.8), (2, 2, 4, 5), (3, 5),
    dims=[("n", "c", "h", "w"), (3, 5)])  # fmt: skip
use("multibox_transform_loc",
    lambda c, x, a: relax["vision.multibox_transform_loc"](c, x, a, variances=(0.1, 0.2, 1, 2)),
    (2, 3, 2), (2, 8), (1, 2, 4))  # fmt: skip
use("multibox_transform_loc scores",
    lambda c, x, a: relax["vision.multibox_transform_loc"](c, x, a, threshold=0.3, keep_background=False)[1],
    (2, 3, 2), (2, 8), (1, 2, 4))  # fmt: skip
use("multibox_transform_loc both",
    lambda c, x, a: relax["concat"](
        [relax["flatten"](each)
         for each in relax["vision.multibox_transform_loc"](c, x, a, apply_softmax=False, clip=True)]
    ),
    (1, 2, 2), (1, 8), (1, 2, 4))  # fmt: skip

# ---- attention ----
call("nn.attention", (2, 3, 2, 4), (2, 5, 2, 4), (2, 5, 2, 3))
call("nn.attention", (1, 3, 4, 2), (1, 5, 2, 2), (1, 5, 1, 3), causal_mask="BottomRight", scale=0.7)
call("nn.attention", (1, 4, 1, 2), (1, 3, 1, 2), (1, 3, 1, 2), causal_mask="TopLeft", window_size=2)
call("nn.attention", (1, 4, 1, 2), (1, 2, 1, 2), (1, 2, 1, 2), causal_mask="BottomRight")
call(
    "nn.attention",
    (2, 3, 2, 4),
    (2, 5, 2, 4),
    (2, 5, 2, 3),
    dims=[("b", "q", 2, 4), ("b", "k", 2, 4), ("b", "k", 2, 3)],
)
call("nn.attention", (1, 3, 4, 2), (1, 5, 2, 2), (1, 5, 1, 3), dims=[(1, 3, "h", "d"), (1, 5, "k", "d"), (1, 5, 1, 3)])
call("nn.attention", (1, 3, 4, 2), (1, 2, 2, 2), (1, 2, 2, 3), causal_mask="BottomRight", dims=[(None,) * 4] * 3)
call("nn.attention_bias", (2, 3, 2, 2), (2, 4, 2, 2), (2, 4, 2, 2), (1, 2, 3, 4), window_size=3)
call("nn.attention_bias", (2, 3, 2, 2), (2, 4, 2, 2), (2, 4, 2, 2), (2, 1, 1, 4))
call("nn.attention_cached", (2, 3, 4, 2), (2, 2, 7, 2), (2, 2, 7, 3), length=5, causal_mask="BottomRight")
for _mask in (None, "TopLeft", "BottomRight"):
    use(f"attention_var_len {_mask}",
        lambda q, k, v, mask=_mask: relax["nn.attention_var_len"](
            q, k, v, _i32(0, 2, 2, 5), _i32(3), seqstart_k=_i32(0, 1, 3, 6), max_seqlen_k=_i32(3), causal_mask=mask),
        (1, 6, 2, 2), (1, 6, 1, 2), (1, 6, 1, 3))  # fmt: skip
use("attention_var_len of itself",
    lambda q, k, v: relax["nn.attention_var_len"](
        q, k, v, _i32(0, 2, 4), _i32(2), window_size=1, causal_mask="TopLeft"
    ),
    (1, 4, 1, 2), (1, 4, 1, 2), (1, 4, 1, 2))  # fmt: skip

# ---- products, quantized ----
call("einsum", (2, 3, 3), (3, 2), subscripts="aii,ib->ab")
call("einsum", (2, 2, 2), subscripts="iii->i")
call("einsum", (2, 1, 3), (1, 3, 2), subscripts="...ij,...jk")
call("einsum", (3, 2), (2, 3, 4), subscripts="i...,...ij->...j")
use("quantize", lambda x: relax["add"](x, relax["astype"](relax["quantize"](relax["astype"](x, dtype="f32"),
    const(0.5, "f32"), const(0, "i8")), dtype="f64")), (2, 3))  # fmt: skip
