# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators make of elements that are known while compiling: rules by operator, and what they are told."""
