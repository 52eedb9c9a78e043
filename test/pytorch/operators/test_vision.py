# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of torchvision, compared with equivalent functions of torch: its library need not load."""

from __future__ import annotations

from collections.abc import Callable

import native_libraries
import pytest
import torch
import torch.nn.functional as F
from imported import check

native_libraries.declare()

_LIBRARY = torch.library.Library("torchvision", "FRAGMENT")
_REGIONS = "float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned"
_WINDOWS = "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w"


def _declare(name: str, schema: str, kernel: Callable[..., torch.Tensor], fake: Callable[..., torch.Tensor]) -> None:
    if not hasattr(torch.ops.torchvision, name):
        _LIBRARY.define(f"{name}{schema}")
        torch.library.register_fake(f"torchvision::{name}", fake, lib=_LIBRARY)
    if not torch._C._dispatch_has_kernel_for_dispatch_key(f"torchvision::{name}", "CPU"):
        _LIBRARY.impl(name, kernel, "CPU")


def _nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    kept: list[int] = []
    sizes = boxes[:, 2:] - boxes[:, :2]
    areas = sizes[:, 0] * sizes[:, 1]
    for place in scores.argsort(descending=True, stable=True).tolist():
        low = torch.maximum(boxes[place, :2], boxes[kept, :2])
        common = (torch.minimum(boxes[place, 2:], boxes[kept, 2:]) - low).clamp(min=0).prod(1)
        if not bool((common / (areas[place] + areas[kept] - common) > threshold).any()):
            kept.append(place)
    return torch.tensor(kept, dtype=torch.int64)


def _roi_align(
    data: torch.Tensor, rois: torch.Tensor, scale: float, rows: int, columns: int, ratio: int, aligned: bool
) -> torch.Tensor:
    """Compute regions within the image."""
    made = []
    height, width = data.shape[2:]
    for image, *corners in rois.tolist():
        left, top, right, bottom = (each * scale - (0.5 if aligned else 0) for each in corners)
        y = top + (torch.arange(rows * ratio) + 0.5) * (bottom - top) / (rows * ratio)
        x = left + (torch.arange(columns * ratio) + 0.5) * (right - left) / (columns * ratio)
        grid = torch.stack(torch.meshgrid(x / (width - 1) * 2 - 1, y / (height - 1) * 2 - 1, indexing="xy"), -1)
        one = data[int(image)][None]
        sampled = F.grid_sample(one, grid[None], padding_mode="border", align_corners=True)
        made.append(F.avg_pool2d(sampled, ratio)[0])
    return torch.stack(made)


def _deform_conv2d(
    data: torch.Tensor, weight: torch.Tensor, offset: torch.Tensor, mask: torch.Tensor, bias: torch.Tensor, *rest: int
) -> torch.Tensor:
    """Compute a deformable convolution with one group and one group of offsets."""
    stride_h, stride_w, pad_h, pad_w, gap_h, gap_w, *_, use_mask = rest
    (height, width), (rows, columns), taps_w = data.shape[2:], offset.shape[2:], weight.shape[3]
    columns_of = []
    for tap in range(weight.shape[2] * taps_w):
        y = torch.arange(rows)[:, None] * stride_h - pad_h + tap // taps_w * gap_h + offset[:, 2 * tap]
        x = torch.arange(columns) * stride_w - pad_w + tap % taps_w * gap_w + offset[:, 2 * tap + 1]
        grid = torch.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], -1)
        sampled = F.grid_sample(data, grid, align_corners=False)
        columns_of.append(sampled * mask[:, tap, None] if use_mask else sampled)
    products = torch.einsum("ock,bckhw->bohw", weight.flatten(2), torch.stack(columns_of, 2))
    return products + bias[:, None, None]


_declare("nms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", _nms, lambda *_: None)  # type: ignore
_declare("roi_align", f"(Tensor input, Tensor rois, {_REGIONS}) -> Tensor", _roi_align,
         lambda x, rois, _, rows, columns, *__: x.new_empty(rois.shape[0], x.shape[1], rows, columns))  # fmt: skip
_declare("deform_conv2d", f"(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, {_WINDOWS}, "
         "SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor", _deform_conv2d,
         lambda x, w, offset, *_: x.new_empty(x.shape[0], w.shape[0], *offset.shape[2:]))  # fmt: skip
V = torch.ops.torchvision


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7])
def test_boxes_that_do_not_overlap(threshold: float) -> None:
    corners = torch.rand(40, 2) * 10
    boxes = torch.cat([corners, corners + torch.rand(40, 2) * 6], 1)
    check(lambda boxes, scores: V.nms(boxes, scores, threshold), boxes, torch.rand(40))


@pytest.mark.parametrize("aligned", [False, True])
def test_regions(aligned: bool) -> None:
    corners = torch.rand(5, 2) * 5 + 1
    images = torch.randint(0, 2, (5, 1)).float()
    regions = torch.cat([images, corners, corners + 2 + torch.rand(5, 2) * 4], 1)
    check(lambda x, rois: V.roi_align(x, rois, 0.9, 3, 4, 2, aligned), torch.randn(2, 3, 12, 14), regions)


@pytest.mark.parametrize("has_mask", [False, True])
def test_convolution_whose_taps_are_moved(has_mask: bool) -> None:
    check(lambda x, w, offset, mask, b: V.deform_conv2d(x, w, offset, mask, b, 2, 2, 1, 1, 1, 1, 1, 1, has_mask),
          torch.randn(2, 3, 8, 9), torch.randn(4, 3, 3, 3), torch.randn(2, 18, 4, 5), torch.rand(2, 9, 4, 5),
          torch.randn(4))  # fmt: skip
