#!/usr/bin/env bash
# Everything that must hold: style, a build without warnings, unit and conformance tests, then the programs themselves.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Those of scripts/trials.sh, or each would build all over again what the other has built.
flags=(--explicit-target-dependency-import-check error)
times=()
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What runs in the background does not hear Ctrl-C.
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

# The style is checked meanwhile: a build has moments that leave a core idle.
build() {
    local style=0 status=0
    scripts/lint.sh >"$work/style" 2>&1 &
    swift build --build-tests "${flags[@]}" || status=$?
    wait $! || style=$?
    cat "$work/style"
    ((!status && !style))
}

# Runs tests in a process of their own, by the program that `swift test` starts too. That command would build first, and
# hold a lock that keeps a second one from running beside it.
#
# Arguments: a name for messages, then those of the program.
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

# The tests of one target, one after the other: next to one that computes for seconds, those that wait would starve.
target() {
    local status=0
    tests "$1" --no-parallel --filter "^$1\\." >"$work/$1.all" || status=$?
    flock "$work" cat "$work/$1.all"
    return "$status"
}

# Three targets at a time on two cores, since many tests wait. The long ones begin, so that none is left over at the end.
unit_tests() {
    local width=$((($(nproc) * 3 + 1) / 2)) running=0 failed=0 directory name
    local targets=(AgentTests OutboxReceiverTests MediaToolsTests MediaWorkerTests LedgerTests UploadCoreTests)
    for directory in Tests/*/; do
        name=$(basename "$directory")
        if [[ " EndToEndTests ${targets[*]} " != *" $name "* ]]; then targets+=("$name"); fi
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

# What failed is shown at the end: it may stand thousands of lines above.
report() {
    printf '\n'
    if [[ -s $work/failures ]]; then cat "$work/failures"; fi
    if ((${#times[@]})); then printf '%s\n' "${times[@]}"; fi
}

stage "Packages" scripts/packages.sh
stage "Build and style" build
bin=$(swift build --show-bin-path "${flags[@]}")
stage "Unit and conformance tests" unit_tests
stage "End-to-end tests" tests EndToEndTests --filter '^EndToEndTests\.'
# The smallest counts; `make trials` has more of everything.
stage "Quick trials" "$bin/outbox-trials" --quick --jobs 4

report
good "All passed in $SECONDS s."
