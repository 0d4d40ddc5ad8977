#!/usr/bin/env bash
# Builds the programs for release, with Swift's libraries inside. Arguments name products; without any, builds all.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

products=("$@")
if (($# == 0)); then products=(outbox outbox-receiver outbox-media outbox-bench); fi
for product in "${products[@]}"; do
    swift build -c release --static-swift-stdlib --product "$product" </dev/null
done
