# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The derivatives that come with this project, a file for each family of operators."""
