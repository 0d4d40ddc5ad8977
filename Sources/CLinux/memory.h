// What Swift cannot call to save memory.
//
// <link.h> would bring fd_set along, which depends on _GNU_SOURCE: Swift's Glibc module has another form of it. So this
// file declares the beginning of struct dl_phdr_info itself.
#pragma once
#include <elf.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

/// The arguments of outbox_visit_code, and the size of a page.
struct outbox_code_visit {
    uintptr_t page;
    int descriptor;
    void (*visit)(int descriptor, uintptr_t begin, size_t length);
};

__attribute__((unused)) static int outbox_visit_pages_of(struct dl_phdr_info *info, size_t size, void *data) {
    const struct outbox_object *object = (const struct outbox_object *)info;
    const struct outbox_code_visit *code = (const struct outbox_code_visit *)data;
    for (int index = 0; index < object->count; index++) {
        const outbox_segment *segment = &object->segments[index];
        // Pages that relocations have changed are in writable segments.
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        uintptr_t begin = (object->address + segment->p_vaddr) & ~(code->page - 1);
        uintptr_t end = object->address + segment->p_vaddr + segment->p_memsz;
        code->visit(code->descriptor, begin, (end - begin + code->page - 1) & ~(code->page - 1));
    }
    return 0;
}

/// man 3 dl_iterate_phdr: calls `visit` for the pages of program and libraries that are unchanged copies of their files. No
/// library comes or goes meanwhile.
static inline void outbox_visit_code(int descriptor, void (*visit)(int, uintptr_t, size_t)) {
    struct outbox_code_visit code = {(uintptr_t)sysconf(_SC_PAGESIZE), descriptor, visit};
    dl_iterate_phdr(outbox_visit_pages_of, &code);
}

/// man 2 userfaultfd: opens a descriptor that can take over page faults, in the one mode that reports none: asynchronous write
/// protection (Linux 6.7). Returns -1 if the kernel has no such mode, or if a filter forbids the call.
static inline int outbox_open_faults(void) {
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
    const uint64_t asynchronous = 1 << 15;  // UFFD_FEATURE_WP_ASYNC, which older headers lack
    int descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API, .features = asynchronous};
    if (descriptor < 0 || ioctl(descriptor, UFFDIO_API, &api) == 0) return descriptor;
    close(descriptor);
    return -1;
}

/// man 2 UFFDIO_REGISTER: has an access to these pages map one page, as long as the descriptor is open. Elsewhere, the kernel
/// maps up to 16 pages around it (mm/memory.c, should_fault_around). No page is write-protected.
__attribute__((unused)) static void outbox_map_single_pages(int faults, uintptr_t begin, size_t length) {
    struct uffdio_register pages = {.range = {begin, length}, .mode = UFFDIO_REGISTER_MODE_WP};
    ioctl(faults, UFFDIO_REGISTER, &pages);
}

static inline void outbox_map_code_by_page(int faults) { outbox_visit_code(faults, outbox_map_single_pages); }
