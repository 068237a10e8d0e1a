// The 32 threads of a warp together; all of them call.

// A value that is the same in every lane, and that the compiler knows to be: what depends on it needs no register for each lane.
__device__ __forceinline__ int warp_uniform(int value) {
    return __shfl_sync(0xffffffff, value, 0);
}

// Whether this is the lane that was picked, always the same one (sm_90 and later).
__device__ __forceinline__ bool elect_one() {
    unsigned int picked;
    asm volatile(
        "{\n\t.reg .pred one;\n\t"
        "elect.sync _|one, 0xffffffff;\n\t"
        "selp.u32 %0, 1, 0, one;\n\t}"
        : "=r"(picked));
    return picked != 0;
}

// The sum, in every lane: lanes of distance 16, 8, 4, 2, 1 add up, so that the order is always the same.
template <typename T>
__device__ __forceinline__ T warp_sum(T value) {
    for (int distance = 16; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, distance);
    }
    return value;
}

// The largest value, in every lane.
template <typename T>
__device__ __forceinline__ T warp_max(T value) {
    for (int distance = 16; distance > 0; distance /= 2) {
        value = max(value, __shfl_xor_sync(0xffffffff, value, distance));
    }
    return value;
}

// The smallest value, in every lane.
template <typename T>
__device__ __forceinline__ T warp_min(T value) {
    for (int distance = 16; distance > 0; distance /= 2) {
        value = min(value, __shfl_xor_sync(0xffffffff, value, distance));
    }
    return value;
}

// The sum of the lanes up to this one.
template <typename T>
__device__ __forceinline__ T warp_prefix_sum(T value) {
    int lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        T before = __shfl_up_sync(0xffffffff, value, distance);
        if (lane >= distance) {
            value += before;
        }
    }
    return value;
}

// The sum modulo 2^32, in every lane: one instruction from sm_80 on.
__device__ __forceinline__ unsigned int warp_sum(unsigned int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffff, value);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        unsigned int other = __shfl_xor_sync(0xffffffff, value, distance);
        value = value + other;
    }
    return value;
#endif
}

// The largest value, in every lane: one instruction from sm_80 on.
__device__ __forceinline__ int warp_max(int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffff, value);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        int other = __shfl_xor_sync(0xffffffff, value, distance);
        value = max(value, other);
    }
    return value;
#endif
}

// The largest value, in every lane: one instruction from sm_80 on.
__device__ __forceinline__ unsigned int warp_max(unsigned int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffff, value);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        unsigned int other = __shfl_xor_sync(0xffffffff, value, distance);
        value = max(value, other);
    }
    return value;
#endif
}

// The smallest value, in every lane: one instruction from sm_80 on.
__device__ __forceinline__ int warp_min(int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(0xffffffff, value);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        int other = __shfl_xor_sync(0xffffffff, value, distance);
        value = min(value, other);
    }
    return value;
#endif
}

// The smallest value, in every lane: one instruction from sm_80 on.
__device__ __forceinline__ unsigned int warp_min(unsigned int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(0xffffffff, value);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        unsigned int other = __shfl_xor_sync(0xffffffff, value, distance);
        value = min(value, other);
    }
    return value;
#endif
}

// The bits that are one in every lane, in every lane: one instruction from sm_80 on.
__device__ __forceinline__ unsigned int warp_and(unsigned int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_and_sync(0xffffffff, value);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        unsigned int other = __shfl_xor_sync(0xffffffff, value, distance);
        value = value & other;
    }
    return value;
#endif
}

// The bits that are one in a lane, in every lane: one instruction from sm_80 on.
__device__ __forceinline__ unsigned int warp_or(unsigned int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(0xffffffff, value);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        unsigned int other = __shfl_xor_sync(0xffffffff, value, distance);
        value = value | other;
    }
    return value;
#endif
}

// The bits that are one in an odd number of lanes, in every lane: one instruction from sm_80 on.
__device__ __forceinline__ unsigned int warp_xor(unsigned int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_xor_sync(0xffffffff, value);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        unsigned int other = __shfl_xor_sync(0xffffffff, value, distance);
        value = value ^ other;
    }
    return value;
#endif
}

// The bits that are one in every lane, in every lane.
template <typename T>
__device__ __forceinline__ T warp_and(T value) {
    for (int distance = 16; distance > 0; distance /= 2) {
        value &= __shfl_xor_sync(0xffffffff, value, distance);
    }
    return value;
}

// The bits that are one in a lane, in every lane.
template <typename T>
__device__ __forceinline__ T warp_or(T value) {
    for (int distance = 16; distance > 0; distance /= 2) {
        value |= __shfl_xor_sync(0xffffffff, value, distance);
    }
    return value;
}

// The bits that are one in an odd number of lanes, in every lane.
template <typename T>
__device__ __forceinline__ T warp_xor(T value) {
    for (int distance = 16; distance > 0; distance /= 2) {
        value ^= __shfl_xor_sync(0xffffffff, value, distance);
    }
    return value;
}

// Whether every lane has the same bits.
template <typename T>
__device__ __forceinline__ bool match_all(T value) {
    int all;
    __match_all_sync(0xffffffff, value, &all);
    return all != 0;
}
