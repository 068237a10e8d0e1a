// Rust's wrapping arithmetic of signed integers, where C++ leaves overflow undefined.

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

// a * b modulo 2^32
__device__ __forceinline__ int wrapping_mul(int a, int b) {
    return (int)((unsigned int)a * (unsigned int)b);
}

// a * b modulo 2^64
__device__ __forceinline__ long long wrapping_mul(long long a, long long b) {
    return (long long)((unsigned long long)a * (unsigned long long)b);
}

// a << count modulo 2^32; count is below 32
__device__ __forceinline__ int wrapping_shl(int a, int count) {
    return (int)((unsigned int)a << count);
}

// a << count modulo 2^64; count is below 64
__device__ __forceinline__ long long wrapping_shl(long long a, int count) {
    return (long long)((unsigned long long)a << count);
}

// -a modulo 2^32
__device__ __forceinline__ int wrapping_neg(int a) {
    return (int)(0u - (unsigned int)a);
}

// -a modulo 2^64
__device__ __forceinline__ long long wrapping_neg(long long a) {
    return (long long)(0ull - (unsigned long long)a);
}

// |a|, of the least value itself
__device__ __forceinline__ int wrapping_abs(int a) {
    return a < 0 ? (int)(0u - (unsigned int)a) : a;
}

// |a|, of the least value itself
__device__ __forceinline__ long long wrapping_abs(long long a) {
    return a < 0 ? (long long)(0ull - (unsigned long long)a) : a;
}

// a / b, of the least value and -1 the least value
__device__ __forceinline__ int wrapping_div(int a, int b) {
    return b == -1 ? (int)(0u - (unsigned int)a) : a / b;
}

// a % b, of the least value and -1 zero
__device__ __forceinline__ int wrapping_rem(int a, int b) {
    return b == -1 ? 0 : a % b;
}

// a / b, of the least value and -1 the least value
__device__ __forceinline__ long long wrapping_div(long long a, long long b) {
    return b == -1 ? (long long)(0ull - (unsigned long long)a) : a / b;
}

// a % b, of the least value and -1 zero
__device__ __forceinline__ long long wrapping_rem(long long a, long long b) {
    return b == -1 ? 0 : a % b;
}
