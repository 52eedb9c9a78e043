# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions to and from half and bfloat, for CPUs without instructions for them.

LLVM calls functions of its runtime library for these conversions. A process may lack the library, hence the code
contains the functions.
"""

from __future__ import annotations

#: Architectures on which LLVM calls them. On arm64, CPUs have the instructions, or LLVM expands the conversion.
ARCHITECTURES = frozenset({"x86_64", "riscv64"})

#: Definitions in LLVM IR, which use only integers and f32 arithmetic.
DEFINITIONS = """
@llvm.compiler.used = appending global [4 x ptr] [
  ptr @__extendhfsf2, ptr @__truncsfhf2, ptr @__truncdfhf2, ptr @__truncsfbf2
], section "llvm.metadata"

define linkonce_odr hidden float @__extendhfsf2(half %x) {
  %half = bitcast half %x to i16
  %bits = zext i16 %half to i32
  %sign.low = and i32 %bits, 32768
  %sign = shl i32 %sign.low, 16
  %magnitude = and i32 %bits, 32767
  %moved = shl i32 %magnitude, 13
  ; a normal number: float's exponents are counted from 112 further down
  %normal = add i32 %moved, 939524096
  ; infinities and NaNs, which become quiet
  %is.special = icmp uge i32 %magnitude, 31744
  %special = add i32 %moved, 1879048192
  %is.nan = icmp ugt i32 %magnitude, 31744
  %quiet = select i1 %is.nan, i32 4194304, i32 0
  %special.quiet = or i32 %special, %quiet
  ; less than 2^-14: with the leading one of 2^-14 before it, which is taken away
  %is.small = icmp ult i32 %magnitude, 1024
  %with.one = add i32 %moved, 947912704
  %float = bitcast i32 %with.one to float
  %less = fsub float %float, 0x3F10000000000000
  %small = bitcast float %less to i32
  %finite = select i1 %is.small, i32 %small, i32 %normal
  %unsigned = select i1 %is.special, i32 %special.quiet, i32 %finite
  %result = or i32 %unsigned, %sign
  %value = bitcast i32 %result to float
  ret float %value
}

define linkonce_odr hidden half @__truncsfhf2(float %x) {
  %bits = bitcast float %x to i32
  %sign.high = lshr i32 %bits, 16
  %sign = and i32 %sign.high, 32768
  %magnitude = and i32 %bits, 2147483647
  ; a normal number: rounded at the 13th bit, to even
  %shifted = lshr i32 %magnitude, 13
  %odd = and i32 %shifted, 1
  %rebased = add i32 %magnitude, 3355447295
  %rounded = add i32 %rebased, %odd
  %normal = lshr i32 %rounded, 13
  ; less than 2^-14: adding 1/2 leaves half's smallest numbers as float's last bits, rounded
  %is.small = icmp ult i32 %magnitude, 947912704
  %float = bitcast i32 %magnitude to float
  %more = fadd float %float, 0x3FE0000000000000
  %more.bits = bitcast float %more to i32
  %small = sub i32 %more.bits, 1056964608
  ; from 65536 on infinity; a NaN stays one, quiet
  %is.large = icmp uge i32 %magnitude, 1199570944
  %is.nan = icmp ugt i32 %magnitude, 2139095040
  %payload = and i32 %shifted, 1023
  %nan = or i32 %payload, 32256
  %large = select i1 %is.nan, i32 %nan, i32 31744
  %finite = select i1 %is.small, i32 %small, i32 %normal
  %unsigned = select i1 %is.large, i32 %large, i32 %finite
  %signed = or i32 %unsigned, %sign
  %low = trunc i32 %signed to i16
  %value = bitcast i16 %low to half
  ret half %value
}

define linkonce_odr hidden half @__truncdfhf2(double %x) {
  ; to float first, with the last bit set where something is lost: then the second rounding knows
  %float = fptrunc double %x to float
  %back = fpext float %float to double
  %magnitude = call double @llvm.fabs.f64(double %x)
  %back.magnitude = call double @llvm.fabs.f64(double %back)
  %is.inexact = fcmp one double %x, %back
  %is.more = fcmp ogt double %back.magnitude, %magnitude
  %bits = bitcast float %float to i32
  %one = zext i1 %is.more to i32
  %toward.zero = sub i32 %bits, %one
  %last = zext i1 %is.inexact to i32
  %odd = or i32 %toward.zero, %last
  %single = bitcast i32 %odd to float
  %value = call half @__truncsfhf2(float %single)
  ret half %value
}

define linkonce_odr hidden bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  ; the upper half, rounded to even; a NaN stays one, quiet
  %upper = lshr i32 %bits, 16
  %odd = and i32 %upper, 1
  %bias = add i32 %odd, 32767
  %sum = add i32 %bits, %bias
  %rounded = lshr i32 %sum, 16
  %is.nan = fcmp uno float %x, %x
  %quiet = or i32 %upper, 64
  %result = select i1 %is.nan, i32 %quiet, i32 %rounded
  %low = trunc i32 %result to i16
  %value = bitcast i16 %low to bfloat
  ret bfloat %value
}

declare double @llvm.fabs.f64(double)
"""
