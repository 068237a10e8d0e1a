// Asynchronous copies from global to shared memory (cp.async, sm_80 and later).

// 4 bytes, through L1; where `valid` does not hold nothing is read and zeros are written.
__device__ __forceinline__ void copy_async_4(unsigned int shared, const void* global, bool valid = true) {
    int bytes = valid ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}

// 8 bytes, through L1; where `valid` does not hold nothing is read and zeros are written.
__device__ __forceinline__ void copy_async_8(unsigned int shared, const void* global, bool valid = true) {
    int bytes = valid ? 8 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}

// 16 bytes, past L1; where `valid` does not hold nothing is read and zeros are written.
__device__ __forceinline__ void copy_async_16(unsigned int shared, const void* global, bool valid = true) {
    int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}

// L2 fetches the line of an address; nothing is read.
__device__ __forceinline__ void prefetch_l2(const void* global) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
}

// Closes this thread's group of copies.
__device__ __forceinline__ void copy_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `groups` of this thread's groups are in flight.
template <int groups>
__device__ __forceinline__ void copy_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}
