# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-new-codegen: the files of a package that it writes, and how."""
