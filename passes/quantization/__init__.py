# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What relax-propagate-quantization is made of: products of whole numbers, moves of them, scales behind them."""
