# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options and driver of relax-check."""
