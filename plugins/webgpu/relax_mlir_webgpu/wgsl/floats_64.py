# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Software floats of 64 bits, which WGSL does not have. The bits of a float are two words, the low word first.

Results follow IEEE 754, with ties rounded to even. Sums and products are computed by fma: drivers inline each call, so
one function takes less compile time than three. A mantissa is an integer of 63 bits with the highest bit set. The
lowest ten bits are for rounding; the last bit is sticky: set if any lower bit was lost.
"""

TEXTS = """\
struct Parts { sign: u32, exponent: i32, mantissa: vec2<u32> }

fn is_nan_64(a: vec2<u32>) -> bool { return less_u64(vec2<u32>(0u, 0x7ff00000u), vec2<u32>(a.x, a.y & 0x7fffffffu)); }

fn is_inf_64(a: vec2<u32>) -> bool { return a.x == 0u && (a.y & 0x7fffffffu) == 0x7ff00000u; }

fn is_zero_64(a: vec2<u32>) -> bool { return (a.x | (a.y & 0x7fffffffu)) == 0u; }

fn shr_kept(a: vec2<u32>, n: u32) -> vec2<u32> {
    if (n == 0u) { return a; }
    if (n > 63u) { return vec2<u32>(select(0u, 1u, (a.x | a.y) != 0u), 0u); }
    let made = shr_u64(a, vec2<u32>(n, 0u));
    let back = shl_64(made, vec2<u32>(n, 0u));
    return vec2<u32>(made.x | select(0u, 1u, any(back != a)), made.y);
}

fn packed_f64(sign: u32, exponent: i32, mantissa: vec2<u32>) -> vec2<u32> {
    var e = exponent;
    var m = mantissa;
    if (e <= 0) {
        m = shr_kept(m, u32(min(1 - e, 100)));
        e = 0;
    }
    let rest = m.x & 0x3ffu;
    m = shr_u64(m, vec2<u32>(10u, 0u));
    if (rest > 0x200u || (rest == 0x200u && (m.x & 1u) == 1u)) { m = add_64(m, vec2<u32>(1u, 0u)); }
    if ((m.y & 0x200000u) != 0u) {
        m = shr_u64(m, vec2<u32>(1u, 0u));
        e += 1;
    }
    if (e == 0 && (m.y & 0x100000u) != 0u) { e = 1; }
    if (e >= 2047) { return vec2<u32>(0u, (sign << 31u) | 0x7ff00000u); }
    return vec2<u32>(m.x, (sign << 31u) | (u32(e) << 20u) | (m.y & 0xfffffu));
}

fn normal_f64(sign: u32, exponent: i32, mantissa: vec2<u32>) -> vec2<u32> {
    if ((mantissa.x | mantissa.y) == 0u) { return vec2<u32>(0u, sign << 31u); }
    let zeros = zeros_before_64(mantissa).x;
    if (zeros == 0u) { return packed_f64(sign, exponent + 1, shr_kept(mantissa, 1u)); }
    return packed_f64(sign, exponent + 1 - i32(zeros), shl_64(mantissa, vec2<u32>(zeros - 1u, 0u)));
}

fn parts_f64(a: vec2<u32>) -> Parts {
    let field = i32((a.y >> 20u) & 0x7ffu);
    let fraction = vec2<u32>(a.x, (a.y & 0xfffffu) | select(0u, 0x100000u, field != 0));
    let mantissa = shl_64(fraction, vec2<u32>(10u, 0u));
    if (field != 0 || (fraction.x | fraction.y) == 0u) { return Parts(a.y >> 31u, max(field, 1), mantissa); }
    let zeros = zeros_before_64(mantissa).x - 1u;
    return Parts(a.y >> 31u, 1 - i32(zeros), shl_64(mantissa, vec2<u32>(zeros, 0u)));
}

fn quiet_f64(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(a.x, a.y | 0x80000u); }

fn negative_f64(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(a.x, a.y ^ 0x80000000u); }

fn size_f64(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(a.x, a.y & 0x7fffffffu); }

fn with_sign_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x, (a.y & 0x7fffffffu) | (b.y & 0x80000000u));
}

fn shr_128(a: vec4<u32>, n: u32) -> vec4<u32> {
    var x = select(a, vec4<u32>(a.zw, 0u, 0u), (n & 64u) != 0u);
    x = select(x, vec4<u32>(x.yzw, 0u), (n & 32u) != 0u);
    let by = vec4<u32>(n & 31u);
    return (x >> by) | ((vec4<u32>(x.yzw, 0u) << (31u - by)) << vec4<u32>(1u));
}

fn shl_128(a: vec4<u32>, n: u32) -> vec4<u32> {
    var x = select(a, vec4<u32>(0u, 0u, a.xy), (n & 64u) != 0u);
    x = select(x, vec4<u32>(0u, x.xyz), (n & 32u) != 0u);
    let by = vec4<u32>(n & 31u);
    return (x << by) | ((vec4<u32>(0u, x.xyz) >> (31u - by)) >> vec4<u32>(1u));
}

fn shr_kept_128(a: vec4<u32>, distance: i32) -> vec4<u32> {
    let n = u32(min(distance, 127));
    let made = shr_128(a, n);
    return vec4<u32>(made.x | select(0u, 1u, any(shl_128(made, n) != a)), made.yzw);
}

fn add_128(a: vec4<u32>, b: vec4<u32>, carry: u32) -> vec4<u32> {
    let low = add_64(add_64(a.xy, b.xy), vec2<u32>(carry, 0u));
    let is_over = less_u64(low, a.xy) || (carry == 1u && all(low == a.xy));
    return vec4<u32>(low, add_64(add_64(a.zw, b.zw), vec2<u32>(select(0u, 1u, is_over), 0u)));
}

fn product_64(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
    let low = product_32(a.x, b.x);
    let first = add_64(product_32(a.y, b.x), vec2<u32>(low.y, 0u));
    let second = add_64(product_32(a.x, b.y), vec2<u32>(first.x, 0u));
    let high = add_64(product_32(a.y, b.y), add_64(vec2<u32>(first.y, 0u), vec2<u32>(second.y, 0u)));
    return vec4<u32>(low.x, second.x, high);
}

fn endless_fma_f64(a: vec2<u32>, b: vec2<u32>, c: vec2<u32>) -> vec2<u32> {
    if (is_nan_64(a)) { return quiet_f64(a); }
    if (is_nan_64(b)) { return quiet_f64(b); }
    if (is_nan_64(c)) { return quiet_f64(c); }
    let sign = (a.y ^ b.y) & 0x80000000u;
    if (!is_inf_64(a) && !is_inf_64(b)) { return c; }
    let is_nothing = is_zero_64(a) || is_zero_64(b) || (is_inf_64(c) && (c.y & 0x80000000u) != sign);
    return vec2<u32>(0u, select(sign | 0x7ff00000u, 0x7ff80000u, is_nothing));
}

fn fma_f64(a: vec2<u32>, b: vec2<u32>, c: vec2<u32>) -> vec2<u32> {
    if (max(max(a.y & 0x7fffffffu, b.y & 0x7fffffffu), c.y & 0x7fffffffu) >= 0x7ff00000u) {
        return endless_fma_f64(a, b, c);
    }
    let x = parts_f64(a);
    let y = parts_f64(b);
    let z = parts_f64(c);
    let product = product_64(x.mantissa, y.mantissa + y.mantissa + vec2<u32>(0u, y.mantissa.x >> 31u));
    let product_exponent = select(x.exponent + y.exponent - 1022, -5000, is_zero_64(a) || is_zero_64(b));
    let other_exponent = select(z.exponent, -5000, is_zero_64(c));
    let e = max(product_exponent, other_exponent);
    let m = shr_kept_128(product, e - product_exponent);
    let n = shr_kept_128(vec4<u32>(0u, 0u, z.mantissa), e - other_exponent);
    let sign = x.sign ^ y.sign;
    let differ = sign != z.sign;
    var sum = add_128(m, select(n, ~n, differ), select(0u, 1u, differ));
    let is_turned = differ && (sum.w >> 31u) == 1u;
    if (is_turned) { sum = add_128(~sum, vec4<u32>(), 1u); }
    if (all(sum == vec4<u32>())) { return vec2<u32>(0u, select(sign << 31u, 0u, differ)); }
    let high = zeros_before_64(sum.zw).x;
    let zeros = select(high, 64u + zeros_before_64(sum.xy).x, high == 64u);
    let top = shl_128(sum, zeros);
    let lost = (top.x | top.y | (top.z & 1u)) != 0u;
    let mantissa = vec2<u32>((top.z >> 1u) | (top.w << 31u) | select(0u, 1u, lost), top.w >> 1u);
    return packed_f64(sign ^ select(0u, 1u, is_turned), e + 1 - i32(zeros), mantissa);
}

fn div_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if (is_nan_64(a)) { return quiet_f64(a); }
    if (is_nan_64(b)) { return quiet_f64(b); }
    let sign = (a.y ^ b.y) & 0x80000000u;
    if ((is_inf_64(a) && is_inf_64(b)) || (is_zero_64(a) && is_zero_64(b))) { return vec2<u32>(0u, 0x7ff80000u); }
    if (is_inf_64(a) || is_zero_64(b)) { return vec2<u32>(0u, sign | 0x7ff00000u); }
    if (is_inf_64(b) || is_zero_64(a)) { return vec2<u32>(0u, sign); }
    let x = parts_f64(a);
    let y = parts_f64(b);
    let one = vec2<u32>(1u, 0u);
    var rest = x.mantissa;
    var e = x.exponent - y.exponent + 1023;
    if (less_u64(rest, y.mantissa)) {
        rest = shl_64(rest, one);
        e -= 1;
    }
    var quotient = vec2<u32>(0u, 0u);
    for (var i = 0; i < 63; i++) {
        quotient = shl_64(quotient, one);
        if (!less_u64(rest, y.mantissa)) {
            rest = sub_64(rest, y.mantissa);
            quotient.x |= 1u;
        }
        rest = shl_64(rest, one);
    }
    quotient.x |= select(0u, 1u, (rest.x | rest.y) != 0u);
    return packed_f64(sign >> 31u, e, quotient);
}

fn sqrt_f64(a: vec2<u32>) -> vec2<u32> {
    if (is_nan_64(a)) { return quiet_f64(a); }
    if (is_zero_64(a)) { return a; }
    if ((a.y >> 31u) == 1u) { return vec2<u32>(0u, 0x7ff80000u); }
    if (is_inf_64(a)) { return a; }
    let x = parts_f64(a);
    let e = x.exponent - 1023;
    var m = x.mantissa;
    if ((e & 1) == 1) { m = shl_64(m, vec2<u32>(1u, 0u)); }
    var root = vec2<u32>(0u, 0u);
    var rest = vec2<u32>(0u, 0u);
    for (var i = 0; i < 55; i++) {
        rest = shl_64(rest, vec2<u32>(2u, 0u));
        rest.x |= m.y >> 30u;
        m = shl_64(m, vec2<u32>(2u, 0u));
        var trial = shl_64(root, vec2<u32>(2u, 0u));
        trial.x |= 1u;
        root = shl_64(root, vec2<u32>(1u, 0u));
        if (!less_u64(rest, trial)) {
            rest = sub_64(rest, trial);
            root.x |= 1u;
        }
    }
    root = shl_64(root, vec2<u32>(8u, 0u));
    root.x |= select(0u, 1u, (rest.x | rest.y) != 0u);
    return packed_f64(0u, (e >> 1u) + 1023, root);
}

fn rsqrt_f64(a: vec2<u32>) -> vec2<u32> { return div_f64(vec2<u32>(0u, 0x3ff00000u), sqrt_f64(a)); }

fn order_f64(a: vec2<u32>) -> vec2<u32> {
    if (is_zero_64(a)) { return vec2<u32>(0u, 0x80000000u); }
    if ((a.y >> 31u) == 1u) { return ~a; }
    return vec2<u32>(a.x, a.y | 0x80000000u);
}

fn less_f64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return !is_nan_64(a) && !is_nan_64(b) && less_u64(order_f64(a), order_f64(b));
}

fn at_most_f64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return !is_nan_64(a) && !is_nan_64(b) && !less_u64(order_f64(b), order_f64(a));
}

fn same_f64(a: vec2<u32>, b: vec2<u32>) -> bool { return at_most_f64(a, b) && at_most_f64(b, a); }

fn most_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if (is_nan_64(a)) { return a; }
    if (is_nan_64(b)) { return b; }
    if (same_f64(a, b)) { return a & b; }
    return select(b, a, less_f64(b, a));
}

fn least_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if (is_nan_64(a)) { return a; }
    if (is_nan_64(b)) { return b; }
    if (same_f64(a, b)) { return a | b; }
    return select(b, a, less_f64(a, b));
}

fn most_number_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(most_f64(a, b), a, is_nan_64(b)); }

fn least_number_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(least_f64(a, b), a, is_nan_64(b)); }

fn f64_of_f32(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    let sign = bits & 0x80000000u;
    let field = (bits >> 23u) & 0xffu;
    let fraction = bits & 0x7fffffu;
    if (field == 255u) { return vec2<u32>(fraction << 29u, sign | 0x7ff00000u | (fraction >> 3u)); }
    if (field != 0u) { return vec2<u32>(fraction << 29u, sign | ((field + 896u) << 20u) | (fraction >> 3u)); }
    return normal_f64(sign >> 31u, 1023 - 149 + 62, vec2<u32>(fraction, 0u));
}

fn f32_of_f64(a: vec2<u32>) -> f32 {
    let sign = a.y & 0x80000000u;
    if (is_nan_64(a)) { return float_of(sign | 0x7fc00000u | ((a.y & 0x7ffffu) << 3u) | (a.x >> 29u)); }
    if (is_inf_64(a)) { return float_of(sign | 0x7f800000u); }
    let x = parts_f64(a);
    var e = x.exponent - 896;
    var m = x.mantissa;
    if (e <= 0) {
        m = shr_kept(m, u32(min(1 - e, 100)));
        e = 1;
    }
    var kept = m.y >> 7u;
    let rest = vec2<u32>(m.x, m.y & 0x7fu);
    let middle = vec2<u32>(0u, 0x40u);
    if (less_u64(middle, rest) || (all(rest == middle) && (kept & 1u) == 1u)) { kept += 1u; }
    if (e >= 255) { return float_of(sign | 0x7f800000u); }
    return float_of(sign | (kept + (u32(e - 1) << 23u)));
}

fn f64_of_u64(a: vec2<u32>) -> vec2<u32> { return normal_f64(0u, 1023 + 62, a); }

fn f64_of_s64(a: vec2<u32>) -> vec2<u32> { return normal_f64(a.y >> 31u, 1023 + 62, size_64(a)); }

fn u64_of_f64(a: vec2<u32>) -> vec2<u32> {
    let x = parts_f64(a);
    let e = x.exponent - 1023;
    if (e < 0 || is_nan_64(a)) { return vec2<u32>(0u, 0u); }
    if (e > 63) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
    if (e == 63) { return shl_64(x.mantissa, vec2<u32>(1u, 0u)); }
    return shr_u64(x.mantissa, vec2<u32>(u32(62 - e), 0u));
}

fn s64_of_f64(a: vec2<u32>) -> vec2<u32> {
    let size = u64_of_f64(a);
    if ((a.y >> 31u) == 1u) { return select(negative_64(size), vec2<u32>(0u, 0x80000000u), (size.y >> 31u) == 1u); }
    return select(size, vec2<u32>(0xffffffffu, 0x7fffffffu), (size.y >> 31u) == 1u);
}

fn whole_f64(a: vec2<u32>, upwards: vec2<u32>) -> vec2<u32> {
    let e = i32((a.y >> 20u) & 0x7ffu) - 1023;
    let behind = shr_u64(vec2<u32>(0xffffffffu, 0xfffffu), vec2<u32>(u32(clamp(e, 0, 52)), 0u));
    let moved = add_64(size_f64(a), upwards & behind) & ~behind;
    return select(with_sign_f64(moved, a), a, e >= 52);
}

fn one_or_0_f64(a: vec2<u32>, is_one: bool) -> vec2<u32> {
    return with_sign_f64(vec2<u32>(0u, select(0u, 0x3ff00000u, is_one)), a);
}

fn is_below_1_f64(a: vec2<u32>) -> bool { return (a.y & 0x7fffffffu) < 0x3ff00000u; }

fn trunc_f64(a: vec2<u32>) -> vec2<u32> {
    return select(whole_f64(a, vec2<u32>()), one_or_0_f64(a, false), is_below_1_f64(a));
}

fn away_f64(a: vec2<u32>, is_away: bool) -> vec2<u32> {
    let upwards = vec2<u32>(select(0u, 0xffffffffu, is_away));
    return select(whole_f64(a, upwards), one_or_0_f64(a, is_away && !is_zero_64(a)), is_below_1_f64(a));
}

fn floor_f64(a: vec2<u32>) -> vec2<u32> { return away_f64(a, (a.y >> 31u) == 1u); }

fn ceil_f64(a: vec2<u32>) -> vec2<u32> { return away_f64(a, (a.y >> 31u) == 0u); }

fn half_of_1_f64(a: vec2<u32>) -> vec2<u32> {
    let e = clamp(i32((a.y >> 20u) & 0x7ffu) - 1023, 0, 52);
    return shr_u64(vec2<u32>(0u, 0x80000u), vec2<u32>(u32(e), 0u));
}

fn round_f64(a: vec2<u32>) -> vec2<u32> {
    let small = one_or_0_f64(a, (a.y & 0x7fffffffu) >= 0x3fe00000u);
    return select(whole_f64(a, half_of_1_f64(a)), small, is_below_1_f64(a));
}

fn even_f64(a: vec2<u32>) -> vec2<u32> {
    let half = half_of_1_f64(a);
    let is_odd = any((a & (half + half + vec2<u32>(0u, half.x >> 31u))) != vec2<u32>());
    let upwards = select(sub_64(half, vec2<u32>(1u, 0u)), half, is_odd);
    let small = one_or_0_f64(a, less_u64(vec2<u32>(0u, 0x3fe00000u), size_f64(a)));
    return select(whole_f64(a, upwards), small, is_below_1_f64(a));
}
"""
