// The hardware's approximations: one instruction each.

// 2 to the power a.
__device__ __forceinline__ float exp2_approx(float a) {
    float value;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(a));
    return value;
}

// Logarithm to base 2.
__device__ __forceinline__ float log2_approx(float a) {
    float value;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(a));
    return value;
}

// Sine.
__device__ __forceinline__ float sin_approx(float a) {
    float value;
    asm("sin.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(a));
    return value;
}

// Cosine.
__device__ __forceinline__ float cos_approx(float a) {
    float value;
    asm("cos.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(a));
    return value;
}

// Hyperbolic tangent (sm_75 and later).
__device__ __forceinline__ float tanh_approx(float a) {
    float value;
    asm("tanh.approx.f32 %0, %1;" : "=f"(value) : "f"(a));
    return value;
}

// 1 / sqrt(a).
__device__ __forceinline__ float rsqrt_approx(float a) {
    float value;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(a));
    return value;
}

// 1 / a.
__device__ __forceinline__ float recip_approx(float a) {
    float value;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(a));
    return value;
}

// a / b, where |b| is from 2^-126 to 2^126.
__device__ __forceinline__ float div_approx(float a, float b) {
    float value;
    asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(value) : "f"(a), "f"(b));
    return value;
}
