# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floats of 64 bits by integers, which WGSL does not have: their bits are two words, low one first.

They are as IEEE 754 says, to the nearest even number, but fma, which rounds twice. A mantissa is a number of 63 bits of
which the highest is 1, that of 1.0; the lowest ten are for rounding, where the last one says whether any bit was lost.
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

fn add_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if (is_nan_64(a)) { return quiet_f64(a); }
    if (is_nan_64(b)) { return quiet_f64(b); }
    if (is_inf_64(a)) {
        if (is_inf_64(b) && a.y != b.y) { return vec2<u32>(0u, 0x7ff80000u); }
        return a;
    }
    if (is_inf_64(b)) { return b; }
    let x = parts_f64(a);
    let y = parts_f64(b);
    let e = max(x.exponent, y.exponent);
    let m = shr_kept(x.mantissa, u32(min(e - x.exponent, 100)));
    let n = shr_kept(y.mantissa, u32(min(e - y.exponent, 100)));
    if (x.sign == y.sign) { return normal_f64(x.sign, e, add_64(m, n)); }
    if (all(m == n)) { return vec2<u32>(0u, 0u); }
    if (less_u64(m, n)) { return normal_f64(y.sign, e, sub_64(n, m)); }
    return normal_f64(x.sign, e, sub_64(m, n));
}

fn sub_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if (is_nan_64(b)) { return quiet_f64(b); }
    return add_f64(a, negative_f64(b));
}

fn high_128(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = product_32(a.x, b.x);
    let first = add_64(product_32(a.y, b.x), vec2<u32>(low.y, 0u));
    let second = add_64(product_32(a.x, b.y), vec2<u32>(first.x, 0u));
    let high = add_64(product_32(a.y, b.y), add_64(vec2<u32>(first.y, 0u), vec2<u32>(second.y, 0u)));
    return vec2<u32>(high.x | select(0u, 1u, (low.x | second.x) != 0u), high.y);
}

fn mul_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if (is_nan_64(a)) { return quiet_f64(a); }
    if (is_nan_64(b)) { return quiet_f64(b); }
    let sign = (a.y ^ b.y) & 0x80000000u;
    if (is_inf_64(a) || is_inf_64(b)) {
        if (is_zero_64(a) || is_zero_64(b)) { return vec2<u32>(0u, 0x7ff80000u); }
        return vec2<u32>(0u, sign | 0x7ff00000u);
    }
    if (is_zero_64(a) || is_zero_64(b)) { return vec2<u32>(0u, sign); }
    let x = parts_f64(a);
    let y = parts_f64(b);
    let one = vec2<u32>(1u, 0u);
    let m = high_128(shl_64(x.mantissa, one), shl_64(y.mantissa, one));
    return normal_f64(sign >> 31u, x.exponent + y.exponent - 1023, m);
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

fn fma_f64(a: vec2<u32>, b: vec2<u32>, c: vec2<u32>) -> vec2<u32> { return add_f64(mul_f64(a, b), c); }

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

fn trunc_f64(a: vec2<u32>) -> vec2<u32> {
    let e = i32((a.y >> 20u) & 0x7ffu) - 1023;
    if (e >= 52) { return a; }
    if (e < 0) { return vec2<u32>(0u, a.y & 0x80000000u); }
    let gone = vec2<u32>(u32(52 - e), 0u);
    return shl_64(shr_u64(a, gone), gone);
}

fn floor_f64(a: vec2<u32>) -> vec2<u32> {
    let whole = trunc_f64(a);
    if (less_f64(a, whole)) { return sub_f64(whole, vec2<u32>(0u, 0x3ff00000u)); }
    return whole;
}

fn ceil_f64(a: vec2<u32>) -> vec2<u32> { return negative_f64(floor_f64(negative_f64(a))); }

fn even_f64(a: vec2<u32>) -> vec2<u32> {
    let size = size_f64(a);
    let far = vec2<u32>(0u, 0x43300000u);
    if (!less_f64(size, far)) { return a; }
    return with_sign_f64(sub_f64(add_f64(size, far), far), a);
}

fn round_f64(a: vec2<u32>) -> vec2<u32> {
    let whole = trunc_f64(a);
    let rest = size_f64(sub_f64(a, whole));
    let step = select(vec2<u32>(0u, 0u), vec2<u32>(0u, 0x3ff00000u), !less_f64(rest, vec2<u32>(0u, 0x3fe00000u)));
    return select(with_sign_f64(add_f64(size_f64(whole), step), a), a, is_nan_64(a) || is_inf_64(a));
}
"""
