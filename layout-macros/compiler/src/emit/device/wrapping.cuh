// Rust's wrapping arithmetic of signed integers, where C++ leaves overflow undefined and ptxas an absolute value.

// a + b modulo 2^32
__device__ __forceinline__ int wrapping_add(int a, int b) {
    return (int)((unsigned int)a + (unsigned int)b);
}

// a + b modulo 2^64
__device__ __forceinline__ long long wrapping_add(long long a, long long b) {
    return (long long)((unsigned long long)a + (unsigned long long)b);
}

// a - b modulo 2^32
__device__ __forceinline__ int wrapping_sub(int a, int b) {
    return (int)((unsigned int)a - (unsigned int)b);
}

// a - b modulo 2^64
__device__ __forceinline__ long long wrapping_sub(long long a, long long b) {
    return (long long)((unsigned long long)a - (unsigned long long)b);
}

// a * b modulo 2^32. In PTX: NVRTC makes `abs` of `a * (a < 0 ? -1 : 1)`, and ptxas takes its result for positive.
__device__ __forceinline__ int wrapping_mul(int a, int b) {
    int product;
    asm("mul.lo.s32 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

// a * b modulo 2^64. In PTX: NVRTC makes `abs` of `a * (a < 0 ? -1 : 1)`, and ptxas takes its result for positive.
__device__ __forceinline__ long long wrapping_mul(long long a, long long b) {
    long long product;
    asm("mul.lo.s64 %0, %1, %2;" : "=l"(product) : "l"(a), "l"(b));
    return product;
}

// a << count modulo 2^32; count is below 32
__device__ __forceinline__ int wrapping_shl(int a, int count) {
    return (int)((unsigned int)a << count);
}

// a << count modulo 2^64; count is below 64
__device__ __forceinline__ long long wrapping_shl(long long a, int count) {
    return (long long)((unsigned long long)a << count);
}

// -a modulo 2^32. In PTX: NVRTC makes `abs` of `a < 0 ? -a : a`, and ptxas takes its result for positive.
__device__ __forceinline__ int wrapping_neg(int a) {
    int result;
    asm("neg.s32 %0, %1;" : "=r"(result) : "r"(a));
    return result;
}

// -a modulo 2^64. In PTX: NVRTC makes `abs` of `a < 0 ? -a : a`, and ptxas takes its result for positive.
__device__ __forceinline__ long long wrapping_neg(long long a) {
    long long result;
    asm("neg.s64 %0, %1;" : "=l"(result) : "l"(a));
    return result;
}

// |a|, of the least value itself. Not `abs`: ptxas takes its result for positive.
__device__ __forceinline__ int wrapping_abs(int a) {
    int negative;
    asm("neg.s32 %0, %1;" : "=r"(negative) : "r"(a));
    return max(a, negative);
}

// |a|, of the least value itself. Not `abs`: ptxas takes its result for positive.
__device__ __forceinline__ long long wrapping_abs(long long a) {
    long long negative;
    asm("neg.s64 %0, %1;" : "=l"(negative) : "l"(a));
    return max(a, negative);
}

// a >> 31. In PTX: NVRTC makes `abs` of `(a ^ sign) - sign`.
__device__ __forceinline__ int sign_mask(int a) {
    int sign;
    asm("shr.s32 %0, %1, 31;" : "=r"(sign) : "r"(a));
    return sign;
}

// a >> 63. In PTX: NVRTC makes `abs` of `(a ^ sign) - sign`.
__device__ __forceinline__ long long sign_mask(long long a) {
    long long sign;
    asm("shr.s64 %0, %1, 63;" : "=l"(sign) : "l"(a));
    return sign;
}

// a / b, of the least value and -1 the least value; a where b is 0
__device__ __forceinline__ int wrapping_div(int a, int b) {
    return b == -1 ? (int)(0u - (unsigned int)a) : a / (b == 0 ? 1 : b);
}

// a % b, of the least value and -1 zero, and so where b is 0
__device__ __forceinline__ int wrapping_rem(int a, int b) {
    return b == -1 ? 0 : a % (b == 0 ? 1 : b);
}

// a / b, of the least value and -1 the least value; a where b is 0
__device__ __forceinline__ long long wrapping_div(long long a, long long b) {
    return b == -1 ? (long long)(0ull - (unsigned long long)a) : a / (b == 0 ? 1 : b);
}

// a % b, of the least value and -1 zero, and so where b is 0
__device__ __forceinline__ long long wrapping_rem(long long a, long long b) {
    return b == -1 ? 0 : a % (b == 0 ? 1 : b);
}
