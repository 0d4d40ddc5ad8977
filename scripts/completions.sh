#!/usr/bin/env bash
# Writes the completion scripts of `outbox` for bash, zsh and fish: outbox.bash, _outbox and outbox.fish.
#   scripts/completions.sh [DIRECTORY]     absolute, or relative to the repository; default: .build/completions
# Uses the program in $BIN, else in .build/release, else in .build/debug.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

bin=${BIN:-}
for place in .build/release .build/debug; do
    if [[ -z $bin && -x $place/outbox ]]; then bin=$place; fi
done
[[ -n $bin ]] || die "outbox is not built yet: make build"
directory=${1:-.build/completions}
mkdir -p "$directory"
"$bin/outbox" --generate-completion-script bash >"$directory/outbox.bash"
"$bin/outbox" --generate-completion-script zsh >"$directory/_outbox"
"$bin/outbox" --generate-completion-script fish >"$directory/outbox.fish"
good "$directory"/*
