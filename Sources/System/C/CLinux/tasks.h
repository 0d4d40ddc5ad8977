// Swift's hooks for other executors (swift/Runtime/Concurrency.h), which have Swift's calling convention.
#pragma once
#include <stdint.h>
#include <sys/timerfd.h>

#define OUTBOX_SWIFT __attribute__((swiftcall))

extern void (OUTBOX_SWIFT *swift_task_enqueueGlobal_hook)(void *job, void *original);
extern OUTBOX_SWIFT void swift_job_run(void *job, uintptr_t executor, uintptr_t implementation);

static void (*outbox_task_taker)(void *job) = 0;

__attribute__((unused)) static OUTBOX_SWIFT void outbox_take_task(void *job, void *original) {
    (void)original;
    outbox_task_taker(job);
}

/// Passes all jobs for Swift's global executor to `taker`, except those that `Task.sleep` delays. Must be called before the
/// first job.
static inline void outbox_take_tasks(void (*taker)(void *job)) {
    outbox_task_taker = taker;
    swift_task_enqueueGlobal_hook = outbox_take_task;
}

/// Runs a job on the calling thread, as one of the global executor.
static inline void outbox_run_task(void *job) { swift_job_run(job, 0, 0); }

/// man 2 timerfd_create: a timer on CLOCK_BOOTTIME, whose descriptor blocks until it fires. Returns -1 and sets errno.
static inline int outbox_boot_time_timer(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC); }

/// man 2 timerfd_settime: has the timer fire after so many nanoseconds.
static inline void outbox_set_timer(int timer, uint64_t pause) {
    // The value 0 would disarm the timer.
    struct itimerspec after = {
        .it_value = {.tv_sec = (time_t)(pause / 1000000000), .tv_nsec = (long)(pause % 1000000000) | 1}};
    timerfd_settime(timer, 0, &after, NULL);
}
