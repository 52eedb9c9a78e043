# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators gain and lose by floats of 16 bits, and how a function is made of both."""
