#!/usr/bin/env bash
# Drops a file into an outbox and waits until its sidecar says what became of it.
#
#   drop-and-wait.sh FILE OUTBOX [SECONDS]
#
# Exit code: 0 it arrived, 1 it did not and will not, 2 wrong use, 75 not yet.
set -euo pipefail

if (($# < 2 || $# > 3)); then
    echo "usage: ${0##*/} FILE OUTBOX [SECONDS]" >&2
    exit 2
fi
file=$1
outbox=$2
patience=${3:-600}
name=$(basename "$file")
sidecar="$outbox/$name.outbox.json"

if [[ -e $outbox/$name ]]; then
    echo "$outbox/$name is there already" >&2
    exit 2
fi

# Copied under a name the agent ignores and renamed, so that it never sees half a file. (It also waits by itself until
# a writer has closed its file; this way doesn't depend on that.)
temporary="$outbox/.$name.$$.part"
trap 'rm -f "$temporary"' EXIT
cp -- "$file" "$temporary"
mv -- "$temporary" "$outbox/$name"

field() {
    python3 -c 'import json, sys
value = json.load(open(sys.argv[1], encoding="utf-8"))
for name in sys.argv[2:]:
    value = value[name] if value is not None else None
print("" if value is None else value)' "$sidecar" "$@" 2>/dev/null || true
}

last=''
while ((SECONDS < patience)); do
    state=$(field state)
    if [[ $state != "$last" ]]; then
        echo "$name: ${state:-not seen yet}" >&2
        last=$state
    fi
    case $state in
        done)
            field remote url
            exit 0
            ;;
        failed | cancelled | rejected)
            echo "$name: $(field error message)" >&2
            exit 1
            ;;
    esac
    sleep 0.2
done
echo "$name: not there after $patience s; the agent goes on trying if it runs" >&2
exit 75
