// Which call is to fail or to be the program's last.
#ifndef FAULT_RULES_H
#define FAULT_RULES_H

#include <stdbool.h>

enum fault_function {
    FAULT_WRITE,
    FAULT_PWRITE,
    FAULT_PWRITEV,
    FAULT_WRITEV,
    FAULT_FSYNC,
    FAULT_FDATASYNC,
    FAULT_SYNCFS,
    FAULT_SYNC_RANGE,
    FAULT_FTRUNCATE,
    FAULT_READ,
    FAULT_STAT,
    FAULT_OPEN,
    FAULT_CREATE,
    FAULT_RENAME,
    FAULT_UNLINK,
    FAULT_MDB_TXN_COMMIT,
    FAULT_CURL_ADD,
    FAULT_CURL_RESULT,
    FAULT_FUNCTIONS
};

// What happens to one call.
struct fault_verdict {
    int error;          // not 0: the call fails with this errno
    bool killed_after;  // the program is killed once the call has been made
};

// Whether any rule names the function; what it is called with need not be looked up where none does.
bool fault_concerns(enum fault_function function);

// Counts the call and says what happens to it; does not return where the program is to die before it, and returns late
// where it is to hang.
struct fault_verdict fault_judge(enum fault_function function, const char *subject);

// Ends the program where the verdict says so. Keeps errno.
void fault_settle(struct fault_verdict verdict);

// Seconds to add to a clock.
long fault_clock_offset(int clock);

#endif
