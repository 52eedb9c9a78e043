# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the dialects share: operators as data, their builders, verifiers and contexts."""
