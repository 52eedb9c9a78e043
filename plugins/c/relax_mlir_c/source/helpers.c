/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   Functions that programs use, each written only where it is. @W is a number of bits of integers, @V of floats, @F
   their type, @LIMIT what no integer of that many bits reaches, @TRUNC C's function that cuts off. */

static inline int@W_t wrap_add_i@W(int@W_t a, int@W_t b) {
    return (int@W_t)((uint@W_t)a + (uint@W_t)b);
}

static inline int@W_t wrap_sub_i@W(int@W_t a, int@W_t b) {
    return (int@W_t)((uint@W_t)a - (uint@W_t)b);
}

static inline int@W_t wrap_mul_i@W(int@W_t a, int@W_t b) {
    return (int@W_t)(1u * (uint@W_t)a * (uint@W_t)b);
}

static inline int@W_t shift_left_i@W(int@W_t a, int@W_t by) {
    return (int@W_t)(1u * (uint@W_t)a << ((uint@W_t)by % @W));
}

static inline int@W_t shift_right_i@W(int@W_t a, int@W_t by) {
    return (int@W_t)(a >> ((uint@W_t)by % @W));
}

static inline int@W_t shift_right_u@W(int@W_t a, int@W_t by) {
    return (int@W_t)((uint@W_t)a >> ((uint@W_t)by % @W));
}

static inline int@W_t floor_div_i@W(int@W_t a, int@W_t b) {
    return (int@W_t)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}

static inline int@W_t ceil_div_i@W(int@W_t a, int@W_t b) {
    return (int@W_t)(a / b + (a % b != 0 && (a < 0) == (b < 0)));
}

static inline int@W_t ceil_div_u@W(int@W_t a, int@W_t b) {
    return (int@W_t)((uint@W_t)a / (uint@W_t)b + ((uint@W_t)a % (uint@W_t)b != 0));
}

static inline int@W_t low_bits_i@W(int@W_t a, int bits) {
    const int@W_t moved = (int@W_t)(1u * (uint@W_t)a << (@W - bits));
    return (int@W_t)(moved >> (@W - bits));
}

static inline int@W_t leading_zeros_i@W(int@W_t a) {
    int@W_t n = @W;
    for (uint@W_t rest = (uint@W_t)a; rest != 0; rest = (uint@W_t)(rest >> 1)) {
        n--;
    }
    return n;
}

static inline int@W_t trailing_zeros_i@W(int@W_t a) {
    int@W_t n = 0;
    for (uint@W_t rest = (uint@W_t)a; n < @W && (rest & 1u) == 0; rest = (uint@W_t)(rest >> 1)) {
        n++;
    }
    return n;
}

static inline int@W_t count_ones_i@W(int@W_t a) {
    int@W_t n = 0;
    for (uint@W_t rest = (uint@W_t)a; rest != 0; rest = (uint@W_t)(rest >> 1)) {
        n = (int@W_t)(n + (int@W_t)(rest & 1u));
    }
    return n;
}

static inline int@W_t power_i@W(int@W_t a, int@W_t n) {
    uint@W_t result = 1, square = (uint@W_t)a;
    if (n < 0) {
        return (int@W_t)(a == 1 ? 1 : a != -1 ? 0 : n % 2 == 0 ? 1 : -1);
    }
    for (; n > 0; n = (int@W_t)(n / 2)) {
        if (n % 2 == 1) {
            result = (uint@W_t)(1u * result * square);
        }
        square = (uint@W_t)(1u * square * square);
    }
    return (int@W_t)result;
}

static inline int@W_t high_product_i@W(int@W_t a, int@W_t b, bool has_sign) {
    const uint64_t half = @W / 2, mask = ((uint64_t)1 << half) - 1;
    const uint64_t x = (uint@W_t)a, y = (uint@W_t)b;
    const uint64_t low = (x & mask) * (y & mask), one = (x >> half) * (y & mask) + (low >> half);
    const uint64_t two = (x & mask) * (y >> half) + (one & mask);
    uint64_t high = (x >> half) * (y >> half) + (one >> half) + (two >> half);
    if (has_sign) {
        high -= (a < 0 ? y : 0) + (b < 0 ? x : 0);
    }
    return (int@W_t)high;
}

static inline @F max_f@V(@F a, @F b) {
    return isnan(a) || a > b || (a == b && !signbit(a)) ? a : b;
}

static inline @F min_f@V(@F a, @F b) {
    return isnan(a) || a < b || (a == b && signbit(a)) ? a : b;
}

static inline int@V_t bits_of_f@V(@F a) {
    union {
        @F number;
        int@V_t bits;
    } both;
    both.number = a;
    return both.bits;
}

static inline @F f@V_of_bits(int@V_t a) {
    union {
        @F number;
        int@V_t bits;
    } both;
    both.bits = a;
    return both.number;
}

static inline int@W_t i@W_of_f@V(@F a) {
    const @F whole = @TRUNC(a);
    return whole >= -@LIMIT && whole < @LIMIT ? (int@W_t)whole : INT@W_MIN;
}

static inline int@W_t u@W_of_f@V(@F a) {
    return a > -1 && a < 2 * @LIMIT ? (int@W_t)(uint@W_t)a : (int@W_t)-1;
}

static inline float f32_of_f16(uint16_t a) {
    const uint32_t sign = (uint32_t)(a & 0x8000u) << 16, size = a & 0x7fffu;
    union {
        uint32_t bits;
        float number;
    } both;
    if (size < 0x400u) {
        both.number = (float)size / 16777216.0f;
    } else {
        both.bits = (size << 13) + (size < 0x7c00u ? 112u << 23 : 224u << 23);
    }
    both.bits |= sign;
    return both.number;
}

static inline uint16_t f16_of_f32(float a) {
    union {
        float number;
        uint32_t bits;
    } both;
    uint32_t sign, size, kept, by = 13;
    both.number = a;
    sign = (both.bits >> 16) & 0x8000u;
    size = both.bits & 0x7fffffffu;
    if (size > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u | ((size >> 13) & 0x1ffu));
    }
    if (size >= 0x477ff000u) {
        return (uint16_t)(sign | 0x7c00u);
    }
    if (size < 0x33000000u) {
        return (uint16_t)sign;
    }
    if (size < 0x38800000u) {
        by = 126u - (size >> 23);
        size = (size & 0x7fffffu) | 0x800000u;
    } else {
        size -= 112u << 23;
    }
    kept = size >> by;
    size &= (1u << by) - 1u;
    if (size > 1u << (by - 1u) || (size == 1u << (by - 1u) && (kept & 1u) != 0)) {
        kept++;
    }
    return (uint16_t)(sign | kept);
}

static inline float f32_of_bf16(uint16_t a) {
    union {
        uint32_t bits;
        float number;
    } both;
    both.bits = (uint32_t)a << 16;
    return both.number;
}

static inline uint16_t bf16_of_f32(float a) {
    union {
        float number;
        uint32_t bits;
    } both;
    both.number = a;
    if (isnan(a)) {
        return (uint16_t)((both.bits >> 16) | 0x40u);
    }
    return (uint16_t)((both.bits + 0x7fffu + ((both.bits >> 16) & 1u)) >> 16);
}

static inline float odd_f32_of_f64(double a) {
    union {
        float number;
        uint32_t bits;
    } both;
    both.number = (float)a;
    if (!isnan(a) && (double)both.number != a && (both.bits & 1u) == 0) {
        both.bits = fabs((double)both.number) < fabs(a) ? both.bits + 1u : both.bits - 1u;
    }
    return both.number;
}

static inline int64_t random_key(void) {
    static int64_t given = 0;
#ifdef __GNUC__
    return __atomic_fetch_add(&given, 1, __ATOMIC_RELAXED);
#else
    return given++;
#endif
}
