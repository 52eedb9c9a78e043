# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What relax-infer-symbolic-shapes is made of: equations between sizes, their solutions, functions updated by them."""
