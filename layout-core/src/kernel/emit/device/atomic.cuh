// Atomic operations that the hardware does not have.

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
