# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How relax operators become PrimFuncs: targets, rules per target, and what a rule may do."""
