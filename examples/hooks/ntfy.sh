#!/bin/sh
# A hook: sends a short message for each outcome to the ntfy address in the first argument. Needs curl and jq.
# run = ["/usr/local/share/outbox/ntfy.sh", "https://ntfy.sh/your-topic"]
set -eu
while IFS= read -r outcome; do
    printf '%s' "$outcome" | jq -r '"\(.event) \(.path // .message // "")"' | curl -fsS --max-time 20 --data-binary @- "$1"
done
