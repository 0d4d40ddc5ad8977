// What Swift cannot call to save memory: malloc's own functions, which only glibc has.
#pragma once
#include <malloc.h>

/// man 3 mallopt, M_ARENA_MAX: how many arenas malloc may have, each of which reserves 64 MiB of address space.
static inline void outbox_limit_arenas(int count) {
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, count);
#endif
}

/// man 3 malloc_trim: returns free pages of the heap to the kernel.
static inline void outbox_trim_heap(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
