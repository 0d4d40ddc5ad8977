#!/usr/bin/env bash
# Makes one post of the files of a directory, by files alone, and prints its URL.
#
#   post-album.sh PICTURES OUTBOX [TITLE [SECONDS]]
#
# Exit code: 0 posted, 1 the post failed (stderr has the reason), 2 wrong usage, 75 not yet.
set -euo pipefail

if (($# < 2 || $# > 4)) || [[ ! -d $1 || ! -d $2 ]]; then
    echo "usage: ${0##*/} PICTURES OUTBOX [TITLE [SECONDS]]" >&2
    exit 2
fi
pictures=$1
name=$(basename "$(cd "$pictures" && pwd)")
title=${3:-$name}
patience=${4:-3600}
source="$2/$name"
sidecar="$source/source.outbox.json"

# A TOML string: quotes and backslashes escaped, control characters left out.
quoted() {
    local text
    text=$(tr -d '\000-\037\177' <<<"$1")
    text=${text//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

# Writes source.toml under a name that the agent ignores, then renames it: so the agent never sees half a file.
describe() {
    printf 'title = %s\ndraft = %s\n' "$(quoted "$title")" "$1" >"$source/.source.toml.part"
    mv -- "$source/.source.toml.part" "$source/source.toml"
}

field() {
    python3 -c 'import json, sys
value = json.load(open(sys.argv[1], encoding="utf-8"))
for name in sys.argv[2:]:
    value = value.get(name) if isinstance(value, dict) else None
if isinstance(value, list):
    value = ", ".join(value)
print("" if value is None else value)' "$sidecar" "$@" 2>/dev/null || true
}

if ! mkdir -- "$source"; then
    echo "choose another name for the directory, or remove that one" >&2
    exit 2
fi
# Start with a draft: the agent sends nothing before all files are copied.
describe true
find "$pictures" -maxdepth 1 -type f ! -name '.*' ! -name 'source.toml' ! -name '*.outbox.json' \
    -exec cp -- {} "$source/" \;
describe false

last=''
while ((SECONDS < patience)); do
    state=$(field state)
    if [[ $state != "$last" ]]; then
        echo "$name: ${state:-not seen yet}" >&2
        last=$state
    fi
    case $state in
        done)
            skipped=$(field skipped)
            if [[ -n $skipped ]]; then echo "$name: left out: $skipped" >&2; fi
            field url
            exit 0
            ;;
        failed | cancelled | rejected)
            echo "$name: $state: $(field error message)" >&2
            exit 1
            ;;
    esac
    sleep 0.5
done
echo "$name: not there after $patience s; the agent goes on trying if it runs" >&2
exit 75
