# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits what many threads compute together: scans, sorting, places one by one."""
