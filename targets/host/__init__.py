# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host side that all targets share: entry functions, argument checks, errors, memory and constants."""
