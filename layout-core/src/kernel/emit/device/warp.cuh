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
