# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tables of rules are written with."""

from __future__ import annotations

from functools import partial

from ..patterns.rewrite import rewrite
from ..patterns.tree import wildcard

#: A rule is as good in a loop or a branch, about what is computed before it.
rule = partial(rewrite, is_across=True)

X, Y, C = (wildcard().named(name) for name in "xyc")
