# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What modules mean: they are run operation by operation, with numpy, by no code generator.

`relax/` has the meaning of operators, one file a family, named as the rows in dialects/relax are; `tir/` that of scalar
functions, `upstream/` the steps of MLIR's own operations, one file a dialect. machine.py runs functions.
"""
