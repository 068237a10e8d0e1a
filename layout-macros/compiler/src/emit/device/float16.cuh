// 16-bit floats, kept as their bits. Arithmetic on them is done in `float` and rounded once, to nearest even.

// Exact.
__device__ __forceinline__ float f16_to_f32(f16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

// The bits of the nearest f16.
__device__ __forceinline__ f16 f32_to_f16(float value) {
    f16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// Exact.
__device__ __forceinline__ float bf16_to_f32(bf16 bits) {
    return __int_as_float((int)((unsigned int)bits << 16));
}

// The bits of the nearest bf16 (sm_80 and later).
__device__ __forceinline__ bf16 f32_to_bf16(float value) {
    bf16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// Toward zero, the last bit one where that is not exact: a narrower float of it is rounded once.
__device__ __forceinline__ float to_odd(double value) {
    float cut = __double2float_rz(value);
    return __uint_as_float(__float_as_uint(cut) | (unsigned int)((double)cut != value));
}

// Toward zero, the last bit one where that is not exact: a narrower float of it is rounded once.
__device__ __forceinline__ float to_odd(int value) {
    float cut = __int2float_rz(value);
    return __uint_as_float(__float_as_uint(cut) | (unsigned int)((int)cut != value));
}

// Toward zero, the last bit one where that is not exact: a narrower float of it is rounded once.
__device__ __forceinline__ float to_odd(unsigned int value) {
    float cut = __uint2float_rz(value);
    return __uint_as_float(__float_as_uint(cut) | (unsigned int)((unsigned int)cut != value));
}

// Toward zero, the last bit one where that is not exact: a narrower float of it is rounded once.
__device__ __forceinline__ float to_odd(long long value) {
    float cut = __ll2float_rz(value);
    return __uint_as_float(__float_as_uint(cut) | (unsigned int)((long long)cut != value));
}

// Toward zero, the last bit one where that is not exact: a narrower float of it is rounded once.
__device__ __forceinline__ float to_odd(unsigned long long value) {
    float cut = __ull2float_rz(value);
    return __uint_as_float(__float_as_uint(cut) | (unsigned int)((unsigned long long)cut != value));
}

// The smaller; the number where the other is NaN, and -0 is below 0.
__device__ __forceinline__ f16 min_f16(f16 a, f16 b) {
    f16 smaller;
#if __CUDA_ARCH__ >= 800
    asm("min.f16 %0, %1, %2;" : "=h"(smaller) : "h"(a), "h"(b));
#else
    asm("{ .reg .f32 x, y; cvt.f32.f16 x, %1; cvt.f32.f16 y, %2; min.f32 x, x, y; cvt.rn.f16.f32 %0, x; }"
        : "=h"(smaller) : "h"(a), "h"(b));
#endif
    return smaller;
}

// The smaller; the number where the other is NaN, and -0 is below 0 (sm_80 and later).
__device__ __forceinline__ bf16 min_bf16(bf16 a, bf16 b) {
    bf16 smaller;
    asm("min.bf16 %0, %1, %2;" : "=h"(smaller) : "h"(a), "h"(b));
    return smaller;
}

// The larger; the number where the other is NaN, and -0 is below 0.
__device__ __forceinline__ f16 max_f16(f16 a, f16 b) {
    f16 larger;
#if __CUDA_ARCH__ >= 800
    asm("max.f16 %0, %1, %2;" : "=h"(larger) : "h"(a), "h"(b));
#else
    asm("{ .reg .f32 x, y; cvt.f32.f16 x, %1; cvt.f32.f16 y, %2; max.f32 x, x, y; cvt.rn.f16.f32 %0, x; }"
        : "=h"(larger) : "h"(a), "h"(b));
#endif
    return larger;
}

// The larger; the number where the other is NaN, and -0 is below 0 (sm_80 and later).
__device__ __forceinline__ bf16 max_bf16(bf16 a, bf16 b) {
    bf16 larger;
    asm("max.bf16 %0, %1, %2;" : "=h"(larger) : "h"(a), "h"(b));
    return larger;
}
