# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of numbers that are computed otherwise than for other devices."""
