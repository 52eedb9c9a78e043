# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of torchvision and torchaudio without their native libraries, for example where these are for GPUs.

The package registry has no torchaudio for CPUs, and a torchvision only with its own torch. The models need two
operators of torchvision's library: both are declared here, and nms has an implementation. They need no operator of
torchaudio's library.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types
from typing import Any

import torch

_SCHEMAS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
#: Owner of the declarations: they live as long as it does.
_LIBRARY: list[torch.library.Library] = []


def declare() -> None:
    """Make both packages importable, and transformers and timm, which import them where they are installed."""
    _declare_torchvision()
    _declare_torchaudio()


def _declare_torchvision() -> None:
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        _forget("torchvision")
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


def _declare_torchaudio() -> None:
    try:
        importlib.import_module("torchaudio")
    except ModuleNotFoundError:
        return
    except OSError:
        _forget("torchaudio")
        extension: Any = types.ModuleType("torchaudio._extension")
        extension._IS_TORCHAUDIO_EXT_AVAILABLE = extension._IS_ALIGN_AVAILABLE = False
        extension._load_lib = lambda name: False
        extension.fail_if_no_align = lambda function: function
        sys.modules[extension.__name__] = extension
        importlib.import_module("torchaudio")


def _forget(package: str) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        del sys.modules[name]


def _nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """Return the indices of the boxes that overlap no box of a higher score, the highest score first."""
    boxes: Any = importlib.import_module("torchvision.ops.boxes")
    overlaps = boxes.box_iou(dets, dets) > iou_threshold
    kept: list[int] = []
    for index in scores.argsort(descending=True, stable=True).tolist():
        if not bool(overlaps[index, kept].any()):
            kept.append(index)
    return torch.tensor(kept, dtype=torch.int64)
