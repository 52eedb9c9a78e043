# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parallel building blocks: scans, sorting, scattered writes."""
