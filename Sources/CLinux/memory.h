// What Swift cannot call to save memory.
//
// <link.h> would bring fd_set along, which depends on _GNU_SOURCE: Swift's Glibc module has another form of it. So this
// file declares the beginning of struct dl_phdr_info itself.
#pragma once
#include <elf.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Phdr outbox_segment;
#else
typedef Elf32_Phdr outbox_segment;
#endif

/// The beginning of struct dl_phdr_info (man 3 dl_iterate_phdr).
struct outbox_object {
    uintptr_t address;
    const char *name;
    const outbox_segment *segments;
    uint16_t count;
};

struct dl_phdr_info;
extern int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *object, size_t size, void *data), void *data);

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

__attribute__((unused)) static int outbox_unmap_pages_of(struct dl_phdr_info *info, size_t size, void *page) {
    const struct outbox_object *object = (const struct outbox_object *)info;
    for (int index = 0; index < object->count; index++) {
        const outbox_segment *segment = &object->segments[index];
        // Pages that relocations have changed are in writable segments.
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        uintptr_t begin = (object->address + segment->p_vaddr) & ~(*(uintptr_t *)page - 1);
        madvise((void *)begin, object->address + segment->p_vaddr + segment->p_memsz - begin, MADV_DONTNEED);
    }
    return 0;
}

/// man 2 madvise: unmaps all pages of program and libraries that are unchanged copies of their files. The next access maps
/// a page again, from the page cache. man 3 dl_iterate_phdr: no library comes or goes meanwhile.
static inline void outbox_unmap_code(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    dl_iterate_phdr(outbox_unmap_pages_of, &page);
}
