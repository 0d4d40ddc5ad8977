// What a process does to itself before it touches what it must not trust. System calls without a function in glibc,
// tables of constants that Swift cannot import, and calls whose types clash with Swift's Glibc module.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUTBOX_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUTBOX_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/// man 2 prctl, PR_SET_NO_NEW_PRIVS; both other layers need it.
static inline int outbox_gain_no_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

/// man 2 setitimer, ITIMER_PROF: SIGPROF ends the process once all its threads together have run for this long; 0 stops
/// the clock. The kernel's struct itimerval is four longs.
static inline int outbox_limit_processor_time(long seconds) {
    const long timer[4] = {0, 0, seconds, 0};
    return (int)syscall(SYS_setitimer, 2 /* ITIMER_PROF */, timer, NULL);
}

/// man 7 landlock: no rule allows anything, so that every right the kernel knows to handle is gone: to open, execute,
/// make or remove files, to bind or connect TCP ports, to reach abstract sockets or signal processes outside.
static inline int outbox_forbid_files(void) {
    // The rights of each version, as bits counted from the first; older headers don't name them all.
    static const uint64_t file_rights[] = {13, 14, 15, 15, 16};
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */);
    if (version < 1) return -1;
    struct { uint64_t files, net, scoped; } rules = {(UINT64_C(1) << file_rights[version < 5 ? version - 1 : 4]) - 1, 0, 0};
    size_t size = sizeof(uint64_t);
    if (version >= 4) { rules.net = 3; size = 2 * sizeof(uint64_t); }
    if (version >= 6) { rules.scoped = 3; size = 3 * sizeof(uint64_t); }
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (ruleset < 0) return -1;
    long result = syscall(SYS_landlock_restrict_self, ruleset, 0);
    close(ruleset);
    return (int)result;
}

// What decoders need once everything is loaded: memory, threads, time, and the descriptors they are given. What is not
// here, with or without a number today, fails with EPERM. Where a call came later than the oldest kernels, or is missing
// on one of the architectures, the libraries have another way.
static const uint16_t outbox_allowed_calls[] = {
    SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_write, SYS_pwrite64, SYS_writev, SYS_lseek, SYS_ftruncate,
    SYS_close, SYS_dup, SYS_fstat, SYS_sendmsg, SYS_recvmsg, SYS_ppoll,
    SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_membarrier, SYS_mincore,
    SYS_futex, SYS_set_robust_list, SYS_set_tid_address, SYS_sched_yield, SYS_sched_getaffinity,
    SYS_sched_getparam, SYS_sched_getscheduler, SYS_getcpu, SYS_exit, SYS_exit_group, SYS_restart_syscall,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_setitimer,
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
    SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrusage, SYS_times, SYS_uname,
    SYS_sysinfo, SYS_getrandom,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_time
    SYS_time,
#endif
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
#endif
};

// man 2 seccomp: the filter sees the number and the arguments; those compared fit in the low half of a register.
#define OUTBOX_ARGUMENT(n) ((uint32_t)(offsetof(struct seccomp_data, args) + 8 * (n)))
#define OUTBOX_LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define OUTBOX_RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define OUTBOX_REFUSE(code) OUTBOX_RETURN(SECCOMP_RET_ERRNO | (code))
#define OUTBOX_UNLESS_EQUAL(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define OUTBOX_IF_EQUAL(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (skip), 0)
#define OUTBOX_IF_SET(bits, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (skip), 0)

#ifdef OUTBOX_ARCHITECTURE
/// Handler of SIGSYS, which the filter raises in place of newfstatat (man 2 seccomp, SECCOMP_RET_TRAP): answers for a
/// descriptor as fstat does, and for a path not at all. Where the filter holds, only its own calls are left to call.
static inline void outbox_answer_call(int number, siginfo_t *info, void *context) {
    (void)number;
    int before = errno;
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    const long arguments[] = {
        machine->gregs[REG_RDI], machine->gregs[REG_RSI], machine->gregs[REG_RDX], machine->gregs[REG_R10]};
#elif defined(__aarch64__)
    const long arguments[] = {
        (long)machine->regs[0], (long)machine->regs[1], (long)machine->regs[2], (long)machine->regs[3]};
#endif
    const char *path = (const char *)arguments[1];
    long result = -EPERM;
    if (info->si_syscall == SYS_newfstatat && (arguments[3] & AT_EMPTY_PATH) && (path == NULL || *path == 0)) {
        result = syscall(SYS_fstat, arguments[0], arguments[2]);
        if (result < 0) result = -errno;
    }
#if defined(__x86_64__)
    machine->gregs[REG_RAX] = result;
#elif defined(__aarch64__)
    machine->regs[0] = (unsigned long long)result;
#endif
    errno = before;
}
#endif

/// Refuses every system call of all threads but those above, and a few with arguments that do no harm.
static inline int outbox_forbid_calls(void) {
#ifdef OUTBOX_ARCHITECTURE
    const struct sock_filter guarded[] = {
        OUTBOX_LOAD(offsetof(struct seccomp_data, arch)),
        OUTBOX_IF_EQUAL(OUTBOX_ARCHITECTURE, 1),
        OUTBOX_RETURN(SECCOMP_RET_KILL_PROCESS),
        OUTBOX_LOAD(offsetof(struct seccomp_data, nr)),
        // Its flags are in memory, where a filter can't look; glibc then uses clone.
        OUTBOX_UNLESS_EQUAL(SYS_clone3, 1), OUTBOX_REFUSE(ENOSYS),
        // Threads, no processes.
        OUTBOX_UNLESS_EQUAL(SYS_clone, 4), OUTBOX_LOAD(OUTBOX_ARGUMENT(0)),
        OUTBOX_IF_SET(CLONE_THREAD, 1), OUTBOX_REFUSE(EPERM), OUTBOX_RETURN(SECCOMP_RET_ALLOW),
        // Memory, but none to run code from.
        OUTBOX_IF_EQUAL(SYS_mmap, 1), OUTBOX_UNLESS_EQUAL(SYS_mprotect, 4), OUTBOX_LOAD(OUTBOX_ARGUMENT(2)),
        OUTBOX_IF_SET(PROT_EXEC, 1), OUTBOX_RETURN(SECCOMP_RET_ALLOW), OUTBOX_REFUSE(EPERM),
        // Signals to itself: abort(3) ends by one.
        OUTBOX_UNLESS_EQUAL(SYS_tgkill, 4), OUTBOX_LOAD(OUTBOX_ARGUMENT(0)),
        OUTBOX_IF_EQUAL((uint32_t)getpid(), 1), OUTBOX_REFUSE(EPERM), OUTBOX_RETURN(SECCOMP_RET_ALLOW),
        // Names of threads.
        OUTBOX_UNLESS_EQUAL(SYS_prctl, 4), OUTBOX_LOAD(OUTBOX_ARGUMENT(0)),
        OUTBOX_IF_EQUAL(PR_SET_NAME, 1), OUTBOX_REFUSE(EPERM), OUTBOX_RETURN(SECCOMP_RET_ALLOW),
        // Its own limits, whose upper bounds are set.
        OUTBOX_UNLESS_EQUAL(SYS_prlimit64, 4), OUTBOX_LOAD(OUTBOX_ARGUMENT(0)),
        OUTBOX_IF_EQUAL(0, 1), OUTBOX_REFUSE(EPERM), OUTBOX_RETURN(SECCOMP_RET_ALLOW),
        // Copies and flags of descriptors; not F_SETOWN, which sends signals to others.
        OUTBOX_UNLESS_EQUAL(SYS_fcntl, 7), OUTBOX_LOAD(OUTBOX_ARGUMENT(1)),
        OUTBOX_IF_EQUAL(F_DUPFD_CLOEXEC, 4), OUTBOX_IF_EQUAL(F_GETFD, 3), OUTBOX_IF_EQUAL(F_SETFD, 2),
        OUTBOX_IF_EQUAL(F_GETFL, 1), OUTBOX_REFUSE(EPERM), OUTBOX_RETURN(SECCOMP_RET_ALLOW),
        // These two take a path even with AT_EMPTY_PATH, and Landlock lets the state of any file be read. glibc 2.33 to
        // 2.38 asks for the state of a descriptor by the second: the handler of SIGSYS answers.
        OUTBOX_UNLESS_EQUAL(SYS_statx, 1), OUTBOX_REFUSE(ENOSYS),
        OUTBOX_UNLESS_EQUAL(SYS_newfstatat, 1), OUTBOX_RETURN(SECCOMP_RET_TRAP),
    };
    enum {
        guards = sizeof guarded / sizeof *guarded,
        allowed = sizeof outbox_allowed_calls / sizeof *outbox_allowed_calls,
    };
    struct sock_filter filter[guards + 2 * allowed + 1];
    unsigned length = 0;
    while (length < guards) {
        filter[length] = guarded[length];
        length++;
    }
    for (unsigned index = 0; index < allowed; index++) {
        filter[length++] = (struct sock_filter)OUTBOX_UNLESS_EQUAL(outbox_allowed_calls[index], 1);
        filter[length++] = (struct sock_filter)OUTBOX_RETURN(SECCOMP_RET_ALLOW);
    }
    filter[length++] = (struct sock_filter)OUTBOX_REFUSE(EPERM);
    const struct sock_fprog program = {.len = (unsigned short)length, .filter = filter};
    const struct sigaction answer = {.sa_sigaction = outbox_answer_call, .sa_flags = SA_SIGINFO};
    if (sigaction(SIGSYS, &answer, NULL) != 0) return -1;
    // Where the signal is blocked, as on threads that block every one, the kernel ends the process instead.
    sigset_t handled;
    sigemptyset(&handled);
    sigaddset(&handled, SIGSYS);
    if (pthread_sigmask(SIG_UNBLOCK, &handled, NULL) != 0) return -1;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0 ? 0 : -1;
#else
    errno = ENOSYS;
    return -1;
#endif
}
