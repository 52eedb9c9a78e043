# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Post-training quantization of modules, by the recipe of a codegen or a target."""
