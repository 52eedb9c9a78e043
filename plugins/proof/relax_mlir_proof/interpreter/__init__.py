# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reference: interprets graphs operator by operator with NumPy, and compiles lowered functions at -O0.

`relax/` defines the operators, one file per family, named like the rows in dialects/relax. `graph/` defines the other
operations of graphs: calls, control flow, scalars. `tir/` defines scalar functions. execution.py runs functions of
graphs, and compiled.py runs lowered functions.
"""
