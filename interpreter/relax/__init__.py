# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The meaning of relax's operators in numpy, one file a family, for reading."""
