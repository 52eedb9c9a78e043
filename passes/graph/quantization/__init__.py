# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites of relax-propagate-quantization: integer products, data movement, and deferred scales."""
