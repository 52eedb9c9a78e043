# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target reference: programs whose functions are interpreted."""
