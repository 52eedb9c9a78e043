# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of the target reference: imported when an artifact has a part of it."""
