# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-bisect: its options, and what it does with them."""
