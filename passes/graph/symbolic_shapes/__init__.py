# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of relax-infer-symbolic-shapes: equations between sizes, their solutions, and updates of functions."""
