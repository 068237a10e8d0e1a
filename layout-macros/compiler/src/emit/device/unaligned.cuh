// Vectors of global memory that begin at any element.

// The vector at any address: the one or two aligned vectors that hold it, of which each holds a byte of it, shifted together.
template <typename V>
__device__ __forceinline__ V load_unaligned(const void* from) {
    constexpr unsigned int words = sizeof(V) / 4;
    unsigned int skip = (unsigned int)(unsigned long long)from % sizeof(V);
    const V* aligned = reinterpret_cast<const V*>(static_cast<const char*>(from) - skip);
    union {
        V vectors[2];
        unsigned int words[2 * sizeof(V) / 4];
    } both = {{aligned[0], aligned[skip > 0]}};
    #pragma unroll
    for (unsigned int step = words / 2; step > 0; step /= 2) {
        #pragma unroll
        for (unsigned int i = 0; i < words + step; ++i) {
            both.words[i] = skip & 4 * step ? both.words[i + step] : both.words[i];
        }
    }
    #pragma unroll
    for (unsigned int i = 0; i < words; ++i) {
        both.words[i] = __funnelshift_r(both.words[i], both.words[i + 1], 8 * (skip % 4));
    }
    return both.vectors[0];
}

// The vector at any address, in aligned words; their ends in aligned parts of words.
template <typename V>
__device__ __forceinline__ void store_unaligned(void* to, V value) {
    constexpr unsigned int words = sizeof(V) / 4;
    unsigned int skip = (unsigned int)(unsigned long long)to % 4;
    unsigned int* aligned = reinterpret_cast<unsigned int*>(static_cast<char*>(to) - skip);
    union {
        V vector;
        unsigned int words[sizeof(V) / 4];
    } own = {value};
    if (skip == 0) {
        #pragma unroll
        for (unsigned int i = 0; i < words; ++i) {
            aligned[i] = own.words[i];
        }
        return;
    }
    #pragma unroll
    for (unsigned int i = 1; i < words; ++i) {
        aligned[i] = __funnelshift_l(own.words[i - 1], own.words[i], 8 * skip);
    }
    unsigned int first = own.words[0], last = own.words[words - 1] >> (32 - 8 * skip);
    unsigned char* bytes = static_cast<unsigned char*>(to);
    unsigned short* ends = reinterpret_cast<unsigned short*>(aligned);
    if (skip != 2) {
        bytes[0] = (unsigned char)first;
        bytes[sizeof(V) - 1] = (unsigned char)(own.words[words - 1] >> 24);
    }
    if (skip <= 2) {
        ends[1] = (unsigned short)(skip == 2 ? first : first >> 8);
    }
    if (skip >= 2) {
        ends[2 * words] = (unsigned short)last;
    }
}
