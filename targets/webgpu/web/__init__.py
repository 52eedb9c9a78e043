# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runs programs in browsers, as it is: files that sources of a program come with."""
