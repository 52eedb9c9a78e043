# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What front ends of models share: nodes and their inputs, values, sizes, control flow, and problems told at once."""
