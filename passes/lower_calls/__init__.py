# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What relax-lower-calls is made of: buffer assignment, dynamic sizes, operations, control flow."""
