# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target reference: programs with interpreted functions."""
