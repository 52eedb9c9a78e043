# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of relax-quantize: options, and the way from a model and samples to a quantized model."""
