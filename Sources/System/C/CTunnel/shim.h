// Network namespaces and TUN devices. glibc declares the calls only with _GNU_SOURCE, and Swift can't call ioctl.
//
// Includes no header whose types Swift's Glibc module has too in another form, such as fd_set.
#pragma once
#include <errno.h>
#include <linux/if_tun.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Moves this thread into a new network namespace (man 2 unshare). Returns 0, or -1 with errno.
static inline int outbox_new_network(void) { return (int)syscall(SYS_unshare, CLONE_NEWNET); }

/// Moves this thread into a network namespace (man 2 setns). Returns 0, or -1 with errno.
static inline int outbox_enter_network(int descriptor) { return (int)syscall(SYS_setns, descriptor, CLONE_NEWNET); }

/// Creates a TUN device in this thread's network namespace. The device lives as long as the descriptor; one read or
/// write is one IP packet. Returns a non-blocking descriptor, or -1 with errno.
static inline int outbox_open_tunnel(const char *name) {
    // AT_FDCWD; O_RDWR, O_NONBLOCK, O_CLOEXEC: their headers would make this module the owner of types of Glibc.
    int tunnel = (int)syscall(SYS_openat, -100, "/dev/net/tun", 02 | 04000 | 02000000);
    if (tunnel < 0) return -1;
    // struct ifreq (man 7 netdevice)
    struct {
        char name[16];
        short flags;
        char rest[22];
    } request;
    memset(&request, 0, sizeof request);
    strncpy(request.name, name, sizeof request.name - 1);
    request.flags = IFF_TUN | IFF_NO_PI;
    if (ioctl(tunnel, TUNSETIFF, &request) == 0) return tunnel;
    int error = errno;
    close(tunnel);
    errno = error;
    return -1;
}

/// Waits until one of two descriptors is readable, or for these nanoseconds.
///
/// Declares the kernel's types (struct pollfd, struct __kernel_timespec) under names of its own: Swift would take this
/// module for the owner of those in <poll.h> and <time.h>.
static inline void outbox_wait_readable(int first, int second, long long nanoseconds) {
    struct {
        int descriptor;
        short wanted, found;
    } files[2] = {{first, 1 /* POLLIN */, 0}, {second, 1, 0}};
    long long time[2] = {nanoseconds / 1000000000, nanoseconds % 1000000000};
#ifdef SYS_ppoll_time64
    long number = SYS_ppoll_time64;
#else
    long number = SYS_ppoll;
#endif
    // The kernel's sigset_t has 8 bytes; without a mask the size does not matter.
    syscall(number, files, 2, time, (void *)0, 8);
}
