#!/usr/bin/env bash
# Everything that must hold: style, a build without warnings, unit and conformance tests, then the programs themselves.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The same for build and test, or the second would build all over again. -O2 is for BoringSSL, whose MD5 is slow
# without it.
flags=(--explicit-target-dependency-import-check error -Xcc -O2)
times=()

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

# Shows all a test run says, and what failed once more at its end: it may stand thousands of lines above.
tests() {
    local log status=0
    log=$(mktemp)
    swift test --skip-build "${flags[@]}" "$@" 2>&1 | tee "$log" || status=$?
    if ((status)); then
        printf '\nWhat failed:\n'
        grep -aE '^✘|: error:|^Fatal error|unexpected signal code' "$log" | cut -c 1-2000 | tail -n 60 || true
    fi
    rm -f "$log"
    return "$status"
}

report() {
    printf '\n'
    if ((${#times[@]})); then printf '%s\n' "${times[@]}"; fi
}

stage "Packages" scripts/packages.sh
stage "Style" scripts/lint.sh
stage "Build" swift build --build-tests "${flags[@]}"
# One after the other: tests that compute for seconds would starve those that wait, on a machine with two cores.
stage "Unit and conformance tests" tests --no-parallel --skip EndToEndTests
stage "End-to-end tests" tests --filter EndToEndTests
# The smallest counts; `make trials` has more of everything.
stage "Quick trials" "$(swift build --show-bin-path "${flags[@]}")/outbox-trials" --quick

report
good "All passed in $SECONDS s."
