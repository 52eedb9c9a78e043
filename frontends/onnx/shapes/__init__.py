# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on shapes: elements and sizes that are known at import, and those that only the run tells."""
