# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime for browsers: static files that accompany the source files of each program."""
