#!/bin/sh
# A hook: sends a mail for each outcome, to the address in the first argument. Needs mail(1) and jq.
# run = ["/usr/local/share/outbox/mail.sh", "ann@example.org"], on = ["failed", "trouble"]
set -eu
while IFS= read -r outcome; do
    subject=$(printf '%s' "$outcome" | jq -r '"outbox: \(.event) \(.path // "")"' | tr '\n' ' ')
    printf '%s' "$outcome" | jq . | mail -s "$subject" "$1"
done
