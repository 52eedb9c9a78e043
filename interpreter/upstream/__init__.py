# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of upstream's operations, one file a dialect."""
