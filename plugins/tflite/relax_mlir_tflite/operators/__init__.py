# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of TFLite's operators, one file per family."""
