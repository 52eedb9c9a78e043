# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of ONNX models: model.py reads models, importer.py converts graphs, operators/ has the converters."""
