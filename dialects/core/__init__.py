# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of the dialects: operators as data, their builders, verifiers and contexts."""
