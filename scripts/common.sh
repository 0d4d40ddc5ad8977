# shellcheck shell=bash
# Functions of all scripts. Source this file, don't run it.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
    bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
else
    bold='' dim='' red='' green='' plain=''
fi

# The flags of `swift build` for debug programs, the same in all scripts: other flags would rebuild everything.
# shellcheck disable=SC2034,SC2206
flags=(--explicit-target-dependency-import-check error ${OUTBOX_BUILD_FLAGS:-})

say() { printf '%s\n' "$*"; }
note() { printf '%s%s%s\n' "$dim" "$*" "$plain"; }
good() { printf '%s✓%s %s\n' "$green" "$plain" "$*"; }
warn() { printf '%s%s%s\n' "$red" "$*" "$plain" >&2; }
die() {
    warn "$*"
    exit 1
}

steps_taken=0
step() {
    steps_taken=$((steps_taken + 1))
    printf '\n%s%d. %s%s\n' "$bold" "$steps_taken" "$*" "$plain"
}

readonly patience=120 # seconds to wait for a step, enough for a slow machine with a busy disk

# until_true WHAT COMMAND…: repeats the command until it succeeds, for at most $patience seconds.
until_true() {
    local what=$1 deadline=$((SECONDS + patience))
    shift
    until "$@"; do
        if ((SECONDS >= deadline)); then die "Waited $patience s in vain: $what"; fi
        sleep 0.05
    done
}
