// Matrix instructions of a warp (mma.sync): d += a b. All 32 threads call.

// The nearest float with 10 bits of fraction (sm_80 and later). Ties go to even from sm_90 on, where that is one
// instruction, and away from zero before.
__device__ __forceinline__ float round_tf32(float value) {
    unsigned int bits;
#if __CUDA_ARCH__ >= 900
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
#else
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
#endif
    return __uint_as_float(bits);
}

// 16 x 8 x 8, of floats rounded to TF32 (sm_80 and later).
__device__ __forceinline__ void mma_16x8x8_tf32(float* d, const float* a, const float* b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

// 16 x 8 x 16 (sm_80 and later).
__device__ __forceinline__ void mma_16x8x16_f16(float* d, const f16* a, const f16* b) {
    const unsigned int* x = reinterpret_cast<const unsigned int*>(a);
    const unsigned int* y = reinterpret_cast<const unsigned int*>(b);
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}

// 16 x 8 x 16 (sm_80 and later).
__device__ __forceinline__ void mma_16x8x16_bf16(float* d, const bf16* a, const bf16* b) {
    const unsigned int* x = reinterpret_cast<const unsigned int*>(a);
    const unsigned int* y = reinterpret_cast<const unsigned int*>(b);
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}

// 16 x 8 x 32 (sm_89 and later).
__device__ __forceinline__ void mma_16x8x32_e4m3(float* d, const e4m3* a, const e4m3* b) {
    const unsigned int* x = reinterpret_cast<const unsigned int*>(a);
    const unsigned int* y = reinterpret_cast<const unsigned int*>(b);
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}

// 16 x 8 x 32 (sm_89 and later).
__device__ __forceinline__ void mma_16x8x32_e5m2(float* d, const e5m2* a, const e5m2* b) {
    const unsigned int* x = reinterpret_cast<const unsigned int*>(a);
    const unsigned int* y = reinterpret_cast<const unsigned int*>(b);
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}

// 16 x 8 x 16, with sums of f16 (sm_80 and later).
__device__ __forceinline__ void mma_16x8x16_f16_f16(f16* d, const f16* a, const f16* b) {
    const unsigned int* x = reinterpret_cast<const unsigned int*>(a);
    const unsigned int* y = reinterpret_cast<const unsigned int*>(b);
    unsigned int* z = reinterpret_cast<unsigned int*>(d);
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(z[0]), "+r"(z[1])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}

// 16 x 8 x 32, with sums modulo 2^32 (sm_80 and later).
__device__ __forceinline__ void mma_16x8x32_s8(int* d, const signed char* a, const signed char* b) {
    const unsigned int* x = reinterpret_cast<const unsigned int*>(a);
    const unsigned int* y = reinterpret_cast<const unsigned int*>(b);
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}

// 16 x 8 x 32, with sums modulo 2^32 (sm_80 and later).
__device__ __forceinline__ void mma_16x8x32_u8(int* d, const unsigned char* a, const unsigned char* b) {
    const unsigned int* x = reinterpret_cast<const unsigned int*>(a);
    const unsigned int* y = reinterpret_cast<const unsigned int*>(b);
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}

// 8 x 8 x 4 (sm_80 and later).
__device__ __forceinline__ void mma_8x8x4_f64(double* d, const double* a, const double* b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(d[0]), "+d"(d[1])
        : "d"(a[0]), "d"(b[0]));
}

// Two 8 x 8 matrices of 16-bit elements; each thread names a row of them.
__device__ __forceinline__ void load_matrix_2(void* fragment, const void* row) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(row);
    unsigned int* d = reinterpret_cast<unsigned int*>(fragment);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(d[0]), "=r"(d[1])
                 : "r"(address)
                 : "memory");
}

// Four 8 x 8 matrices of 16-bit elements.
__device__ __forceinline__ void load_matrix_4(void* fragment, const void* row) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(row);
    unsigned int* d = reinterpret_cast<unsigned int*>(fragment);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(address)
                 : "memory");
}

// Two 8 x 8 matrices of 16-bit elements, each transposed.
__device__ __forceinline__ void load_matrix_2_transposed(void* fragment, const void* row) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(row);
    unsigned int* d = reinterpret_cast<unsigned int*>(fragment);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(d[0]), "=r"(d[1])
                 : "r"(address)
                 : "memory");
}

// Four 8 x 8 matrices of 16-bit elements, each transposed.
__device__ __forceinline__ void load_matrix_4_transposed(void* fragment, const void* row) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(row);
    unsigned int* d = reinterpret_cast<unsigned int*>(fragment);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(address)
                 : "memory");
}
