# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model zoo, and comparisons of its results. Each architecture is in the file of its library, zoo/*_models.py."""

from __future__ import annotations

import importlib
from typing import Any

import native_libraries
import torch
import torch.utils._pytree as pytree
from torch import nn
from zoo.cases import ZOO, Case

native_libraries.declare()
for _library in ("torchvision", "timm", "transformers", "transformers_text", "transformers_media", "diffusers",
                 "torchaudio", "geometric", "other"):  # fmt: skip
    importlib.import_module(f"zoo.{_library}_models")

__all__ = ["ZOO", "Case", "apart", "built", "dynamic_shapes", "tensors_in"]


def built(name: str) -> Case:
    """Build a model for inference, with the same weights each time.

    Parameters that start as zeros get random values.
    """
    torch.manual_seed(0)
    found = ZOO[name]()
    with torch.no_grad():
        for parameter in found.model.parameters():
            if not parameter.any():
                nn.init.normal_(parameter, std=0.05)
    return found._replace(model=found.model.eval())


def apart(got: Any, wanted: Any) -> float:
    """Return the largest distance between tensors, as a share of each expected tensor's largest finite value."""
    pairs = zip(tensors_in(got), tensors_in(wanted), strict=True)
    return max([0.0, *(_distance(one, other) for one, other in pairs)])


def _distance(got: torch.Tensor, wanted: torch.Tensor) -> float:
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return float("inf")
    if wanted.is_complex():
        return _distance(torch.view_as_real(got), torch.view_as_real(wanted))
    one, other = got.double(), wanted.double()
    differing = one != other
    if bool((differing & (one.isnan() != other.isnan())).any()):
        return float("inf")
    finite = other[other.isfinite()].abs()
    scale = float(finite.max()) if finite.numel() else 0.0
    apart = (one - other)[differing & ~other.isnan()].abs()
    return float(apart.max()) / (scale or 1.0) if apart.numel() else 0.0


def tensors_in(held: Any) -> list[torch.Tensor]:
    return [each for each in pytree.tree_leaves(held) if isinstance(each, torch.Tensor)]


def dynamic_shapes(case: Case) -> Any:
    """Return the dynamic sizes for torch.export, which finds their relations."""
    if case.dynamic is None:
        return None

    def opened(spec: Any) -> Any:
        return {axis: torch.export.Dim.AUTO for axis in spec} if isinstance(spec, dict) else None

    if isinstance(case.dynamic, dict):
        return {name: opened(spec) for name, spec in case.dynamic.items()}
    return tuple(map(opened, case.dynamic))
