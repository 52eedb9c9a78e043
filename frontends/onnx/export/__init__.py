# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export of modules as ONNX models. operators/ has the exporters of relax operators, by family."""
