# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a model as ONNX models that onnxruntime runs."""
