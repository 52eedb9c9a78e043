# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Detection."""

from __future__ import annotations

from ..core.rows import row

_REGIONS = {1: ((0, 0.5, 0.5, 5, 4), (1, 1, 2, 3, 6), (0, 0, 0, 6, 5), (1, 3, 3, 3.2, 3.1))}
_ROI = "2,3,h,w:F 4,5:F"
_BOXES = "1,6,4:F[0,1]^ 1,2,6:F[0,1] =3:i64 =0.4:f32 =0.2:f32"
#: Class, score and corners of each box.
_FOUND = {0: (((0, 0.9, 0, 0, 2, 2), (1, 0.8, 0, 0, 2, 2.1), (0, 0.7, 3, 3, 4, 4), (0, 0.6, 0.1, 0, 2, 2), (1, 0.3, 3, 3, 4, 4.2)),),
          1: (5,), 2: (range(5),)}  # fmt: skip
_DETECTED = "1,5,6:F 1:i32 1,5:i32"

ROWS = (
    row("vision.all_class_non_max_suppression", _BOXES),
    row("vision.all_class_non_max_suppression", _BOXES, "of fixed size", output_format="tensorflow"),
    row("vision.get_valid_counts", "b,6,6:F[0,1]", score_threshold=0.5),
    row("vision.get_valid_counts", "b,6,5:F[0,1]", "without classes", score_threshold=0.2, id_index=-1, score_index=0),
    row("vision.non_max_suppression", _DETECTED, given=_FOUND),
    row("vision.non_max_suppression", _DETECTED, "of boxes", given=_FOUND, return_indices=False),
    row("vision.non_max_suppression", _DETECTED, "to the front", given=_FOUND, return_indices=False, invalid_to_bottom=True),
    row("vision.non_max_suppression", _DETECTED, "of all classes", given=_FOUND, force_suppress=True, iou_threshold=0.7),
    row("vision.non_max_suppression", _DETECTED, "without classes", given=_FOUND, id_index=-1, max_output_size=2),
    row("vision.non_max_suppression", _DETECTED, "of the best", given=_FOUND, top_k=3),
    row("vision.non_max_suppression", _DETECTED, "soft", given=_FOUND, soft_nms_sigma=0.5, score_threshold=0.1),
    row("vision.multibox_transform_loc", "b,3,4:F b,16:F[-0.5,0.5] 1,4,4:F[0,1]^"),
    row("vision.multibox_transform_loc", "b,3,4:F[0,1] b,16:F[-0.5,0.5] 1,4,4:F[0,1]^", "clipped", clip=True, threshold=0.3,
        variances=(0.1, 0.1, 0.2, 0.2), keep_background=False, apply_softmax=False),
    row("vision.roi_align", _ROI, given=_REGIONS, pooled_size=(2, 2), spatial_scale=1.0, sample_ratio=2),
    *(row("vision.roi_align", _ROI, f"of {ratio} samples{' aligned' if aligned else ''}", given=_REGIONS, pooled_size=(3, 2),
          spatial_scale=0.5, sample_ratio=ratio, aligned=aligned) for ratio in (-1, 1, 3) for aligned in (False, True)),
    *(row("vision.roi_align", _ROI, mode, given=_REGIONS, pooled_size=(2, 2), spatial_scale=1.0, sample_ratio=2, mode=mode)
      for mode in ("max", "max_share")),
    row("vision.roi_align", "2,h,w,3:F 4,5:F", "of channels last", given=_REGIONS, pooled_size=(2, 3), spatial_scale=1.0,
        sample_ratio=2, layout="NHWC"),
    row("vision.roi_pool", _ROI, given=_REGIONS, pooled_size=(2, 2), spatial_scale=1.0),
    row("vision.roi_pool", _ROI, "smaller", given=_REGIONS, pooled_size=(3, 2), spatial_scale=0.5),
)  # fmt: skip
