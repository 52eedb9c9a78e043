# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export of modules as ONNX models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....support.argument_types import types_checked
from ....support.callbacks import enters
from ....support.errors import RelaxError
from ...module import Module
from .model import USUAL_OPSET, export_function

if TYPE_CHECKING:
    from onnx import ModelProto


@types_checked
@enters
def to_onnx(module: Module, *, function: str = "", opset: int = USUAL_OPSET) -> ModelProto:
    """Return the ONNX model of a graph function.

    Without a name, the function is the only public one, or `main`. `opset` is the version of ONNX's operators. Raises
    one RelaxError that lists every operation that cannot be exported.
    """
    try:
        import onnx  # noqa: F401  # what follows needs it
    except ImportError:
        raise RelaxError("rx.to_onnx needs the package onnx: pip install relax-mlir[onnx]") from None
    return export_function(module.operation, function, opset)
