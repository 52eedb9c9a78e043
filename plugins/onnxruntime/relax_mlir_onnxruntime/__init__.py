# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `onnxruntime`: exports parts of a model as ONNX models, which onnxruntime runs."""
