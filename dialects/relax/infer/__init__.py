# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Type inference shared by families of relax operators: plain functions from infos to infos."""
