# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchvision where its library does not load, as that of its wheel for GPUs beside a torch for CPUs: its models work
without it, if the operators that it refines while it is imported are declared.
"""

from __future__ import annotations

import importlib
import sys

import torch

_SCHEMAS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
#: Keeps the declarations.
_LIBRARY: list[torch.library.Library] = []


def declare() -> None:
    """Makes `import torchvision` work, and so that of transformers and timm, which look for it."""
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        for name in [each for each in sys.modules if each.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        for name, schema in _SCHEMAS.items():
            library.define(f"{name}{schema}")
        _LIBRARY.append(library)
        importlib.import_module("torchvision")
