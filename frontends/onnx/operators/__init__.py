# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of ONNX's operators to relax, one file per family, registered with register_onnx."""
