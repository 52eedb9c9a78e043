# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How ONNX's operators are said in relax; one file a family, all of it registered with register_onnx."""
