# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helper functions in WGSL for kernels: arithmetic and memory access that the language lacks.

The text of a kernel contains the helpers that the kernel uses. Integers of 64 bits are two words, the low word first.
Helpers detect NaNs by their bits, because implementations may assume that there are no NaNs.
"""

from __future__ import annotations

import re

from .floats_32 import TEXTS as _FLOATS_32
from .floats_64 import TEXTS as _FLOATS_64

_TEXTS = """\
fn float_of(bits: u32) -> f32 { return bitcast<f32>(bits); }

fn apart(x: f32, zero: u32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ zero); }

fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn most_f32(a: f32, b: f32) -> f32 {
    if (is_nan(a)) { return a; }
    if (is_nan(b)) { return b; }
    if (a == b) { return bitcast<f32>(bitcast<u32>(a) & bitcast<u32>(b)); }
    return select(b, a, a > b);
}

fn least_f32(a: f32, b: f32) -> f32 {
    if (is_nan(a)) { return a; }
    if (is_nan(b)) { return b; }
    if (a == b) { return bitcast<f32>(bitcast<u32>(a) | bitcast<u32>(b)); }
    return select(b, a, a < b);
}

fn most_number_f32(a: f32, b: f32) -> f32 { return select(most_f32(a, b), a, is_nan(b)); }

fn least_number_f32(a: f32, b: f32) -> f32 { return select(least_f32(a, b), a, is_nan(b)); }

fn with_sign(x: f32, sign: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}

fn round_away(x: f32) -> f32 {
    let whole = trunc(x);
    return with_sign(select(whole, whole + sign(x), abs(x - whole) >= 0.5), x);
}

fn float_of_half(bits: u32) -> f32 {
    let sign = (bits & 0x8000u) << 16u;
    let size = bits & 0x7fffu;
    if (size >= 0x7c00u) { return bitcast<f32>(sign | 0x7f800000u | ((size & 0x3ffu) << 13u)); }
    if (size >= 0x400u) { return bitcast<f32>(sign | ((size << 13u) + 0x38000000u)); }
    return with_sign(f32(size) * 5.9604644775390625e-8f, bitcast<f32>(sign | 0x3f800000u));
}

fn half_of_float(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) { return sign | 0x7e00u | ((size >> 13u) & 0x1ffu); }
    if (size >= 0x477ff000u) { return sign | 0x7c00u; }
    if (size >= 0x38800000u) {
        let rounded = size + 0xfffu + ((size >> 13u) & 1u);
        return sign | ((rounded - 0x38000000u) >> 13u);
    }
    if (size <= 0x33000000u) { return sign; }
    let shift = 126u - (size >> 23u);
    let fraction = (size & 0x7fffffu) | 0x800000u;
    let kept = fraction >> shift;
    let rest = fraction & ((1u << shift) - 1u);
    let middle = 1u << (shift - 1u);
    return sign | (kept + select(0u, 1u, rest > middle || (rest == middle && (kept & 1u) == 1u)));
}

fn float_of_bfloat(bits: u32) -> f32 { return bitcast<f32>(bits << 16u); }

fn bfloat_of_float(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) { return (bits >> 16u) | 0x40u; }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

fn wide_s(x: i32) -> vec2<u32> { return vec2<u32>(u32(x), u32(x >> 31u)); }

fn index_of(x: vec2<u32>) -> i32 {
    return select(select(0x7fffffff, i32(-2147483648), i32(x.y) < 0), i32(x.x), x.y == u32(i32(x.x) >> 31u));
}

fn index_of_u(x: vec2<u32>) -> i32 { return select(0x7fffffff, i32(x.x), x.y == 0u && x.x < 0x80000000u); }

fn add_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn negative_64(a: vec2<u32>) -> vec2<u32> { return add_64(~a, vec2<u32>(1u, 0u)); }

fn sub_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn product_32(a: u32, b: u32) -> vec2<u32> {
    let a0 = a & 0xffffu; let a1 = a >> 16u;
    let b0 = b & 0xffffu; let b1 = b >> 16u;
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 16u);
    let other = a0 * b1 + (middle & 0xffffu);
    return vec2<u32>((other << 16u) | (low & 0xffffu), a1 * b1 + (middle >> 16u) + (other >> 16u));
}

fn mul_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = product_32(a.x, b.x);
    return vec2<u32>(low.x, low.y + a.x * b.y + a.y * b.x);
}

fn less_u64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }

fn less_s64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return i32(a.y) < i32(b.y) || (a.y == b.y && a.x < b.x);
}

fn shl_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let n = b.x & 31u;
    let moved = vec2<u32>(a.x << n, (a.y << n) | ((a.x >> 1u) >> (31u - n)));
    return select(moved, vec2<u32>(0u, moved.x), (b.x & 32u) != 0u);
}

fn shr_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let n = b.x & 31u;
    let moved = vec2<u32>((a.x >> n) | ((a.y << 1u) << (31u - n)), a.y >> n);
    return select(moved, vec2<u32>(moved.y, 0u), (b.x & 32u) != 0u);
}

fn shr_s64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let n = b.x & 31u;
    let high = u32(i32(a.y) >> n);
    let moved = vec2<u32>((a.x >> n) | ((a.y << 1u) << (31u - n)), high);
    return select(moved, vec2<u32>(high, u32(i32(a.y) >> 31u)), (b.x & 32u) != 0u);
}

fn divided_64(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
    if (a.y == 0u && b.y == 0u && b.x != 0u) { return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u); }
    var quotient = vec2<u32>(0u, 0u);
    var rest = vec2<u32>(0u, 0u);
    for (var i = 63; i >= 0; i--) {
        let carry = rest.y >> 31u;
        let bit = select(a.x >> u32(i & 31), a.y >> u32(i & 31), i >= 32) & 1u;
        rest = vec2<u32>((rest.x << 1u) | bit, (rest.y << 1u) | (rest.x >> 31u));
        quotient = vec2<u32>(quotient.x << 1u, (quotient.y << 1u) | (quotient.x >> 31u));
        if (carry == 1u || !less_u64(rest, b)) {
            rest = sub_64(rest, b);
            quotient.x |= 1u;
        }
    }
    return vec4<u32>(quotient, rest);
}

fn div_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return divided_64(a, b).xy; }

fn rem_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return divided_64(a, b).zw; }

fn size_64(a: vec2<u32>) -> vec2<u32> {
    if (i32(a.y) < 0) { return negative_64(a); }
    return a;
}

fn div_s64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let found = divided_64(size_64(a), size_64(b)).xy;
    if (((a.y ^ b.y) >> 31u) == 1u) { return negative_64(found); }
    return found;
}

fn rem_s64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let found = divided_64(size_64(a), size_64(b)).zw;
    if (i32(a.y) < 0) { return negative_64(found); }
    return found;
}

fn zeros_before_64(a: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(select(32u + countLeadingZeros(a.x), countLeadingZeros(a.y), a.y != 0u), 0u);
}

fn zeros_behind_64(a: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(select(32u + countTrailingZeros(a.y), countTrailingZeros(a.x), a.x != 0u), 0u);
}

fn ones_64(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(countOneBits(a.x) + countOneBits(a.y), 0u); }

fn float_of_u64(a: vec2<u32>) -> f32 {
    if (a.y == 0u) { return f32_of_u32(a.x); }
    let zeros = countLeadingZeros(a.y);
    let top = shl_64(a, vec2<u32>(zeros, 0u));
    let sticky = top.y | select(0u, 1u, top.x != 0u);
    return f32_of_u32(sticky) * bitcast<f32>((127u + 32u - zeros) << 23u);
}

fn f32_of_u32(a: u32) -> f32 {
    if (a < 0x1000000u) { return f32(a); }
    let shift = 8u - countLeadingZeros(a);
    let kept = a >> shift;
    let rest = a & ((1u << shift) - 1u);
    let middle = 1u << (shift - 1u);
    let rounded = kept + select(0u, 1u, rest > middle || (rest == middle && (kept & 1u) == 1u));
    return f32(rounded) * f32(1u << shift);
}

fn f32_of_i32(a: i32) -> f32 {
    let size = f32_of_u32(select(u32(a), 0u - u32(a), a < 0));
    return select(size, -size, a < 0);
}

fn float_of_s64(a: vec2<u32>) -> f32 {
    let size = float_of_u64(size_64(a));
    return select(size, -size, i32(a.y) < 0);
}

fn u64_of_float(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    let exponent = (bits >> 23u) & 0xffu;
    if (exponent < 127u) { return vec2<u32>(0u, 0u); }
    let fraction = vec2<u32>((bits & 0x7fffffu) | 0x800000u, 0u);
    if (exponent >= 191u) { return vec2<u32>(0u, 0x80000000u); }
    if (exponent >= 150u) { return shl_64(fraction, vec2<u32>(exponent - 150u, 0u)); }
    return shr_u64(fraction, vec2<u32>(150u - exponent, 0u));
}

fn s64_of_float(x: f32) -> vec2<u32> {
    let size = u64_of_float(abs(x));
    if (x < 0.0) { return negative_64(size); }
    return size;
}

fn read_64(place: i32) -> vec2<u32> { return vec2<u32>(read(place), read(place + 1)); }

fn write_64(place: i32, value: vec2<u32>) {
    write(place, value.x);
    write(place + 1, value.y);
}

fn read_8(byte: i32) -> i32 { return extractBits(i32(read(byte >> 2u)), u32(byte & 3) * 8u, 8u); }

fn read_16(byte: i32) -> i32 { return extractBits(i32(read(byte >> 2u)), u32(byte & 2) * 8u, 16u); }

fn write_8(byte: i32, value: i32) { write_part(byte >> 2u, u32(byte & 3) * 8u, 0xffu, u32(value)); }

fn write_16(byte: i32, value: i32) { write_part(byte >> 2u, u32(byte & 2) * 8u, 0xffffu, u32(value)); }
"""

#: Memory of a kernel that changes parts of words, or updates words atomically. Other threads may change the rest of a
#: word at the same time.
ATOMIC_MEMORY = """\
@group(0) @binding(0) var<storage, read_write> memory: array<atomic<u32>>;

fn read(place: i32) -> u32 { return atomicLoad(&memory[place]); }

fn write(place: i32, value: u32) {%s atomicStore(&memory[place], value); }

fn write_part(place: i32, shift: u32, mask: u32, value: u32) {%s
    atomicAnd(&memory[place], ~(mask << shift));
    atomicOr(&memory[place], (value & mask) << shift);
}

fn most_at(place: i32, value: i32) -> u32 {
    var old = atomicLoad(&memory[place]);
    while (i32(old) < value) {
        let found = atomicCompareExchangeWeak(&memory[place], old, u32(value));
        if (found.exchanged) { break; }
        old = found.old_value;
    }
    return old;
}

fn least_at(place: i32, value: i32) -> u32 {
    var old = atomicLoad(&memory[place]);
    while (i32(old) > value) {
        let found = atomicCompareExchangeWeak(&memory[place], old, u32(value));
        if (found.exchanged) { break; }
        old = found.old_value;
    }
    return old;
}

fn most_index_at(place: i32, value: vec2<u32>) {
    most_at(place, i32(value.x));
    atomicStore(&memory[place + 1], 0u);
}

fn add_at_64(place: i32, value: vec2<u32>) {
    let old = atomicAdd(&memory[place], value.x);
    atomicAdd(&memory[place + 1], value.y + select(0u, 1u, old + value.x < old));
}
"""
PLAIN_MEMORY = """\
@group(0) @binding(0) var<storage, read_write> memory: array<u32>;

fn read(place: i32) -> u32 { return memory[place]; }

fn write(place: i32, value: u32) {%s memory[place] = value; }
"""
#: Record of the first failed check: the number of failures, the launch, the index of the check, and numbers to show.
RECORD = """\
@group(0) @binding(2) var<storage, read_write> record: array<atomic<u32>, 12>;
"""
FAIL = """\
fn fail(launch: u32, place: u32, a: vec2<u32>, b: vec2<u32>, c: vec2<u32>, d: vec2<u32>) {
    if (atomicAdd(&record[0], 1u) == 0u) {
        atomicStore(&record[1], launch);
        atomicStore(&record[2], place);
        atomicStore(&record[4], a.x); atomicStore(&record[5], a.y);
        atomicStore(&record[6], b.x); atomicStore(&record[7], b.y);
        atomicStore(&record[8], c.x); atomicStore(&record[9], c.y);
        atomicStore(&record[10], d.x); atomicStore(&record[11], d.y);
    }
}
"""
#: Helpers that change parts of words or update words atomically.
_ATOMIC = re.compile(r"\b(write_8|write_16|most_at|least_at|most_index_at|add_at_64|atomic\w+\(&memory)\b")
_WORD = re.compile(r"\w+")
_HELPERS = {_WORD.findall(text)[1]: text for text in f"{_TEXTS}\n{_FLOATS_32}\n{_FLOATS_64}".strip().split("\n\n")}


def helpers_of(body: str) -> str:
    """Return the helpers that a kernel's text calls, directly or indirectly."""
    wanted: dict[str, str] = {}
    rest = [body]
    while rest:
        for word in _WORD.findall(rest.pop()):
            if word in _HELPERS and word not in wanted:
                wanted[word] = _HELPERS[word]
                rest.append(_HELPERS[word])
    return "\n\n".join(text for name, text in _HELPERS.items() if name in wanted)


def memory_of(body: str, *, is_guarded: bool) -> str:
    """Return the functions by which a kernel accesses memory.

    If `is_guarded`, a thread with a failed check does not write any more.
    """
    guard = " if (has_failed) { return; }" if is_guarded else ""
    text = ATOMIC_MEMORY if _ATOMIC.search(body) else PLAIN_MEMORY
    return text.replace("%s", guard)
