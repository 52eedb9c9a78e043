# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of torchvision where its native library does not load, such as the library for GPUs beside a torch for CPUs.

The models need two of the library's operators: both are declared here, and nms has an implementation.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import Any

import torch

_SCHEMAS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
#: Owner of the declarations: they live as long as it does.
_LIBRARY: list[torch.library.Library] = []


def declare() -> None:
    """Make `import torchvision` work, and the import of transformers and timm, which import torchvision."""
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        for name in [each for each in sys.modules if each.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        for name, schema in _SCHEMAS.items():
            library.define(f"{name}{schema}")
        library.impl("nms", _nms, "CPU")
        _LIBRARY.append(library)
        importlib.import_module("torchvision")
        boxes: Any = importlib.import_module("torchvision.ops.boxes")
        boxes._assert_has_ops = lambda: None
        align: Any = sys.modules["torchvision.ops.roi_align"]
        align._roi_align = inspect.unwrap(align._roi_align)  # torchvision compiles it by Inductor, for two minutes


def _nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """Return the indices of the boxes that overlap no box of a higher score, the highest score first."""
    boxes: Any = importlib.import_module("torchvision.ops.boxes")
    overlaps = boxes.box_iou(dets, dets) > iou_threshold
    kept: list[int] = []
    for index in scores.argsort(descending=True, stable=True).tolist():
        if not bool(overlaps[index, kept].any()):
            kept.append(index)
    return torch.tensor(kept, dtype=torch.int64)
