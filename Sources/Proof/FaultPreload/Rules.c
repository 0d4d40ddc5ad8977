#define _GNU_SOURCE
#include "Rules.h"
#include "FaultPreload.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RULES = 16, LONGEST_RULES = 4096 };

struct rule {
    uint32_t functions;  // bit n: enum fault_function n
    int error;
    bool kills_before;
    bool kills_after;
    bool hangs;
    unsigned long first;
    unsigned long last;
    const char *pattern;
    atomic_ulong calls;
};

static struct rule rules[MOST_RULES];
static int rule_count;
static uint32_t concerned;
static char text[LONGEST_RULES];
static struct fault_board *board;

static const char *const function_names[FAULT_FUNCTIONS] = {
    [FAULT_WRITE] = "write",
    [FAULT_PWRITE] = "pwrite",
    [FAULT_PWRITEV] = "pwritev",
    [FAULT_WRITEV] = "writev",
    [FAULT_FSYNC] = "fsync",
    [FAULT_FDATASYNC] = "fdatasync",
    [FAULT_SYNCFS] = "syncfs",
    [FAULT_SYNC_RANGE] = "sync_file_range",
    [FAULT_FTRUNCATE] = "ftruncate",
    [FAULT_READ] = "read",
    [FAULT_STAT] = "stat",
    [FAULT_OPEN] = "open",
    [FAULT_CREATE] = "create",
    [FAULT_RENAME] = "rename",
    [FAULT_UNLINK] = "unlink",
    [FAULT_MDB_TXN_COMMIT] = "mdb_txn_commit",
    [FAULT_CURL_ADD] = "curl_multi_add_handle",
    [FAULT_CURL_RESULT] = "curl_multi_info_read",
};

// A rule that is not understood must not pass for a trial that went well.
static _Noreturn void refuse(const char *what) {
    fprintf(stderr, "FAULT_RULES: not understood: %s\n", what);
    _exit(70);
}

static uint32_t functions_of(char *names) {
    uint32_t found = 0;
    char *rest = NULL;
    for (char *name = strtok_r(names, "|", &rest); name != NULL; name = strtok_r(NULL, "|", &rest)) {
        int function = 0;
        while (function < FAULT_FUNCTIONS && strcmp(name, function_names[function]) != 0) function++;
        if (function == FAULT_FUNCTIONS) refuse(name);
        found |= 1U << function;
    }
    return found;
}

static void add_rule(char *line) {
    char *rest = NULL;
    char *action = strtok_r(line, " ", &rest);
    char *names = strtok_r(NULL, " ", &rest);
    char *range = strtok_r(NULL, " ", &rest);
    if (action == NULL || names == NULL || range == NULL || rest == NULL || *rest == 0) refuse(line);
    if (rule_count == MOST_RULES) refuse("too many rules");
    struct rule *rule = &rules[rule_count++];
    rule->kills_before = strcmp(action, "kill-before") == 0;
    rule->kills_after = strcmp(action, "kill-after") == 0;
    rule->hangs = strcmp(action, "hang") == 0;
    rule->error = strcmp(action, "ENOSPC") == 0     ? ENOSPC
                  : strcmp(action, "EIO") == 0      ? EIO
                  : strcmp(action, "ENOTCONN") == 0 ? ENOTCONN
                                                    : 0;
    if (!rule->kills_before && !rule->kills_after && !rule->hangs && rule->error == 0) refuse(action);
    if (sscanf(range, "%lu-%lu", &rule->first, &rule->last) != 2) refuse(range);
    rule->functions = functions_of(names);
    rule->pattern = rest;
    concerned |= rule->functions;
}

__attribute__((constructor)) static void read_rules(void) {
    const char *given = getenv("FAULT_RULES");
    const char *path = getenv("FAULT_BOARD");
    if (path == NULL) return;
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) refuse(path);
    void *shared = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (shared == MAP_FAILED) refuse(path);
    board = shared;
    if (given == NULL) return;
    if (strlen(given) >= sizeof text) refuse("too long");
    strcpy(text, given);
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) add_rule(line);
}

static _Noreturn void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

bool fault_concerns(enum fault_function function) { return (concerned >> function & 1U) != 0; }

struct fault_verdict fault_judge(enum fault_function function, const char *subject) {
    struct fault_verdict verdict = {0, false};
    for (int index = 0; index < rule_count; index++) {
        struct rule *rule = &rules[index];
        if ((rule->functions >> function & 1U) == 0) continue;
        bool fails = rule->error != 0 || rule->hangs;
        if (fails && __atomic_load_n(&board->failing, __ATOMIC_ACQUIRE) == 0) continue;
        if (fnmatch(rule->pattern, subject, 0) != 0) continue;
        unsigned long call = atomic_fetch_add(&rule->calls, 1) + 1;
        if (call < rule->first || call > rule->last) continue;
        __atomic_add_fetch(&board->carried_out, 1, __ATOMIC_RELEASE);
        if (rule->kills_before) die();
        while (rule->hangs && __atomic_load_n(&board->failing, __ATOMIC_ACQUIRE) != 0) usleep(10000);
        if (rule->kills_after) verdict.killed_after = true;
        if (rule->error != 0) verdict.error = rule->error;
    }
    return verdict;
}

void fault_settle(struct fault_verdict verdict) {
    if (verdict.killed_after) die();
}

long fault_clock_offset(int clock) {
    if (board == NULL) return 0;
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: return (long)__atomic_load_n(&board->realtime_offset, __ATOMIC_ACQUIRE);
    case CLOCK_BOOTTIME: return (long)__atomic_load_n(&board->boottime_offset, __ATOMIC_ACQUIRE);
    default: return 0;
    }
}
