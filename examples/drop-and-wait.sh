#!/usr/bin/env bash
# Drops a file into an outbox and waits until its sidecar reports a final state.
#
#   drop-and-wait.sh FILE OUTBOX [SECONDS]
#
# Exit code: 0 the file arrived, 1 it will not arrive (stderr has the reason), 2 wrong usage, 75 not yet.
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

# Copy under a name that the agent ignores, then rename: so the agent never sees half a file. (The agent also waits
# until a writer closes its file; a rename needs no such wait.)
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
