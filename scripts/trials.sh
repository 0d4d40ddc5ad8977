#!/usr/bin/env bash
# Builds the programs and runs the trials. Passes its arguments to outbox-trials (--only R5,R9 --seed 42 --long --list …).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

{
    scripts/packages.sh
    for product in outbox outbox-receiver outbox-media FaultPreload outbox-trials; do
        swift build --product "$product" "${flags[@]}"
    done
} >&2
exec "$(swift build --show-bin-path "${flags[@]}")/outbox-trials" "$@"
