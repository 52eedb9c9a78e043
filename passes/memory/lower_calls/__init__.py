# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of relax-lower-calls: buffer assignment, dynamic sizes, operations, control flow."""
