# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export of single functions to ONNX, for codegens of ONNX runtimes. `rx.onnx_export.export_function`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
