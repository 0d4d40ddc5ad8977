// Starting a program under limits. What happens between fork and exec can't be written in Swift: only
// async-signal-safe calls are allowed there (man 2 fork, man 7 signal-safety).
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/// One limit of man 2 setrlimit, soft and hard alike.
struct outbox_limit {
    int resource;
    uint64_t value;
};

/// A program to be started; every pointer is borrowed for the call.
struct outbox_child {
    const char *program;
    char *const *arguments;
    char *const *environment;
    /// Descriptors that become 0, 1, 2 and so on; at most 8.
    const int *descriptors;
    int descriptor_count;
    const struct outbox_limit *limits;
    int limit_count;
    /// Added to the scheduling priority (man 2 nice).
    int niceness;
    /// -1, or a Landlock ruleset it is held to, together with the system call filter below.
    int ruleset;
    /// Whether it is held to the system call filter.
    int filtered;
};

/// Where starting a program failed; the order in which things are done.
enum {
    outbox_start_fork,
    outbox_start_parent,
    outbox_start_directory,
    outbox_start_descriptors,
    outbox_start_limits,
    outbox_start_confinement,
    outbox_start_program,
};

#if defined(__x86_64__)
#define OUTBOX_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUTBOX_AUDIT_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define OUTBOX_AUDIT_ARCH AUDIT_ARCH_RISCV64
#endif

#define OUTBOX_REFUSAL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)
#define OUTBOX_REFUSE_NUMBER(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), OUTBOX_REFUSAL
#define OUTBOX_REFUSE(name) OUTBOX_REFUSE_NUMBER(SYS_##name)
/// The following `count` instructions are for this call alone, and begin with one of its arguments loaded: the lower half
/// of it, on processors that store that first. They end with an answer.
#define OUTBOX_LOOK_INTO(name, argument, count) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, (count) + 1), \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[argument]))
#define OUTBOX_IF_ANY_LOADED(bits, skipped) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(bits), (skipped), 0)
#define OUTBOX_NAMESPACES \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define OUTBOX_IF_LOADED(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), (skipped), 0)

/// Refuses what a media program has no use for and a captured one would like: sockets, other processes, also of its own,
/// attributes of files, the kernel's less walked parts (man 2 seccomp). Called by the process itself, whose id stays the same over exec.
/// Answers 0, or -1 and errno; ENOSYS where this processor has no filter here.
static inline int outbox_filter_calls(void) {
#ifdef OUTBOX_AUDIT_ARCH
    const pid_t self = getpid();
    const struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUTBOX_AUDIT_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef __x86_64__
        // The x32 calls have numbers of their own.
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
#endif
        OUTBOX_REFUSE(socket),
        OUTBOX_REFUSE(socketpair),
        OUTBOX_REFUSE(connect),
        OUTBOX_REFUSE(bind),
        // Threads, but no processes, which could outlive the agent, and no namespaces. The flags of clone3 are in memory,
        // where a filter can't look; glibc then uses clone.
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        OUTBOX_LOOK_INTO(clone, 0, 4),
        OUTBOX_IF_ANY_LOADED(OUTBOX_NAMESPACES, 1),
        OUTBOX_IF_ANY_LOADED(CLONE_THREAD, 1),
        OUTBOX_REFUSAL,
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
#ifdef SYS_fork
        OUTBOX_REFUSE(fork),
        OUTBOX_REFUSE(vfork),
#endif
        // It ends with the thread that started it, whatever it thinks of that.
        OUTBOX_LOOK_INTO(prctl, 0, 3),
        OUTBOX_IF_LOADED(PR_SET_PDEATHSIG, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        OUTBOX_REFUSAL,
        // Signals, but to itself: abort(3) ends by one.
        OUTBOX_LOOK_INTO(tgkill, 0, 3),
        OUTBOX_IF_LOADED(self, 1),
        OUTBOX_REFUSAL,
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        OUTBOX_REFUSE(kill),
        OUTBOX_REFUSE(tkill),
        OUTBOX_REFUSE(rt_sigqueueinfo),
        OUTBOX_REFUSE(rt_tgsigqueueinfo),
        OUTBOX_REFUSE(pidfd_send_signal),
        // A descriptor that becomes ready has the kernel send signals to whoever was named.
        OUTBOX_LOOK_INTO(fcntl, 1, 5),
        OUTBOX_IF_LOADED(F_SETOWN, 3),
        OUTBOX_IF_LOADED(F_SETOWN_EX, 2),
        OUTBOX_IF_LOADED(F_SETSIG, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        OUTBOX_REFUSAL,
        // Limits and priorities, but its own limits.
        OUTBOX_LOOK_INTO(prlimit64, 0, 4),
        OUTBOX_IF_LOADED(0, 2),
        OUTBOX_IF_LOADED(self, 1),
        OUTBOX_REFUSAL,
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        OUTBOX_REFUSE(setpriority),
        OUTBOX_REFUSE(ioprio_set),
        OUTBOX_REFUSE(sched_setaffinity),
        OUTBOX_REFUSE(sched_setattr),
        OUTBOX_REFUSE(sched_setparam),
        OUTBOX_REFUSE(sched_setscheduler),
        OUTBOX_REFUSE(pidfd_getfd),
        OUTBOX_REFUSE(ptrace),
        OUTBOX_REFUSE(process_vm_readv),
        OUTBOX_REFUSE(process_vm_writev),
        // Attributes of files, for which a descriptor open for reading is enough, and which Landlock leaves alone.
#ifdef SYS_chmod
        OUTBOX_REFUSE(chmod),
        OUTBOX_REFUSE(chown),
        OUTBOX_REFUSE(lchown),
        OUTBOX_REFUSE(utime),
        OUTBOX_REFUSE(utimes),
        OUTBOX_REFUSE(futimesat),
#endif
        OUTBOX_REFUSE(fchmod),
        OUTBOX_REFUSE(fchmodat),
        OUTBOX_REFUSE(fchown),
        OUTBOX_REFUSE(fchownat),
        OUTBOX_REFUSE(utimensat),
        OUTBOX_REFUSE(setxattr),
        OUTBOX_REFUSE(lsetxattr),
        OUTBOX_REFUSE(fsetxattr),
        OUTBOX_REFUSE(removexattr),
        OUTBOX_REFUSE(lremovexattr),
        OUTBOX_REFUSE(fremovexattr),
        // Younger than many a header: fchmodat2, setxattrat, removexattrat, file_setattr.
        OUTBOX_REFUSE_NUMBER(452),
        OUTBOX_REFUSE_NUMBER(463),
        OUTBOX_REFUSE_NUMBER(466),
        OUTBOX_REFUSE_NUMBER(469),
        OUTBOX_REFUSE(io_uring_setup),
        OUTBOX_REFUSE(bpf),
        OUTBOX_REFUSE(perf_event_open),
        OUTBOX_REFUSE(userfaultfd),
        OUTBOX_REFUSE(add_key),
        OUTBOX_REFUSE(request_key),
        OUTBOX_REFUSE(keyctl),
        OUTBOX_REFUSE(mount),
        OUTBOX_REFUSE(unshare),
        OUTBOX_REFUSE(setns),
        OUTBOX_REFUSE(open_by_handle_at),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {
        .len = sizeof code / sizeof *code,
        .filter = (struct sock_filter *)code,
    };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
#else
    errno = ENOSYS;
    return -1;
#endif
}

/// Tells the parent where and why, and ends.
__attribute__((noreturn)) static inline void outbox_child_failed(int report, int stage) {
    int words[2] = {stage, errno};
    if (write(report, words, sizeof words) < 0) { /* The parent is gone. */ }
    _exit(127);
}

/// Makes all descriptors from `first` on close-on-exec, for kernels whose close_range can't. Async-signal-safe: no opendir,
/// which allocates. Answers 0, or -1 and errno.
static inline int outbox_close_listed_on_exec(int first) {
    // man 2 getdents: inode, offset, length of the entry, type, name.
    enum { length_offset = 16, name_offset = 19 };
    char entries[1024] __attribute__((aligned(8)));
    int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (list < 0) return -1;
    long count;
    while ((count = syscall(SYS_getdents64, list, entries, sizeof entries)) > 0) {
        for (long at = 0; at < count; at += *(uint16_t *)(entries + at + length_offset)) {
            int number = 0;
            const char *name = entries + at + name_offset;
            for (; *name >= '0' && *name <= '9'; name++) number = number * 10 + (*name - '0');
            // Not `.` and `..`; one that was closed in the meantime is no harm.
            if (*name == 0 && number >= first) fcntl(number, F_SETFD, FD_CLOEXEC);
        }
    }
    int reason = errno;
    close(list);
    errno = reason;
    return count < 0 ? -1 : 0;
}

/// Makes all descriptors from `first` on close-on-exec. Everything that the agent opens is so as it is; what a
/// library opens for itself need not be. Answers 0, or -1 and errno.
static inline int outbox_close_on_exec(int first) {
#ifdef SYS_close_range
    // Linux 5.9; CLOSE_RANGE_CLOEXEC, 5.11.
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 4U) == 0) return 0;
#endif
    return outbox_close_listed_on_exec(first);
}

/// Nothing else of this process reaches the program: no descriptor, no signal setting, no directory.
static inline void outbox_child_descriptors(const struct outbox_child *child, int *report) {
    int copies[8];
    // All copies lie above the numbers that are about to be given away.
    *report = fcntl(*report, F_DUPFD_CLOEXEC, 16);
    for (int index = 0; index < child->descriptor_count; index++) {
        copies[index] = fcntl(child->descriptors[index], F_DUPFD_CLOEXEC, 16);
        if (copies[index] < 0) outbox_child_failed(*report, outbox_start_descriptors);
    }
    for (int index = 0; index < child->descriptor_count; index++) {
        if (dup2(copies[index], index) < 0) outbox_child_failed(*report, outbox_start_descriptors);
    }
    if (outbox_close_on_exec(child->descriptor_count) != 0) outbox_child_failed(*report, outbox_start_descriptors);
}

/// The child's half; never returns.
__attribute__((noreturn)) static inline void outbox_become(const struct outbox_child *child, pid_t parent, int report) {
    static const char first_victim[] = "1000";
    // The kernel's struct sigaction, SIG_DFL; glibc's function leaves out the two signals it uses itself.
    const unsigned long usual[4] = {0};
    for (int number = 1; number < 65; number++) syscall(SYS_rt_sigaction, number, usual, NULL, (size_t)8);
    setsid();
    // Sent when the thread that forked ends; the parent may have gone before this was asked for.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent)
        outbox_child_failed(report, outbox_start_parent);
    if (chdir("/") != 0) outbox_child_failed(report, outbox_start_directory);
    umask(077);
    // Short of memory, the kernel takes this one first; neither of the two is worth a failure.
    int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0 && write(score, first_victim, sizeof first_victim - 1) < 0) { /* As it is, then. */ }
    if (nice(child->niceness) < 0) { /* As it is, then. */ }
    // The kernel may share processor time between sessions first, and by nice values only within each: the session of
    // this program needs a nice value too (man 7 sched, "The autogroup feature").
    const char value[2] = {(char)('0' + child->niceness / 10 % 10), (char)('0' + child->niceness % 10)};
    int group = child->niceness > 0 ? open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC) : -1;
    if (group >= 0 && write(group, value, sizeof value) < 0) { /* As it is, then. */ }

    int ruleset = child->ruleset < 0 ? -1 : fcntl(child->ruleset, F_DUPFD_CLOEXEC, 16);
    outbox_child_descriptors(child, &report);
    for (int index = 0; index < child->limit_count; index++) {
        uint64_t both[2] = {child->limits[index].value, child->limits[index].value};
        if (syscall(SYS_prlimit64, 0, child->limits[index].resource, both, NULL) != 0)
            outbox_child_failed(report, outbox_start_limits);
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) outbox_child_failed(report, outbox_start_confinement);
    if (child->ruleset >= 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        outbox_child_failed(report, outbox_start_confinement);
    if (child->filtered && outbox_filter_calls() != 0 && errno != ENOSYS && errno != EINVAL)
        outbox_child_failed(report, outbox_start_confinement);

    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(child->program, child->arguments, child->environment);
    outbox_child_failed(report, outbox_start_program);
}

/// Starts a program in a session of its own that is killed when the calling thread ends. Answers its process id once it
/// runs; else -1, errno, and where it failed.
static inline pid_t outbox_start_child(const struct outbox_child *child, int *stage) {
    int ends[2];
    *stage = outbox_start_fork;
    if (child->descriptor_count > 8) {
        errno = EINVAL;
        return -1;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    pid_t parent = getpid();
    // No handler of this process may run in the child.
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pid_t pid = fork();
    if (pid == 0) outbox_become(child, parent, ends[1]);
    int failure = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (pid > 0) {
        int words[2] = {0, 0};
        ssize_t count;
        do count = read(ends[0], words, sizeof words);
        while (count < 0 && errno == EINTR);
        if (count == (ssize_t)sizeof words) {
            *stage = words[0];
            failure = words[1];
            // It has nothing more to do but to end.
            while (syscall(SYS_wait4, pid, NULL, 0, NULL) < 0 && errno == EINTR) {}
            pid = -1;
        }
    }
    close(ends[0]);
    if (pid < 0) errno = failure;
    return pid;
}

/// man 2 pidfd_open: readable once the process has ended.
static inline int outbox_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

/// man 2 landlock_create_ruleset: the ABI version, 0 where the kernel has no Landlock or doesn't use it.
static inline int outbox_landlock_version(void) {
    int version = (int)syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, 1U);
    return version < 0 ? 0 : version;
}

/// A ruleset that refuses every kind of access this kernel knows of: files, TCP (version 4), abstract sockets and
/// signals to other processes (6). Numbers as in linux/landlock.h, which may be older than the kernel.
static inline int outbox_landlock_ruleset(int version) {
    struct {
        uint64_t files, network, scopes;
    } refused = {.files = 0x1FFF};
    size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    if (version >= 2) refused.files |= 1 << 13;
    if (version >= 3) refused.files |= 1 << 14;
    if (version >= 4) refused.network = 3;
    if (version >= 5) refused.files |= 1 << 15;
    if (version >= 6) refused.scopes = 3;
    return (int)syscall(SYS_landlock_create_ruleset, &refused, size, 0U);
}

/// Allows a file to be read and executed, or all files below a directory.
static inline int outbox_landlock_allow_reading(int ruleset, int file, int is_directory) {
    // EXECUTE, READ_FILE, and for directories READ_DIR.
    struct __attribute__((packed)) {
        uint64_t access;
        int32_t file;
    } rule = {.access = is_directory ? 13 : 5, .file = file};
    return (int)syscall(SYS_landlock_add_rule, ruleset, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &rule, 0U);
}

/// Allows a regular file to be opened for reading and writing, and to be truncated; for a directory, all files below it,
/// which may also be made and removed.
static inline int outbox_landlock_allow_writing(int ruleset, int file, int is_directory, int version) {
    // READ_FILE and WRITE_FILE, and for directories READ_DIR, REMOVE_FILE and MAKE_REG; TRUNCATE from version 3 on,
    // before which no ruleset restricts it.
    struct __attribute__((packed)) {
        uint64_t access;
        int32_t file;
    } rule = {.access = (is_directory ? 0x12E : 6) | (version >= 3 ? 1 << 14 : 0), .file = file};
    return (int)syscall(SYS_landlock_add_rule, ruleset, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &rule, 0U);
}
