# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proof that a codegen or a target is right: cases, what runs each in a process of its own, and what is wrong with it.

A case is data: a module and its inputs by a seed. `operators/` has cases of each operator, one file a family named as
its rows, `models/` small models; composites.py makes some of a codegen's own patterns. trial.py runs one, checking.py
all of them.
"""

from __future__ import annotations

from .checking import check as check
from .report import Report as Report
