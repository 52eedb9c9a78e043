# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models as modules: model.py reads, importer.py walks, the files named after families know the operators."""
