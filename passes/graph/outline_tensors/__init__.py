# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of relax-outline-tensors."""
