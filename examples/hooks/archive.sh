#!/bin/sh
# A hook: copies each confirmed file below the directory in the second argument; the first is the outbox. Needs jq.
# run = ["/usr/local/share/outbox/archive.sh", "/home/ann/Outbox", "/mnt/archive"], on = ["done"]
# A copy gets its name only once it is whole, so a repeated call does no harm.
set -eu
while IFS= read -r outcome; do
    path=$(printf '%s' "$outcome" | jq -r '(.now // .path) + "/"')
    path=${path%/}
    [ -f "$1/$path" ] || continue
    mkdir -p "$(dirname "$2/$path")"
    cp -p "$1/$path" "$2/$path.part"
    mv "$2/$path.part" "$2/$path"
done
