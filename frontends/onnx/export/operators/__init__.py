# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of relax operators to ONNX, one file per family."""
