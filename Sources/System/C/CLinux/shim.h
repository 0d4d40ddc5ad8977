// Wrappers for what Swift cannot call: variadic functions, system calls glibc has no function for, and
// feature-test macros that must be set before the first include.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <asm/socket.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "child.h"
#include "memory.h"
#include "tasks.h"

/// man 2 openat2. Returns -1 and sets errno like open(2).
static inline int outbox_openat2(int directory, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve) {
    struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

/// man 2 openat with a mode, which Swift cannot pass to a variadic function.
static inline int outbox_openat(int directory, const char *path, int flags, unsigned int mode) {
    return openat(directory, path, flags, mode);
}

/// man 2 getdents64. Returns the number of bytes, 0 at the end of the directory, or -1 and sets errno.
static inline long outbox_getdents64(int directory, void *records, size_t size) {
    return syscall(SYS_getdents64, directory, records, size);
}

/// man 2 fcntl, F_SETLEASE.
static inline int outbox_set_lease(int descriptor, int kind) { return fcntl(descriptor, F_SETLEASE, kind); }

/// man 2 fcntl with an integer argument.
static inline int outbox_fcntl(int descriptor, int command, int argument) {
    return fcntl(descriptor, command, argument);
}

/// man 2 statx with the fields that tell one file from another.
static inline int outbox_statx(int directory, const char *path, int flags, struct statx *result) {
    return statx(directory, path, flags, STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID, result);
}

static inline uint64_t outbox_makedev(uint32_t major, uint32_t minor) { return makedev(major, minor); }

static const int outbox_f_rdlck = F_RDLCK;
static const int outbox_f_unlck = F_UNLCK;
static const int outbox_o_tmpfile = O_TMPFILE;
static const uint64_t outbox_resolve_beneath = RESOLVE_BENEATH;
static const uint64_t outbox_resolve_no_symlinks = RESOLVE_NO_SYMLINKS;
static const int outbox_statx_btime = STATX_BTIME;
static const long outbox_utime_omit = UTIME_OMIT;
static const int outbox_rename_noreplace = 1;
static inline int outbox_renameat2(int olddir, const char *oldname, int newdir, const char *newname, unsigned flags) {
    return (int)syscall(SYS_renameat2, olddir, oldname, newdir, newname, flags);
}

/// man 2 memfd_create: an empty file in memory without a name, close-on-exec. Returns -1 and sets errno.
static inline int outbox_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, 1U /* MFD_CLOEXEC */); }

/// Whether an open file has an access control list that grants more than its mode shows (man 5 acl, man 2 fgetxattr).
/// <sys/xattr.h> brings an fd_set that clashes with the one of Swift's Glibc module, hence the system call.
static inline int outbox_has_access_list(int descriptor) {
    return syscall(SYS_fgetxattr, descriptor, "system.posix_acl_access", NULL, 0) > 0;
}

struct outbox_peer {
    int32_t process;
    uint32_t user, group;
};

/// man 7 unix, SO_PEERCRED: who listens at the other end of a connected Unix socket. Returns -1 and sets errno.
/// <sys/socket.h> clashes with Swift's Glibc module, hence the system call.
static inline int outbox_peer_of(int socket, struct outbox_peer *peer) {
    uint32_t size = sizeof *peer;
    return (int)syscall(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, peer, &size);
}

/// man 2 prctl, PR_SET_NAME: names the calling thread.
static inline void outbox_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// man 2 eventfd, close-on-exec and non-blocking; its header is not part of Swift's Glibc module.
static inline int outbox_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
static const int outbox_f_setsig = F_SETSIG;

/// man 2 adjtimex, asking only: 1 where the kernel's clock is synchronised, 0 where it is not, -1 where it doesn't tell.
/// Its header clashes with Swift's Glibc module; struct timex has 208 bytes, and its first field, `modes`, is 0 here.
static inline int outbox_clock_is_synchronised(void) {
#ifdef SYS_adjtimex
    uint64_t timex[64] = {0};
    long state = syscall(SYS_adjtimex, timex);
    return state < 0 ? -1 : state != 5 /* TIME_ERROR */;
#else
    return -1;
#endif
}

/// man 2 timerfd_create: a descriptor that never fires, but becomes readable when the wall clock is set, or has gone on
/// while the machine slept; reading it then fails with ECANCELED (TFD_TIMER_CANCEL_ON_SET). Returns -1 and sets errno.
static inline int outbox_clock_change_timer(void) {
    int timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    // Some centuries from now: the longest the kernel keeps is 2^63 nanoseconds.
    struct itimerspec never = {.it_value = {.tv_sec = 9000000000}};
    if (timer < 0) return -1;
    if (timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, 0) == 0) return timer;
    int reason = errno;
    close(timer);
    errno = reason;
    return -1;
}

// A crash is noted from the signal's handler, which is given nothing: what it needs stands here.
static int outbox_crash_note = -1;

/// Writes the note and ends as the signal would have; only async-signal-safe calls (man 7 signal-safety).
__attribute__((unused)) static void outbox_on_crash(int number) {
    if (pwrite(outbox_crash_note, "crashed ", 8, 0) < 0) { /* There is nobody to tell. */ }
    raise(number);
}

/// Has "crashed " written over the first 8 bytes of a file when the process ends by an error of its own. Signals that
/// somebody else handles, for instance a sanitizer, are left to it.
static inline void outbox_note_crashes(int descriptor) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE};
    outbox_crash_note = descriptor;
    for (unsigned index = 0; index < sizeof numbers / sizeof *numbers; index++) {
        struct sigaction action;
        if (sigaction(numbers[index], NULL, &action) != 0 || action.sa_handler != SIG_DFL) continue;
        action.sa_handler = outbox_on_crash;
        // The default action is back when the handler runs, and not held up by it.
        action.sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK;
        sigaction(numbers[index], &action, NULL);
    }
}

/// man 3 memmem: where a pattern begins in memory; NULL if it does not occur.
static inline const void *outbox_find(const void *bytes, size_t count, const void *pattern, size_t length) {
    return memmem(bytes, count, pattern, length);
}

/// man 2 copy_file_range. Answers the number of bytes, or -1 and errno.
static inline ssize_t outbox_copy_range(int source, int64_t from, int target, int64_t to, size_t count) {
    off64_t source_offset = from, target_offset = to;
    return copy_file_range(source, &source_offset, target, &target_offset, count, 0);
}
