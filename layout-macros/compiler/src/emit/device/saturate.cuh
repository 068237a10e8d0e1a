// Rust's casts from floats to integers: toward zero, cut at the ends of the type, NaN gives 0.

// float to i8
__device__ __forceinline__ signed char saturate_i8(float a) {
    return a == a ? (signed char)min(max(__float2int_rz(a), -128), 127) : (signed char)0;
}

// double to i8
__device__ __forceinline__ signed char saturate_i8(double a) {
    return a == a ? (signed char)min(max(__double2int_rz(a), -128), 127) : (signed char)0;
}

// float to u8
__device__ __forceinline__ unsigned char saturate_u8(float a) {
    return a == a ? (unsigned char)min(max(__float2int_rz(a), 0), 255) : (unsigned char)0;
}

// double to u8
__device__ __forceinline__ unsigned char saturate_u8(double a) {
    return a == a ? (unsigned char)min(max(__double2int_rz(a), 0), 255) : (unsigned char)0;
}

// float to i32
__device__ __forceinline__ int saturate_i32(float a) {
    return a == a ? __float2int_rz(a) : 0;
}

// double to i32
__device__ __forceinline__ int saturate_i32(double a) {
    return a == a ? __double2int_rz(a) : 0;
}

// float to u32
__device__ __forceinline__ unsigned int saturate_u32(float a) {
    return a == a ? __float2uint_rz(a) : 0;
}

// double to u32
__device__ __forceinline__ unsigned int saturate_u32(double a) {
    return a == a ? __double2uint_rz(a) : 0;
}

// float to i64
__device__ __forceinline__ long long saturate_i64(float a) {
    return a == a ? __float2ll_rz(a) : 0;
}

// double to i64
__device__ __forceinline__ long long saturate_i64(double a) {
    return a == a ? __double2ll_rz(a) : 0;
}

// float to i16
__device__ __forceinline__ short saturate_i16(float a) {
    return a == a ? (short)min(max(__float2int_rz(a), -32768), 32767) : (short)0;
}

// double to i16
__device__ __forceinline__ short saturate_i16(double a) {
    return a == a ? (short)min(max(__double2int_rz(a), -32768), 32767) : (short)0;
}

// float to u16
__device__ __forceinline__ unsigned short saturate_u16(float a) {
    return a == a ? (unsigned short)min(max(__float2int_rz(a), 0), 65535) : (unsigned short)0;
}

// double to u16
__device__ __forceinline__ unsigned short saturate_u16(double a) {
    return a == a ? (unsigned short)min(max(__double2int_rz(a), 0), 65535) : (unsigned short)0;
}

// float to u64
__device__ __forceinline__ unsigned long long saturate_u64(float a) {
    return a == a ? __float2ull_rz(a) : 0;
}

// double to u64
__device__ __forceinline__ unsigned long long saturate_u64(double a) {
    return a == a ? __double2ull_rz(a) : 0;
}
