# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Building blocks of the rule tables."""

from __future__ import annotations

from functools import partial

from ...patterns.rewrite import rewrite
from ...patterns.tree import wildcard

#: A rule applies across regions, too: to operands computed outside of a loop or branch.
rule = partial(rewrite, is_across=True)

X, Y, C = (wildcard().named(name) for name in "xyc")
