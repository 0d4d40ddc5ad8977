// What Swift cannot call to save memory: <link.h> is not part of its Glibc module.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>

/// man 3 mallopt, M_ARENA_MAX: how many arenas malloc may have, each of which reserves 64 MiB of address space. Only glibc
/// knows it.
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

__attribute__((unused)) static int outbox_unmap_pages_of(struct dl_phdr_info *object, size_t size, void *unused) {
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[index];
        // Pages that relocations have changed are in writable parts.
        if (part->p_type != PT_LOAD || part->p_flags & PF_W) continue;
        uintptr_t begin = (object->dlpi_addr + part->p_vaddr) & ~(uintptr_t)4095;
        madvise((void *)begin, object->dlpi_addr + part->p_vaddr + part->p_memsz - begin, MADV_DONTNEED);
    }
    return 0;
}

/// man 2 madvise: unmaps all pages of program and libraries that are unchanged copies of their files. The next access maps
/// a page again, from the page cache. man 3 dl_iterate_phdr: no library comes or goes meanwhile.
static inline void outbox_unmap_code(void) { dl_iterate_phdr(outbox_unmap_pages_of, NULL); }
