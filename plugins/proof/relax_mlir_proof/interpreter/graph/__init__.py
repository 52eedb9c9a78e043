# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of the operations that graph functions contain besides operators: calls, control flow, scalar arithmetic."""
