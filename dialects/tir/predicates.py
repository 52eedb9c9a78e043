# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicates of a float with an i1 result, one per line."""

from __future__ import annotations

from .dialect import X, op
from .infer import predicate

op("isfinite", X, infer=predicate, short=True, doc="True where x is neither infinite nor NaN.")
op("isinf", X, infer=predicate, short=True, doc="True where x is infinite.")
op("isposinf", X, infer=predicate, short=True, doc="True where x is positive infinity.")
op("isneginf", X, infer=predicate, short=True, doc="True where x is negative infinity.")
op("isnan", X, infer=predicate, short=True, doc="True where x is NaN.")
op("isnormal", X, infer=predicate, short=True, doc="True where x is not zero, subnormal, infinite or NaN.")
op("signbit", X, infer=predicate, short=True, doc="True where the sign bit of x is set, including -0 and -NaN.")
