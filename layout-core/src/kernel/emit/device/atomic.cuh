// Atomic operations that CUDA does not have.

// Puts the larger of an element and `value` there; gives what was there before.
__device__ __forceinline__ float atomic_max(float* element, float value) {
    unsigned int* bits = reinterpret_cast<unsigned int*>(element);
    unsigned int old = *reinterpret_cast<volatile unsigned int*>(bits);
    unsigned int expected;
    do {
        expected = old;
        old = atomicCAS(bits, expected, __float_as_uint(fmaxf(__uint_as_float(expected), value)));
    } while (old != expected);
    return __uint_as_float(old);
}

// Puts the smaller of an element and `value` there; gives what was there before.
__device__ __forceinline__ float atomic_min(float* element, float value) {
    unsigned int* bits = reinterpret_cast<unsigned int*>(element);
    unsigned int old = *reinterpret_cast<volatile unsigned int*>(bits);
    unsigned int expected;
    do {
        expected = old;
        old = atomicCAS(bits, expected, __float_as_uint(fminf(__uint_as_float(expected), value)));
    } while (old != expected);
    return __uint_as_float(old);
}

// Adds modulo 2^64; gives what was there before.
__device__ __forceinline__ long long atomic_add(long long* element, long long value) {
    unsigned long long* bits = reinterpret_cast<unsigned long long*>(element);
    return (long long)atomicAdd(bits, (unsigned long long)value);
}

// Adds modulo 2^64, between the threads of the block; gives what was there before.
__device__ __forceinline__ long long atomic_add_block(long long* element, long long value) {
    unsigned long long* bits = reinterpret_cast<unsigned long long*>(element);
    return (long long)atomicAdd_block(bits, (unsigned long long)value);
}

// Adds modulo 2^64, between all threads of the system; gives what was there before.
__device__ __forceinline__ long long atomic_add_system(long long* element, long long value) {
    unsigned long long* bits = reinterpret_cast<unsigned long long*>(element);
    return (long long)atomicAdd_system(bits, (unsigned long long)value);
}
