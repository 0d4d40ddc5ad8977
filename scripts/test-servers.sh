#!/usr/bin/env bash
# Builds, starts real servers on loopback and tries the agent on them. Passes its arguments to scripts/servers/run.py
# (--only seaweedfs,moto).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

scripts/packages.sh
swift build --build-tests "${flags[@]}"
bin=$(swift build --show-bin-path "${flags[@]}")
# Many agents at once would only wait for the servers.
export OUTBOX_TEST_AGENTS=${OUTBOX_TEST_AGENTS:-4}
exec scripts/servers/run.py "$@" -- \
    "$bin/outbox-agentPackageTests.xctest" --testing-library swift-testing --filter '^EndToEndTests\.RealServer'
