# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime of the target reference, imported when an artifact has a part for it."""
