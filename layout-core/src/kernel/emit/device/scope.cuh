// The loads and stores of flag.cuh between the threads of a block, and between all of the system; atomic operations of
// the system that the hardware does not have.

// An element as it is now; undivided between the threads of the block.
template <typename T>
__device__ __forceinline__ T load_relaxed_block(const T* element) {
    T value;
    if constexpr (sizeof(T) == 4) {
        unsigned int bits;
        asm volatile("ld.relaxed.cta.b32 %0, [%1];" : "=r"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else {
        unsigned long long bits;
        asm volatile("ld.relaxed.cta.b64 %0, [%1];" : "=l"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    }
    return value;
}

// The same; what stands after it sees what a thread of the block wrote before the release that wrote the value.
template <typename T>
__device__ __forceinline__ T load_acquire_block(const T* element) {
    T value;
    if constexpr (sizeof(T) == 4) {
        unsigned int bits;
        asm volatile("ld.acquire.cta.b32 %0, [%1];" : "=r"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else {
        unsigned long long bits;
        asm volatile("ld.acquire.cta.b64 %0, [%1];" : "=l"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    }
    return value;
}

// Writes an element, undivided between the threads of the block.
template <typename T, typename V>
__device__ __forceinline__ void store_relaxed_block(T* element, V given) {
    T value = given;
    if constexpr (sizeof(T) == 4) {
        asm volatile("st.relaxed.cta.b32 [%0], %1;" ::"l"(element), "r"(*reinterpret_cast<unsigned int*>(&value)) : "memory");
    } else {
        asm volatile("st.relaxed.cta.b64 [%0], %1;" ::"l"(element), "l"(*reinterpret_cast<unsigned long long*>(&value)) : "memory");
    }
}

// The same, after all that this thread did before, for the threads of the block.
template <typename T, typename V>
__device__ __forceinline__ void store_release_block(T* element, V given) {
    T value = given;
    if constexpr (sizeof(T) == 4) {
        asm volatile("st.release.cta.b32 [%0], %1;" ::"l"(element), "r"(*reinterpret_cast<unsigned int*>(&value)) : "memory");
    } else {
        asm volatile("st.release.cta.b64 [%0], %1;" ::"l"(element), "l"(*reinterpret_cast<unsigned long long*>(&value)) : "memory");
    }
}

// An element as it is now; undivided between the threads of the system, the host included.
template <typename T>
__device__ __forceinline__ T load_relaxed_system(const T* element) {
    T value;
    if constexpr (sizeof(T) == 4) {
        unsigned int bits;
        asm volatile("ld.relaxed.sys.b32 %0, [%1];" : "=r"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else {
        unsigned long long bits;
        asm volatile("ld.relaxed.sys.b64 %0, [%1];" : "=l"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    }
    return value;
}

// The same; what stands after it sees what a thread of the system, the host included wrote before the release that wrote the value.
template <typename T>
__device__ __forceinline__ T load_acquire_system(const T* element) {
    T value;
    if constexpr (sizeof(T) == 4) {
        unsigned int bits;
        asm volatile("ld.acquire.sys.b32 %0, [%1];" : "=r"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else {
        unsigned long long bits;
        asm volatile("ld.acquire.sys.b64 %0, [%1];" : "=l"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    }
    return value;
}

// Writes an element, undivided between the threads of the system, the host included.
template <typename T, typename V>
__device__ __forceinline__ void store_relaxed_system(T* element, V given) {
    T value = given;
    if constexpr (sizeof(T) == 4) {
        asm volatile("st.relaxed.sys.b32 [%0], %1;" ::"l"(element), "r"(*reinterpret_cast<unsigned int*>(&value)) : "memory");
    } else {
        asm volatile("st.relaxed.sys.b64 [%0], %1;" ::"l"(element), "l"(*reinterpret_cast<unsigned long long*>(&value)) : "memory");
    }
}

// The same, after all that this thread did before, for the threads of the system, the host included.
template <typename T, typename V>
__device__ __forceinline__ void store_release_system(T* element, V given) {
    T value = given;
    if constexpr (sizeof(T) == 4) {
        asm volatile("st.release.sys.b32 [%0], %1;" ::"l"(element), "r"(*reinterpret_cast<unsigned int*>(&value)) : "memory");
    } else {
        asm volatile("st.release.sys.b64 [%0], %1;" ::"l"(element), "l"(*reinterpret_cast<unsigned long long*>(&value)) : "memory");
    }
}

// Puts the larger of an element and `value` there; gives what was there before; undivided for the host, too.
__device__ __forceinline__ float atomic_max_system(float* element, float value) {
    unsigned int* bits = reinterpret_cast<unsigned int*>(element);
    unsigned int old = *reinterpret_cast<volatile unsigned int*>(bits);
    unsigned int expected;
    do {
        expected = old;
        old = atomicCAS_system(bits, expected, __float_as_uint(fmaxf(__uint_as_float(expected), value)));
    } while (old != expected);
    return __uint_as_float(old);
}

// Puts the smaller of an element and `value` there; gives what was there before; undivided for the host, too.
__device__ __forceinline__ float atomic_min_system(float* element, float value) {
    unsigned int* bits = reinterpret_cast<unsigned int*>(element);
    unsigned int old = *reinterpret_cast<volatile unsigned int*>(bits);
    unsigned int expected;
    do {
        expected = old;
        old = atomicCAS_system(bits, expected, __float_as_uint(fminf(__uint_as_float(expected), value)));
    } while (old != expected);
    return __uint_as_float(old);
}
