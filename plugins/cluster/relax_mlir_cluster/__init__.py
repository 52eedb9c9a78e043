# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls on the workers of a Dask cluster. Workers need neither the compiler nor its bindings."""
