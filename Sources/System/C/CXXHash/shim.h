#pragma once
#include <xxhash.h>

#if defined(__x86_64__)
/// `XXH3_64bits_update` with the widest vectors of this processor. Twice as fast with AVX2. Libraries built without
/// DISPATCH=1 don't have it.
__attribute__((weak)) XXH_errorcode XXH3_64bits_update_dispatch(XXH3_state_t *state, const void *input, size_t length);
#endif

/// Adds the next bytes to a digest, the fastest way that the library has.
static inline void outbox_xxh3_update(XXH3_state_t *state, const void *input, size_t length) {
#if defined(__x86_64__)
    if (XXH3_64bits_update_dispatch) {
        XXH3_64bits_update_dispatch(state, input, length);
        return;
    }
#endif
    XXH3_64bits_update(state, input, length);
}
