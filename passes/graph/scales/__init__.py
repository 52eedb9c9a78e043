# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scales and shifts of channels, and the weights into which they are folded."""
