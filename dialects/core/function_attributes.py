# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of graph functions."""

from __future__ import annotations

#: On an argument: its name, in errors, for callers and in print-outs.
ARGUMENT_NAME = "relax.name"
#: On a function: the names of its results, where it comes from a model that has names for them.
RESULT_NAMES = "relax.result_names"

#: Who may see a function; upstream's, absent: everybody.
VISIBILITY = "sym_visibility"
