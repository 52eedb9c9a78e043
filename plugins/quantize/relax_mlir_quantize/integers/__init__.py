# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer arithmetic of quantized layers, for the pass relax-requantize."""
