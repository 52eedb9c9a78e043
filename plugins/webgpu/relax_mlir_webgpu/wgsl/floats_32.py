# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of f32 in WGSL. The language's own functions are inexact, and may mishandle NaNs and infinities.

WGSL lets devices round x * y + z twice. If most of z cancels, these functions add exact partial products instead. Other
targets compute most functions in f64, which is slow here. The polynomials come from Cephes. Range reduction of
large angles multiplies by 2 / pi in integers, as in Arm's routines.
"""

TEXTS = """\
fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    let x = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
    let y = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
    let zero = arguments[0].z;
    let rest = apart(x * (b - y) + (a - x) * y, zero);
    let near = (apart(x * y + c, zero) + rest) + (a - x) * (b - y);
    let found = fma(a, b, c);
    return select(found, near, abs(found) < 0.5f * abs(c));
}

fn exp_f32(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    if (x > 89f) { return float_of(0x7f800000u); }
    if (x < -104f) { return 0f; }
    let n = round(x * 1.44269504f);
    let r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    var p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    let half = i32(n) >> 1u;
    let first = bitcast<f32>((half + 127) << 23u);
    return (p * r * r + r + 1f) * first * bitcast<f32>((i32(n) - half + 127) << 23u);
}

fn log_parts(x: f32) -> vec2<f32> {
    let is_small = x < 1.17549435e-38f;
    let bits = bitcast<u32>(select(x, x * 16777216f, is_small));
    var e = i32(bits >> 23u) - 126 - select(0, 24, is_small);
    var m = bitcast<f32>((bits & 0x7fffffu) | 0x3f000000u);
    if (m < 0.707106781f) {
        m = m + m;
        e -= 1;
    }
    return vec2<f32>(m - 1f, f32(e));
}

fn log_near_1(z: f32) -> f32 {
    var p = 7.0376836292e-2f * z - 1.1514610310e-1f;
    p = p * z + 1.1676998740e-1f;
    p = p * z - 1.2420140846e-1f;
    p = p * z + 1.4249322787e-1f;
    p = p * z - 1.6668057665e-1f;
    p = p * z + 2.0000714765e-1f;
    p = p * z - 2.4999993993e-1f;
    p = p * z + 3.3333331174e-1f;
    return p * z * z * z - 0.5f * z * z;
}

fn log_f32(x: f32) -> f32 {
    if (is_nan(x) || x < 0f) { return float_of(0x7fc00000u); }
    if (x == 0f) { return float_of(0xff800000u); }
    if (bitcast<u32>(x) == 0x7f800000u) { return x; }
    let parts = log_parts(x);
    return (log_near_1(parts.x) - parts.y * 2.12194440e-4f) + parts.x + parts.y * 0.693359375f;
}

fn log1p_f32(x: f32) -> f32 {
    let u = apart(1f + x, arguments[0].z);
    if (u == 1f || bitcast<u32>(x) == 0x7f800000u) { return x; }
    return log_f32(u) * (x / (u - 1f));
}

fn sinh_f32(x: f32) -> f32 {
    let size = abs(x);
    if (size < 1f) {
        let z = x * x;
        let further = 8.33333376795e-3f + z * (1.98412701138e-4f + z * 2.75573188446e-6f);
        return x + x * z * (1.66666671633e-1f + z * further);
    }
    return with_sign(select(0.5f * (exp_f32(size) - exp_f32(-size)), half_exp(size), size > 20f), x);
}

fn half_exp(x: f32) -> f32 {
    let e = exp_f32(0.5f * x);
    return 0.5f * e * e;
}

fn cosh_f32(x: f32) -> f32 {
    let size = abs(x);
    return select(0.5f * (exp_f32(size) + exp_f32(-size)), half_exp(size), size > 20f);
}

fn asinh_f32(x: f32) -> f32 {
    let size = abs(x);
    if (size > 1e9f) { return with_sign(log_f32(size) + 0.693147181f, x); }
    let z = size * size;
    return with_sign(select(log1p_f32(size + z / (1f + sqrt(1f + z))), size, size < 1e-4f || is_nan(x)), x);
}

fn acosh_f32(x: f32) -> f32 {
    if (is_nan(x) || x < 1f) { return float_of(0x7fc00000u); }
    if (x > 1e9f) { return log_f32(x) + 0.693147181f; }
    let t = x - 1f;
    return log1p_f32(t + sqrt(2f * t + t * t));
}

fn atanh_f32(x: f32) -> f32 {
    let size = abs(x);
    if (is_nan(x) || size > 1f) { return float_of(0x7fc00000u); }
    if (size == 1f) { return with_sign(float_of(0x7f800000u), x); }
    return with_sign(0.5f * log1p_f32((size + size) / (1f - size)), x);
}

fn cbrt_f32(x: f32) -> f32 {
    if (x == 0f || is_nan(x) || (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u) { return x; }
    let is_small = abs(x) < 1.17549435e-38f;
    let size = select(abs(x), abs(x) * 16777216f, is_small);
    var t = bitcast<f32>(bitcast<u32>(size) / 3u + 709921077u);
    for (var i = 0; i < 3; i++) { t = t - (t - size / (t * t)) * 0.333333333f; }
    return with_sign(select(t, t * 0.00390625f, is_small), x);
}

fn pow_f32(x: f32, y: f32) -> f32 {
    let size = abs(x);
    if (y == 0f || x == 1f) { return 1f; }
    if (is_nan(x) || is_nan(y)) { return float_of(0x7fc00000u); }
    let is_whole = floor(y) == y;
    let is_odd = is_whole && abs(y) < 16777216f && (i32(y) & 1) == 1;
    if (x < 0f && !is_whole && bitcast<u32>(size) != 0x7f800000u) { return float_of(0x7fc00000u); }
    let sign = select(1f, x, is_odd);
    if (size == 1f) { return with_sign(1f, sign); }
    let is_large = (bitcast<u32>(size) == 0x7f800000u) == (y > 0f);
    let is_edge = size == 0f || bitcast<u32>(size) == 0x7f800000u;
    if (is_edge) { return with_sign(float_of(select(0u, 0x7f800000u, is_large)), sign); }
    if ((bitcast<u32>(y) & 0x7fffffffu) == 0x7f800000u) {
        return float_of(select(0u, 0x7f800000u, (size > 1f) == (y > 0f)));
    }
    let parts = log_parts(size);
    let near = (parts.x + log_near_1(parts.x)) * 1.44269504f;
    let far = y * parts.y;
    let small = y * near;
    let n = round(clamp(far + small, -300f, 300f));
    let found = exp_f32(clamp((far - n) + small, -1f, 1f) * 0.693147181f);
    let half = i32(n) >> 1u;
    let scale = bitcast<f32>((clamp(half, -126, 127) + 127) << 23u);
    return with_sign(found * scale * bitcast<f32>((clamp(i32(n) - half, -126, 127) + 127) << 23u), sign);
}

const TWO_OVER_PI = array<u32, 24>(
    0xa2u, 0xa2f9u, 0xa2f983u, 0xa2f9836eu, 0xf9836e4eu, 0x836e4e44u, 0x6e4e4415u, 0x4e441529u, 0x441529fcu,
    0x1529fc27u, 0x29fc2757u, 0xfc2757d1u, 0x2757d1f5u, 0x57d1f534u, 0xd1f534ddu, 0xf534ddc0u, 0x34ddc0dbu,
    0xddc0db62u, 0xc0db6295u, 0xdb629599u, 0x6295993cu, 0x95993c43u, 0x993c4390u, 0x3c439041u);

fn quarter_turns(x: f32) -> vec2<f32> {
    let size = abs(x);
    if (size < 100f) {
        let n = round(size * 0.636619772f);
        let r = ((size - n * 1.5703125f) - n * 4.8351287841796875e-4f) - n * 3.13855707645416259765625e-7f;
        return vec2<f32>(r - n * 6.077100628276e-11f, n);
    }
    let bits = bitcast<u32>(size);
    var table = TWO_OVER_PI;
    let place = (bits >> 26u) & 15u;
    let m = ((bits & 0x7fffffu) | 0x800000u) << ((bits >> 23u) & 7u);
    let high = vec2<u32>(0u, m * table[place]);
    let middle = product_32(m, table[place + 4u]);
    let low = vec2<u32>(product_32(m, table[place + 8u]).y, 0u);
    var found = add_64(vec2<u32>(low.x, high.y), middle);
    let n = add_64(found, vec2<u32>(0u, 0x20000000u)).y >> 30u;
    found = sub_64(found, vec2<u32>(0u, n << 30u));
    return vec2<f32>(float_of_s64(found) * 3.40612100e-19f, f32(n));
}

fn sine_of(r: f32, n: i32) -> f32 {
    let z = r * r;
    let sine = r + r * z * (-1.6666654611e-1f + z * (8.3321608736e-3f - z * 1.9515295891e-4f));
    let further = 4.166664568298827e-2f + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f);
    let cosine = 1f - 0.5f * z + z * z * further;
    let found = select(sine, cosine, (n & 1) == 1);
    return select(found, -found, (n & 2) == 2);
}

fn is_endless(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u; }

fn sin_f32(x: f32) -> f32 {
    if (is_endless(x)) { return float_of(0x7fc00000u); }
    let turned = quarter_turns(x);
    let found = sine_of(turned.x, i32(turned.y));
    return select(bitcast<f32>(bitcast<u32>(found) ^ (bitcast<u32>(x) & 0x80000000u)), x, x == 0f);
}

fn cos_f32(x: f32) -> f32 {
    if (is_endless(x)) { return float_of(0x7fc00000u); }
    let turned = quarter_turns(x);
    return sine_of(turned.x, i32(turned.y) + 1);
}

fn tan_f32(x: f32) -> f32 {
    if (is_endless(x)) { return float_of(0x7fc00000u); }
    let turned = quarter_turns(x);
    let found = sine_of(turned.x, i32(turned.y)) / sine_of(turned.x, i32(turned.y) + 1);
    return select(bitcast<f32>(bitcast<u32>(found) ^ (bitcast<u32>(x) & 0x80000000u)), x, x == 0f);
}
"""
