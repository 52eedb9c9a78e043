# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer functions that upstream's `arith` lacks, one per line."""

from __future__ import annotations

from ..core.attributes import Bool, Int
from .dialect import X1_X2, X1_X2_X3, X, op
from .infer import fixed_point, same_int

# ---- bits ----
op("popcount", X, infer=same_int, short=True, doc="Number of set bits.")
op("ctpop", X, infer=same_int, short=True, doc="popcount under its LLVM name.")
op("clz", X, infer=same_int, short=True, doc="Number of zeros above the highest set bit; the width for 0.")
op("ctz", X, infer=same_int, short=True, doc="Number of zeros below the lowest set bit; the width for 0.")
op("bitreverse", X, infer=same_int, doc="Reverses the bits.")
op("fshl", X1_X2_X3, infer=same_int, doc="High half of (x1:x2) << (x3 mod width): a rotation if x1 == x2.")
op("fshr", X1_X2_X3, infer=same_int, doc="Low half of (x1:x2) >> (x3 mod width): a rotation if x1 == x2.")

# ---- arithmetic ----
op("gcd", X1_X2, infer=same_int, doc="Greatest common divisor; gcd(0, 0) is 0.")
op("lcm", X1_X2, infer=same_int, doc="Least common multiple; 0 if an operand is 0.")
op("sadd_sat", X1_X2, infer=same_int, doc="x1 + x2, saturated to the signed range.")
op("uadd_sat", X1_X2, infer=same_int, doc="x1 + x2, saturated to the unsigned range.")
op("ssub_sat", X1_X2, infer=same_int, doc="x1 - x2, saturated to the signed range.")
op("usub_sat", X1_X2, infer=same_int, doc="x1 - x2, saturated to the unsigned range.")

# ---- fixed point: y has q fractional bits ----
_Q = {"q": Int(doc="number of fractional bits")}
_SHIFTS = {
    "is_lshift_required": Bool(doc="if True, ls can differ from 0"),
    "is_rshift_required": Bool(doc="if True, rs can differ from 0"),
}
op("q_multiply_shift", "x:elementwise y:elementwise s:elementwise", attrs=_Q, signature="x y q s",
   infer=fixed_point, doc="round(x * y * 2**(s - q)), ties up.")  # fmt: skip
op("q_multiply_shift_per_axis", "x:elementwise y:elementwise ls:elementwise rs:elementwise",
   attrs={**_Q, **_SHIFTS}, signature="x y ls rs q is_lshift_required is_rshift_required",
   infer=fixed_point, doc="round((x << ls) * y * 2**(-rs - q)), ties up.")  # fmt: skip
