// Calls that glibc declares only where _GNU_SOURCE is defined, which a module map cannot do.
#pragma once

#include <stdint.h>

extern int syncfs(int fd);
extern int sync_file_range(int fd, int64_t offset, int64_t count, unsigned int flags);
extern int renameat2(int from, const char *name, int to, const char *new_name, unsigned int flags);

// linux/fs.h
enum {
    disk_wait_before = 1,
    disk_write = 2,
    disk_wait_after = 4,
    disk_rename_exchange = 2,
};
