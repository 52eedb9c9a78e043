# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of StableHLO's and CHLO's operations, one file per family."""
