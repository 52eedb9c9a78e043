# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of products by SPIR-V instructions."""
