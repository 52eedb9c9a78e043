# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `blas`: products of matrices, found in PrimFuncs by their structure, computed by OpenBLAS."""
