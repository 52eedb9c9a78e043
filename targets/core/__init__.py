# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a target is: the registry, targets as they are chosen, how they make code."""
