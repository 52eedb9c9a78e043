# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Placements that tests of onnxruntime and NNCF expect, as data: models, recipes, and quantized tensors."""

from __future__ import annotations

from .case import Case
from .four_bits import CASES as FOUR_BITS
from .loss_debug import CASES as LOSS_DEBUG
from .nncf_onnx import CASES as NNCF_ONNX
from .nncf_openvino import CASES as NNCF_OPENVINO
from .overrides import CASES as OVERRIDES
from .qdq import CASES as QDQ

CASES: list[Case] = [*QDQ, *OVERRIDES, *FOUR_BITS, *LOSS_DEBUG, *NNCF_ONNX, *NNCF_OPENVINO]
