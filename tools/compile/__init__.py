# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of relax-compile: options, compilation from file to file, progress reports."""
