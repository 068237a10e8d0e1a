// Rust's functions of integers. Those of bits are called with the unsigned type of as many bits.

// The bits that are one.
template <typename T>
__device__ __forceinline__ unsigned int count_ones(T a) {
    return sizeof(T) == 8 ? __popcll(a) : __popc(a);
}

// The zeros above the highest one.
template <typename T>
__device__ __forceinline__ unsigned int leading_zeros(T a) {
    return sizeof(T) == 8 ? __clzll(a) : __clz(a) - (32 - 8 * (int)sizeof(T));
}

// The zeros below the lowest one.
template <typename T>
__device__ __forceinline__ unsigned int trailing_zeros(T a) {
    return sizeof(T) == 8 ? __clzll(__brevll(a)) : min(__clz(__brev(a)), 8 * (int)sizeof(T));
}

// The bits, moved up in a circle.
template <typename T>
__device__ __forceinline__ T rotate_left(T a, unsigned int count) {
    unsigned int last = 8 * sizeof(T) - 1;
    return (T)(a << (count & last) | a >> ((0u - count) & last));
}

// The bits, moved down in a circle.
template <typename T>
__device__ __forceinline__ T rotate_right(T a, unsigned int count) {
    unsigned int last = 8 * sizeof(T) - 1;
    return (T)(a >> (count & last) | a << ((0u - count) & last));
}

// The bits in the other order.
template <typename T>
__device__ __forceinline__ T reverse_bits(T a) {
    if constexpr (sizeof(T) == 8) {
        return __brevll(a);
    } else {
        return (T)(__brev(a) >> (32 - 8 * sizeof(T)));
    }
}

// The bytes in the other order.
template <typename T>
__device__ __forceinline__ T swap_bytes(T a) {
    if constexpr (sizeof(T) == 8) {
        unsigned int low = __byte_perm((unsigned int)a, 0, 0x0123);
        return (T)low << 32 | __byte_perm((unsigned int)(a >> 32), 0, 0x0123);
    } else if constexpr (sizeof(T) == 4) {
        return __byte_perm(a, 0, 0x0123);
    } else if constexpr (sizeof(T) == 2) {
        return (T)(a << 8 | a >> 8);
    } else {
        return a;
    }
}

// a to the power n, modulo the type's width.
template <typename T>
__device__ __forceinline__ T power(T a, unsigned int n) {
    T result = 1;
    for (; n != 0; n /= 2) {
        if (n % 2 == 1) {
            result = (T)(1u * result * a);
        }
        a = (T)(1u * a * a);
    }
    return result;
}

// The place of the highest one.
template <typename T>
__device__ __forceinline__ unsigned int integer_log2(T a) {
    return sizeof(T) == 8 ? 63 - __clzll(a) : 31 - __clz(a);
}

// Whether exactly one bit is one.
template <typename T>
__device__ __forceinline__ bool is_power_of_two(T a) {
    return a != 0 && (a & (a - 1)) == 0;
}

// |a - b|
template <typename T>
__device__ __forceinline__ unsigned long long abs_diff(T a, T b) {
    return a < b ? (unsigned long long)b - (unsigned long long)a : (unsigned long long)a - (unsigned long long)b;
}

// -1, 0 or 1
template <typename T>
__device__ __forceinline__ T signum_of_integer(T a) {
    return (T)((a > 0) - (a < 0));
}

// Between two bounds; NaN stays NaN.
template <typename T>
__device__ __forceinline__ T clamp(T a, T low, T high) {
    return a < low ? low : a > high ? high : a;
}

// a + b, cut at the ends of the type.
template <typename T>
__device__ __forceinline__ T saturating_add(T a, T b) {
    T sum = (T)((unsigned long long)a + (unsigned long long)b);
    if constexpr ((T)-1 < (T)0) {
        T most = (T)(~0ull >> (65 - 8 * sizeof(T)));
        return b < 0 ? (sum > a ? (T)~most : sum) : (sum < a ? most : sum);
    } else {
        return sum < a ? (T)~(T)0 : sum;
    }
}

// a - b, cut at the ends of the type.
template <typename T>
__device__ __forceinline__ T saturating_sub(T a, T b) {
    T difference = (T)((unsigned long long)a - (unsigned long long)b);
    if constexpr ((T)-1 < (T)0) {
        T most = (T)(~0ull >> (65 - 8 * sizeof(T)));
        return b < 0 ? (difference < a ? most : difference) : (difference > a ? (T)~most : difference);
    } else {
        return a < b ? (T)0 : difference;
    }
}

// a * b, cut at the ends of the type.
template <typename T>
__device__ __forceinline__ T saturating_mul(T a, T b) {
    if constexpr ((T)-1 < (T)0) {
        T most = (T)(~0ull >> (65 - 8 * sizeof(T)));
        long long low = (long long)((unsigned long long)a * (unsigned long long)b);
        bool fits = sizeof(T) == 8 ? __mul64hi(a, b) == low >> 63 : (T)low == low;
        return fits ? (T)low : (a < 0) == (b < 0) ? most : (T)~most;
    } else {
        unsigned long long low = (unsigned long long)a * b;
        bool fits = sizeof(T) == 8 ? __umul64hi(a, b) == 0 : (T)low == low;
        return fits ? (T)low : (T)~(T)0;
    }
}

// The upper 32 of the 64 bits high:low, moved up by count modulo 32.
__device__ __forceinline__ unsigned int funnel_shift_left(unsigned int high, unsigned int low, unsigned int count) {
    return __funnelshift_l(low, high, count);
}

// The lower 32 of the 64 bits high:low, moved down by count modulo 32.
__device__ __forceinline__ unsigned int funnel_shift_right(unsigned int high, unsigned int low, unsigned int count) {
    return __funnelshift_r(low, high, count);
}
