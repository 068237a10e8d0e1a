// Rust's functions of floats that CUDA does not have.

// 1 with the sign of a; NaN of NaN.
__device__ __forceinline__ float signum(float a) {
    return a == a ? copysignf(1.0f, a) : a;
}

// Whether it is NaN.
__device__ __forceinline__ bool is_nan(float a) {
    return a != a;
}

// Whether it is neither NaN nor infinite.
__device__ __forceinline__ bool is_finite(float a) {
    return fabsf(a) < __int_as_float(0x7f800000);
}

// Whether it is infinite.
__device__ __forceinline__ bool is_infinite(float a) {
    return fabsf(a) == __int_as_float(0x7f800000);
}

// What is behind the point.
__device__ __forceinline__ float fract(float a) {
    return a - truncf(a);
}

// 1 / a
__device__ __forceinline__ float recip(float a) {
    return 1.0f / a;
}

// a to the power n, by products of squares.
__device__ __forceinline__ float powi(float a, int n) {
    float result = 1.0f;
    unsigned int left = n < 0 ? 0u - (unsigned int)n : (unsigned int)n;
    for (; left != 0; left /= 2) {
        if (left % 2 == 1) {
            result *= a;
        }
        a *= a;
    }
    return n < 0 ? 1.0f / result : result;
}

// 1 with the sign of a; NaN of NaN.
__device__ __forceinline__ double signum(double a) {
    return a == a ? copysign(1.0, a) : a;
}

// Whether it is NaN.
__device__ __forceinline__ bool is_nan(double a) {
    return a != a;
}

// Whether it is neither NaN nor infinite.
__device__ __forceinline__ bool is_finite(double a) {
    return fabs(a) < __longlong_as_double(0x7ff0000000000000LL);
}

// Whether it is infinite.
__device__ __forceinline__ bool is_infinite(double a) {
    return fabs(a) == __longlong_as_double(0x7ff0000000000000LL);
}

// What is behind the point.
__device__ __forceinline__ double fract(double a) {
    return a - trunc(a);
}

// 1 / a
__device__ __forceinline__ double recip(double a) {
    return 1.0 / a;
}

// a to the power n, by products of squares.
__device__ __forceinline__ double powi(double a, int n) {
    double result = 1.0;
    unsigned int left = n < 0 ? 0u - (unsigned int)n : (unsigned int)n;
    for (; left != 0; left /= 2) {
        if (left % 2 == 1) {
            result *= a;
        }
        a *= a;
    }
    return n < 0 ? 1.0 / result : result;
}
