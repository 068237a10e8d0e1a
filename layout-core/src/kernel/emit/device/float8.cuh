// 8-bit floats, kept as their bits (sm_89 and later).

// Exact.
__device__ __forceinline__ float e4m3_to_f32(e4m3 bits) {
    float value;
    asm("{\n\t.reg .b32 pair;\n\t.reg .b16 low, high;\n\tcvt.rn.f16x2.e4m3x2 pair, %1;\n\t"
        "mov.b32 {low, high}, pair;\n\tcvt.f32.f16 %0, low;\n\t}"
        : "=f"(value)
        : "h"((unsigned short)bits));
    return value;
}

// The bits of the nearest e4m3; what is too large becomes the largest finite value.
__device__ __forceinline__ e4m3 f32_to_e4m3(float value) {
    unsigned short pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    return (e4m3)pair;
}

// Exact.
__device__ __forceinline__ float e5m2_to_f32(e5m2 bits) {
    float value;
    asm("{\n\t.reg .b32 pair;\n\t.reg .b16 low, high;\n\tcvt.rn.f16x2.e5m2x2 pair, %1;\n\t"
        "mov.b32 {low, high}, pair;\n\tcvt.f32.f16 %0, low;\n\t}"
        : "=f"(value)
        : "h"((unsigned short)bits));
    return value;
}

// The bits of the nearest e5m2; what is too large becomes the largest finite value.
__device__ __forceinline__ e5m2 f32_to_e5m2(float value) {
    unsigned short pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    return (e5m2)pair;
}
