# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What relax-outline-tensors is made of."""
