# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What relax operators become in ONNX, a file for each family."""
