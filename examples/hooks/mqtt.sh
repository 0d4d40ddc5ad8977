#!/bin/sh
# A hook: publishes each outcome to the MQTT broker in the first argument, as topic outbox/EVENT. Needs mosquitto_pub and jq.
# run = ["/usr/local/share/outbox/mqtt.sh", "broker.lan"]
set -eu
while IFS= read -r outcome; do
    event=$(printf '%s' "$outcome" | jq -r .event)
    printf '%s' "$outcome" | mosquitto_pub -q 1 -h "$1" -t "outbox/$event" -s
done
