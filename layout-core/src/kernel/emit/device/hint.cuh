// Accesses to global memory with a hint to the caches: a policy of L2 (sm_80 and later), or no place in L1.

// The policy that L2 gives up what it is said of before the rest.
__device__ __forceinline__ unsigned long long policy_evict_first() {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// The policy that L2 gives up what it is said of after the rest.
__device__ __forceinline__ unsigned long long policy_evict_last() {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// An element, or a vector, by L2's policy.
template <typename T>
__device__ __forceinline__ T load_hinted(const T* element, unsigned long long policy) {
    T value;
    if constexpr (sizeof(T) == 16) {
        uint4 bits;
        asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                     : "l"(element), "l"(policy)
                     : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 8) {
        uint2 bits;
        asm volatile("ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
                     : "=r"(bits.x), "=r"(bits.y)
                     : "l"(element), "l"(policy)
                     : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 4) {
        unsigned int bits;
        asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;"
                     : "=r"(bits)
                     : "l"(element), "l"(policy)
                     : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 2) {
        unsigned short bits;
        asm volatile("ld.global.L2::cache_hint.b16 %0, [%1], %2;"
                     : "=h"(bits)
                     : "l"(element), "l"(policy)
                     : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else {
        unsigned short bits;
        asm volatile("ld.global.L2::cache_hint.b8 %0, [%1], %2;"
                     : "=h"(bits)
                     : "l"(element), "l"(policy)
                     : "memory");
        unsigned char byte = (unsigned char)bits;
        value = *reinterpret_cast<T*>(&byte);
    }
    return value;
}

// The same of what no thread of the kernel writes.
template <typename T>
__device__ __forceinline__ T load_hinted_constant(const T* element, unsigned long long policy) {
    T value;
    if constexpr (sizeof(T) == 16) {
        uint4 bits;
        asm volatile("ld.global.nc.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                     : "l"(element), "l"(policy));
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 8) {
        uint2 bits;
        asm volatile("ld.global.nc.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
                     : "=r"(bits.x), "=r"(bits.y)
                     : "l"(element), "l"(policy));
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 4) {
        unsigned int bits;
        asm volatile("ld.global.nc.L2::cache_hint.b32 %0, [%1], %2;"
                     : "=r"(bits)
                     : "l"(element), "l"(policy));
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 2) {
        unsigned short bits;
        asm volatile("ld.global.nc.L2::cache_hint.b16 %0, [%1], %2;"
                     : "=h"(bits)
                     : "l"(element), "l"(policy));
        value = *reinterpret_cast<T*>(&bits);
    } else {
        unsigned short bits;
        asm volatile("ld.global.nc.L2::cache_hint.b8 %0, [%1], %2;"
                     : "=h"(bits)
                     : "l"(element), "l"(policy));
        unsigned char byte = (unsigned char)bits;
        value = *reinterpret_cast<T*>(&byte);
    }
    return value;
}

// Writes an element, or a vector, by L2's policy.
template <typename T, typename V>
__device__ __forceinline__ void store_hinted(T* element, V given, unsigned long long policy) {
    T value = given;
    if constexpr (sizeof(T) == 16) {
        uint4 bits = *reinterpret_cast<uint4*>(&value);
        asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(element),
                     "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w), "l"(policy)
                     : "memory");
    } else if constexpr (sizeof(T) == 8) {
        uint2 bits = *reinterpret_cast<uint2*>(&value);
        asm volatile("st.global.L2::cache_hint.v2.b32 [%0], {%1, %2}, %3;" ::"l"(element),
                     "r"(bits.x), "r"(bits.y), "l"(policy)
                     : "memory");
    } else if constexpr (sizeof(T) == 4) {
        unsigned int bits = *reinterpret_cast<unsigned int*>(&value);
        asm volatile("st.global.L2::cache_hint.b32 [%0], %1, %2;" ::"l"(element), "r"(bits), "l"(policy)
                     : "memory");
    } else if constexpr (sizeof(T) == 2) {
        unsigned short bits = *reinterpret_cast<unsigned short*>(&value);
        asm volatile("st.global.L2::cache_hint.b16 [%0], %1, %2;" ::"l"(element), "h"(bits), "l"(policy)
                     : "memory");
    } else {
        unsigned short bits = *reinterpret_cast<unsigned char*>(&value);
        asm volatile("st.global.L2::cache_hint.b8 [%0], %1, %2;" ::"l"(element), "h"(bits), "l"(policy)
                     : "memory");
    }
}

// An element, or a vector, that gets no place in L1.
template <typename T>
__device__ __forceinline__ T load_no_allocate(const T* element) {
    T value;
    if constexpr (sizeof(T) == 16) {
        uint4 bits;
        asm volatile("ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                     : "l"(element)
                     : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 8) {
        uint2 bits;
        asm volatile("ld.global.L1::no_allocate.v2.b32 {%0, %1}, [%2];"
                     : "=r"(bits.x), "=r"(bits.y)
                     : "l"(element)
                     : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 4) {
        unsigned int bits;
        asm volatile("ld.global.L1::no_allocate.b32 %0, [%1];"
                     : "=r"(bits)
                     : "l"(element)
                     : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 2) {
        unsigned short bits;
        asm volatile("ld.global.L1::no_allocate.b16 %0, [%1];"
                     : "=h"(bits)
                     : "l"(element)
                     : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else {
        unsigned short bits;
        asm volatile("ld.global.L1::no_allocate.b8 %0, [%1];"
                     : "=h"(bits)
                     : "l"(element)
                     : "memory");
        unsigned char byte = (unsigned char)bits;
        value = *reinterpret_cast<T*>(&byte);
    }
    return value;
}

// The same of what no thread of the kernel writes.
template <typename T>
__device__ __forceinline__ T load_no_allocate_constant(const T* element) {
    T value;
    if constexpr (sizeof(T) == 16) {
        uint4 bits;
        asm volatile("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                     : "l"(element));
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 8) {
        uint2 bits;
        asm volatile("ld.global.nc.L1::no_allocate.v2.b32 {%0, %1}, [%2];"
                     : "=r"(bits.x), "=r"(bits.y)
                     : "l"(element));
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 4) {
        unsigned int bits;
        asm volatile("ld.global.nc.L1::no_allocate.b32 %0, [%1];"
                     : "=r"(bits)
                     : "l"(element));
        value = *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 2) {
        unsigned short bits;
        asm volatile("ld.global.nc.L1::no_allocate.b16 %0, [%1];"
                     : "=h"(bits)
                     : "l"(element));
        value = *reinterpret_cast<T*>(&bits);
    } else {
        unsigned short bits;
        asm volatile("ld.global.nc.L1::no_allocate.b8 %0, [%1];"
                     : "=h"(bits)
                     : "l"(element));
        unsigned char byte = (unsigned char)bits;
        value = *reinterpret_cast<T*>(&byte);
    }
    return value;
}

// Writes an element, or a vector, that gets no place in L1.
template <typename T, typename V>
__device__ __forceinline__ void store_no_allocate(T* element, V given) {
    T value = given;
    if constexpr (sizeof(T) == 16) {
        uint4 bits = *reinterpret_cast<uint4*>(&value);
        asm volatile("st.global.L1::no_allocate.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(element),
                     "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w)
                     : "memory");
    } else if constexpr (sizeof(T) == 8) {
        uint2 bits = *reinterpret_cast<uint2*>(&value);
        asm volatile("st.global.L1::no_allocate.v2.b32 [%0], {%1, %2};" ::"l"(element), "r"(bits.x), "r"(bits.y)
                     : "memory");
    } else if constexpr (sizeof(T) == 4) {
        unsigned int bits = *reinterpret_cast<unsigned int*>(&value);
        asm volatile("st.global.L1::no_allocate.b32 [%0], %1;" ::"l"(element), "r"(bits)
                     : "memory");
    } else if constexpr (sizeof(T) == 2) {
        unsigned short bits = *reinterpret_cast<unsigned short*>(&value);
        asm volatile("st.global.L1::no_allocate.b16 [%0], %1;" ::"l"(element), "h"(bits)
                     : "memory");
    } else {
        unsigned short bits = *reinterpret_cast<unsigned char*>(&value);
        asm volatile("st.global.L1::no_allocate.b8 [%0], %1;" ::"l"(element), "h"(bits) : "memory");
    }
}

// 4 bytes to shared memory, beside the thread and through L1, by L2's policy; zeros where `valid` does not hold.
__device__ __forceinline__ void copy_async_4_hinted(
    void* shared, const void* global, unsigned long long policy, bool valid = true) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    int bytes = valid ? 4 : 0;
    asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 4, %2, %3;" ::"r"(address), "l"(global),
                 "r"(bytes), "l"(policy)
                 : "memory");
}

// 8 bytes to shared memory, beside the thread and through L1, by L2's policy; zeros where `valid` does not hold.
__device__ __forceinline__ void copy_async_8_hinted(
    void* shared, const void* global, unsigned long long policy, bool valid = true) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    int bytes = valid ? 8 : 0;
    asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 8, %2, %3;" ::"r"(address), "l"(global),
                 "r"(bytes), "l"(policy)
                 : "memory");
}

// 16 bytes to shared memory, beside the thread and past L1, by L2's policy; zeros where `valid` does not hold.
__device__ __forceinline__ void copy_async_16_hinted(
    void* shared, const void* global, unsigned long long policy, bool valid = true) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(address), "l"(global),
                 "r"(bytes), "l"(policy)
                 : "memory");
}
