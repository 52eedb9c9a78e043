# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on the same operand that become one."""
