# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target c: readable C99 for products that must ship C, with static memory and without libraries except <math.h>."""
