// Calls that glibc declares only where _GNU_SOURCE is defined, which a module map cannot do, and calls whose structs other
// modules define as well: Swift takes the members of `struct stat` and `struct timespec` for SwiftNIO's then.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

extern int syncfs(int fd);
extern int sync_file_range(int fd, int64_t offset, int64_t count, unsigned int flags);

enum {
    // linux/fs.h
    disk_wait_before = 1,
    disk_write = 2,
    disk_wait_after = 4,
    // linux/fcntl.h
    disk_empty_path = 0x1000,
};

/// What the receiver wants to know of a file.
struct disk_status {
    uint64_t device;
    uint64_t inode;
    int64_t size;
    /// Seconds since 1970.
    int64_t modified;
    /// The last change of content or metadata, in nanoseconds since 1970.
    int64_t changed;
    unsigned int mode;
};

/// man 2 fstatat. Returns 0, or -1 and sets errno.
static inline int disk_get_status(int directory, const char *name, int flags, struct disk_status *result) {
    struct stat status;
    if (fstatat(directory, name, &status, flags) != 0) return -1;
    result->device = status.st_dev;
    result->inode = status.st_ino;
    result->size = status.st_size;
    result->modified = status.st_mtim.tv_sec;
    result->changed = status.st_ctim.tv_sec * 1000000000 + status.st_ctim.tv_nsec;
    result->mode = status.st_mode;
    return 0;
}

/// The name of a `struct dirent`, however long: Swift sees the first 256 bytes of it (man 3 readdir, "d_name").
static inline const char *disk_entry_name(const void *entry) { return ((const struct dirent *)entry)->d_name; }

/// Sets the times of a file in a directory, in seconds since 1970; never follows a link (man 2 utimensat). Returns 0, or
/// -1 and sets errno.
static inline int disk_set_times(int directory, const char *name, int64_t seconds) {
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    return utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW);
}

/// Seconds since the machine started, those asleep included (man 2 clock_gettime, CLOCK_BOOTTIME).
static inline int64_t disk_uptime(void) {
    struct timespec time;
    return clock_gettime(CLOCK_BOOTTIME, &time) == 0 ? time.tv_sec : 0;
}
