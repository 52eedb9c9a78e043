# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The meaning of tir's scalar functions in numpy, one file a family, named as in dialects/tir."""

from ...dialects import tir  # noqa: F401  # importing a dialect registers it
