// The functions that stand before those of glibc, libcurl and LMDB. Only dynamically linked ones can be had this way,
// which all three are in the agent.
#define _GNU_SOURCE
// With this macro glibc would redirect open to open64 and so on, and there would be two of one name.
#undef _FILE_OFFSET_BITS
#include "Rules.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// The next definition of a function in the order of the dynamic linker: the real one.
#define REAL(type, name, ...)                                                                                         \
    static type (*real)(__VA_ARGS__);                                                                                 \
    if (real == NULL) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

enum { LONGEST_SUBJECT = PATH_MAX + 64 };

static void path_of(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX);
    path[length < 0 ? 0 : length] = 0;
}

static void path_at(int directory, const char *name, char *path) {
    if (name[0] == '/' || directory == AT_FDCWD) {
        snprintf(path, LONGEST_SUBJECT, "%s", name);
        return;
    }
    path_of(directory, path);
    size_t length = strlen(path);
    snprintf(path + length, LONGEST_SUBJECT - length, "/%s", name);
}

static struct fault_verdict judge_descriptor(enum fault_function function, int descriptor) {
    struct fault_verdict none = {0, false};
    if (!fault_concerns(function)) return none;
    char path[LONGEST_SUBJECT];
    path_of(descriptor, path);
    return fault_judge(function, path);
}

static struct fault_verdict judge_name(enum fault_function function, int directory, const char *name) {
    struct fault_verdict none = {0, false};
    if (!fault_concerns(function) || name == NULL) return none;
    char path[LONGEST_SUBJECT];
    path_at(directory, name, path);
    return fault_judge(function, path);
}

static struct fault_verdict judge_open(int directory, const char *name, int flags) {
    if (flags & O_CREAT) {
        struct fault_verdict verdict = judge_name(FAULT_CREATE, directory, name);
        if (verdict.error != 0 || verdict.killed_after) return verdict;
    }
    return judge_name(FAULT_OPEN, directory, name);
}

// Fails as the verdict says, or calls and dies afterwards where it says that.
#define CARRY_OUT(verdict, result_type, call)                                                                         \
    do {                                                                                                              \
        struct fault_verdict judged = (verdict);                                                                      \
        if (judged.error != 0) {                                                                                      \
            errno = judged.error;                                                                                     \
            return -1;                                                                                                \
        }                                                                                                             \
        result_type result = (call);                                                                                  \
        fault_settle(judged);                                                                                         \
        return result;                                                                                                \
    } while (0)

ssize_t write(int descriptor, const void *bytes, size_t count) {
    REAL(ssize_t, write, int, const void *, size_t);
    CARRY_OUT(judge_descriptor(FAULT_WRITE, descriptor), ssize_t, real(descriptor, bytes, count));
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
    CARRY_OUT(judge_descriptor(FAULT_PWRITE, descriptor), ssize_t, real(descriptor, bytes, count, offset));
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    CARRY_OUT(judge_descriptor(FAULT_PWRITE, descriptor), ssize_t, real(descriptor, bytes, count, offset));
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    REAL(ssize_t, pwritev, int, const struct iovec *, int, off_t);
    CARRY_OUT(judge_descriptor(FAULT_PWRITEV, descriptor), ssize_t, real(descriptor, parts, count, offset));
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
    REAL(ssize_t, pwritev64, int, const struct iovec *, int, off64_t);
    CARRY_OUT(judge_descriptor(FAULT_PWRITEV, descriptor), ssize_t, real(descriptor, parts, count, offset));
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    REAL(ssize_t, writev, int, const struct iovec *, int);
    CARRY_OUT(judge_descriptor(FAULT_WRITEV, descriptor), ssize_t, real(descriptor, parts, count));
}

int fsync(int descriptor) {
    REAL(int, fsync, int);
    CARRY_OUT(judge_descriptor(FAULT_FSYNC, descriptor), int, real(descriptor));
}

int fdatasync(int descriptor) {
    REAL(int, fdatasync, int);
    CARRY_OUT(judge_descriptor(FAULT_FDATASYNC, descriptor), int, real(descriptor));
}

int syncfs(int descriptor) {
    REAL(int, syncfs, int);
    CARRY_OUT(judge_descriptor(FAULT_SYNCFS, descriptor), int, real(descriptor));
}

int sync_file_range(int descriptor, off64_t offset, off64_t count, unsigned int flags) {
    REAL(int, sync_file_range, int, off64_t, off64_t, unsigned int);
    CARRY_OUT(judge_descriptor(FAULT_SYNC_RANGE, descriptor), int, real(descriptor, offset, count, flags));
}

int ftruncate(int descriptor, off_t length) {
    REAL(int, ftruncate, int, off_t);
    CARRY_OUT(judge_descriptor(FAULT_FTRUNCATE, descriptor), int, real(descriptor, length));
}

int ftruncate64(int descriptor, off64_t length) {
    REAL(int, ftruncate64, int, off64_t);
    CARRY_OUT(judge_descriptor(FAULT_FTRUNCATE, descriptor), int, real(descriptor, length));
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    REAL(ssize_t, pread, int, void *, size_t, off_t);
    CARRY_OUT(judge_descriptor(FAULT_READ, descriptor), ssize_t, real(descriptor, bytes, count, offset));
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) {
    REAL(ssize_t, pread64, int, void *, size_t, off64_t);
    CARRY_OUT(judge_descriptor(FAULT_READ, descriptor), ssize_t, real(descriptor, bytes, count, offset));
}

int statx(int directory, const char *restrict path, int flags, unsigned mask, struct statx *restrict status) {
    REAL(int, statx, int, const char *, int, unsigned, struct statx *);
    struct fault_verdict verdict =
        path[0] == 0 ? judge_descriptor(FAULT_STAT, directory) : judge_name(FAULT_STAT, directory, path);
    CARRY_OUT(verdict, int, real(directory, path, flags, mask, status));
}

// man 2 open: there is a mode only where something may be created.
#define MODE_AFTER(flags, mode)                                                                                       \
    mode_t mode = 0;                                                                                                  \
    if (((flags) & (O_CREAT | __O_TMPFILE)) != 0) {                                                                   \
        va_list rest;                                                                                                 \
        va_start(rest, flags);                                                                                        \
        mode = va_arg(rest, mode_t);                                                                                  \
        va_end(rest);                                                                                                 \
    }

int open(const char *path, int flags, ...) {
    MODE_AFTER(flags, mode)
    REAL(int, open, const char *, int, ...);
    CARRY_OUT(judge_open(AT_FDCWD, path, flags), int, real(path, flags, mode));
}

int open64(const char *path, int flags, ...) {
    MODE_AFTER(flags, mode)
    REAL(int, open64, const char *, int, ...);
    CARRY_OUT(judge_open(AT_FDCWD, path, flags), int, real(path, flags, mode));
}

int openat(int directory, const char *path, int flags, ...) {
    MODE_AFTER(flags, mode)
    REAL(int, openat, int, const char *, int, ...);
    CARRY_OUT(judge_open(directory, path, flags), int, real(directory, path, flags, mode));
}

int openat64(int directory, const char *path, int flags, ...) {
    MODE_AFTER(flags, mode)
    REAL(int, openat64, int, const char *, int, ...);
    CARRY_OUT(judge_open(directory, path, flags), int, real(directory, path, flags, mode));
}

int rename(const char *old_path, const char *new_path) {
    REAL(int, rename, const char *, const char *);
    CARRY_OUT(judge_name(FAULT_RENAME, AT_FDCWD, new_path), int, real(old_path, new_path));
}

int renameat(int old_directory, const char *old_path, int new_directory, const char *new_path) {
    REAL(int, renameat, int, const char *, int, const char *);
    CARRY_OUT(
        judge_name(FAULT_RENAME, new_directory, new_path), int,
        real(old_directory, old_path, new_directory, new_path));
}

int renameat2(int old_directory, const char *old_path, int new_directory, const char *new_path, unsigned flags) {
    REAL(int, renameat2, int, const char *, int, const char *, unsigned);
    CARRY_OUT(
        judge_name(FAULT_RENAME, new_directory, new_path), int,
        real(old_directory, old_path, new_directory, new_path, flags));
}

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    CARRY_OUT(judge_name(FAULT_UNLINK, AT_FDCWD, path), int, real(path));
}

int unlinkat(int directory, const char *path, int flags) {
    REAL(int, unlinkat, int, const char *, int);
    CARRY_OUT(judge_name(FAULT_UNLINK, directory, path), int, real(directory, path, flags));
}

// man 2 syscall: every argument fits a long, and reading more of them than were given harms nothing, since they come
// in registers.
long syscall(long number, ...) {
    long values[6];
    va_list rest;
    va_start(rest, number);
    for (int index = 0; index < 6; index++) values[index] = va_arg(rest, long);
    va_end(rest);
    REAL(long, syscall, long, ...);
    struct fault_verdict verdict = {0, false};
    if (number == SYS_renameat2) {
        verdict = judge_name(FAULT_RENAME, (int)values[2], (const char *)values[3]);
    } else if (number == SYS_openat2) {
        // man 2 openat2: struct open_how begins with the flags.
        verdict = judge_open((int)values[0], (const char *)values[1], (int)*(const unsigned long long *)values[2]);
    }
    CARRY_OUT(
        verdict, long,
        real(number, values[0], values[1], values[2], values[3], values[4], values[5]));
}

// LMDB and libcurl by what their manuals say of these functions; their headers are not needed for it.

int mdb_txn_commit(void *transaction) {
    REAL(int, mdb_txn_commit, void *);
    struct fault_verdict verdict = {0, false};
    if (fault_concerns(FAULT_MDB_TXN_COMMIT)) verdict = fault_judge(FAULT_MDB_TXN_COMMIT, "ledger");
    int result = verdict.error != 0 ? verdict.error : real(transaction);
    fault_settle(verdict);
    return result;
}

static const char *url_of(void *handle) {
    // curl.h: CURLINFO_EFFECTIVE_URL is CURLINFO_STRING + 1.
    const int effective_url = 0x100000 + 1;
    REAL(int, curl_easy_getinfo, void *, int, ...);
    char *url = NULL;
    if (real == NULL || real(handle, effective_url, &url) != 0 || url == NULL) return "";
    return url;
}

int curl_multi_add_handle(void *multi, void *handle) {
    REAL(int, curl_multi_add_handle, void *, void *);
    struct fault_verdict verdict = {0, false};
    if (fault_concerns(FAULT_CURL_ADD)) verdict = fault_judge(FAULT_CURL_ADD, url_of(handle));
    int result = real(multi, handle);
    fault_settle(verdict);
    return result;
}

// The head of curl.h's CURLMsg.
struct curl_message {
    int kind;
    void *handle;
};

void *curl_multi_info_read(void *multi, int *left) {
    REAL(void *, curl_multi_info_read, void *, int *);
    struct curl_message *message = real(multi, left);
    if (message != NULL && fault_concerns(FAULT_CURL_RESULT)) {
        fault_settle(fault_judge(FAULT_CURL_RESULT, url_of(message->handle)));
    }
    return message;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(int, clock_gettime, clockid_t, struct timespec *);
    int result = real(clock, time);
    if (result == 0) time->tv_sec += fault_clock_offset(clock);
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    REAL(int, gettimeofday, struct timeval *, void *);
    int result = real(time, zone);
    if (result == 0) time->tv_sec += fault_clock_offset(CLOCK_REALTIME);
    return result;
}

time_t time(time_t *where) {
    REAL(time_t, time, time_t *);
    time_t now = real(NULL) + fault_clock_offset(CLOCK_REALTIME);
    if (where != NULL) *where = now;
    return now;
}
