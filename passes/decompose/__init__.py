# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators are in terms of simpler ones."""
