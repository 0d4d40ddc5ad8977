// What a program loaded with this library (LD_PRELOAD) and the trial that watches it share: a small file that both
// map. The trial turns faults on and off in it while the program runs, and reads how many were carried out, so that a
// trial whose faults never came is noticed.
//
// FAULT_BOARD   path of that file, at least sizeof(struct fault_board) bytes; without it no rule is in force
// FAULT_RULES   rules, one a line:  ACTION FUNCTIONS FIRST-LAST PATTERN
//
// ACTION     kill-before, kill-after: SIGKILL to itself; an errno by name (ENOSPC, EIO, ENOTCONN): the call fails with it;
//            hang: the call is made once rules are no longer in force
// FUNCTIONS  names with | between them: write pwrite pwritev writev fsync fdatasync syncfs sync_file_range ftruncate open
//            read (pread) stat (statx) create rename unlink mdb_txn_commit curl_multi_add_handle curl_multi_info_read. "create" is an open with O_CREAT; renameat and
//            renameat2, also through syscall(2), count as rename; openat and openat2 as open
// FIRST-LAST which of the calls that match, counted from 1
// PATTERN    fnmatch(3) of the path, where * matches / too; of the URL for curl's functions; * for LMDB's
#ifndef FAULT_PRELOAD_H
#define FAULT_PRELOAD_H

#include <stdint.h>

struct fault_board {
    // Rules that let calls fail or hang are in force while this is not 0. Those that kill always are.
    uint32_t failing;
    uint32_t reserved;
    // How often a rule was carried out.
    uint64_t carried_out;
    // Added to what clock_gettime tells, in seconds: CLOCK_REALTIME (time and gettimeofday too) and CLOCK_BOOTTIME.
    int64_t realtime_offset;
    int64_t boottime_offset;
};

#endif
