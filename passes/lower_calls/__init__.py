# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What relax-lower-calls is made of: memory plan, sizes at run time, operations, control flow."""
