#!/usr/bin/env bash
# Shows the whole way of a file: drops it, kills and restarts the agent during the upload, compares the stored bytes.
# KEEP=1 leaves receiver and agent running.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly speed="3MiB" # slow enough to interrupt the video
readonly video="clips/waves.avi"
keep=${KEEP:-}
if [[ $keep == 0 ]]; then keep=''; fi

work=$(mktemp -d "${TMPDIR:-/tmp}/outbox-demo.XXXXXX")
box="$work/outbox"
stored="$work/server/files"
config="$work/agent.toml"
receiver=''
agent=''
finished=''

stop() {
    local pid deadline=$((SECONDS + 10))
    for pid in "$agent" "$receiver"; do
        if [[ -z $pid ]] || ! kill "$pid" 2>/dev/null; then continue; fi
        while kill -0 "$pid" 2>/dev/null && ((SECONDS < deadline)); do sleep 0.05; done
        kill -9 "$pid" 2>/dev/null || true
        { wait "$pid"; } 2>/dev/null || true
    done
}

at_exit() {
    local code=$?
    trap - EXIT INT TERM
    if [[ -n $finished && -n $keep ]]; then exit 0; fi
    stop
    if [[ -n $finished ]]; then
        rm -rf "$work"
        exit 0
    fi
    local log
    for log in receiver agent; do
        if [[ -s $work/$log.log ]]; then
            warn "--- the last lines of $work/$log.log"
            tail -n 20 "$work/$log.log" >&2
        fi
    done
    warn "The demo did not succeed. Everything it made is in $work"
    exit $((code ? code : 1))
}
# Keep settings of the caller's own agent and proxy out of the demo.
while read -r name; do unset "$name"; done < <(compgen -e OUTBOX_)
export no_proxy="127.0.0.1,localhost${no_proxy:+,$no_proxy}"

trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# field FILE NAME…: prints a field of a JSON file, with names from the outermost inwards; nothing if it is missing.
field() {
    python3 - "$@" 2>/dev/null <<'PYTHON' || true
import json, sys
value = json.load(open(sys.argv[1], encoding="utf-8"))
for name in sys.argv[2:]:
    value = value[name]
print(value)
PYTHON
}

start_receiver() {
    setsid "$bin/outbox-receiver" --root "$work/server" --listen 127.0.0.1:0 \
        >"$work/receiver.out" 2>"$work/receiver.log" </dev/null &
    receiver=$!
    until_true "the receiver listens" receiver_listens
    url=$(sed -n 's/^outbox-receiver listening on //p' "$work/receiver.out")
}

receiver_listens() {
    kill -0 "$receiver" 2>/dev/null || die "The receiver ended at once."
    grep -q '^outbox-receiver listening on http' "$work/receiver.out"
}

start_agent() {
    setsid "$bin/outbox" run --config "$config" >>"$work/agent.log" 2>&1 </dev/null &
    agent=$!
    until_true "the agent answers" agent_answers
}

agent_answers() {
    kill -0 "$agent" 2>/dev/null || die "The agent ended at once."
    curl --silent --fail --noproxy '*' --max-time 5 --output /dev/null \
        --unix-socket "$work/state/control.sock" http://localhost/v1/health
}

partly_sent() {
    local done_fragments
    done_fragments=$(field "$box/$video.outbox.json" fragments finished)
    [[ $(field "$box/$video.outbox.json" state) != "done" ]] || die "The upload of the video ended before the demo could interrupt it."
    ((${done_fragments:-0} >= 12))
}

step "Packages"
scripts/packages.sh
good "All installed."

step "Build for release (the first time takes some minutes)"
scripts/build.sh outbox outbox-receiver outbox-media
bin="$PWD/.build/release"

step "Start a receiver and an agent in $work"
mkdir -p "$box/trip" "$box/clips" "$work/new"
start_receiver
cat >"$config" <<TOML
outbox  = "$box"
state   = "$work/state"
avatars = "$work/avatars"

[upload]
bandwidth_limit = "$speed"

[remote]
url = "$url"

[control]
dashboard = ""
TOML
start_agent
good "Receiver at $url, agent watching $box, not faster than $speed a second."

step "Make pictures and a video, and drop them into the outbox"
cp examples/sea.jpg "$work/new/sea.jpg"
scripts/make-media.py png "$work/new/horizon.png"
scripts/make-media.py bmp "$work/new/waves.bmp"
scripts/make-media.py avi "$work/new/waves.avi"
cp "$work/new/sea.jpg" "$work/new/horizon.png" "$box/"
cp "$work/new/waves.bmp" "$box/trip/"
cp "$work/new/horizon.png" "$box/trip/horizon again.png" # the same content under another name
cp "$work/new/waves.avi" "$box/$video"
dropped=(sea.jpg horizon.png trip/waves.bmp "trip/horizon again.png" "$video")
(cd "$box" && ls -lh "${dropped[@]}")

step "Kill the agent with -9 during the upload of the video"
until_true "a part of the video is sent" partly_sent
"$bin/outbox" status --config "$config" || true
kill -9 "$agent"
{ wait "$agent"; } 2>/dev/null || true
good "Killed, with $(field "$box/$video.outbox.json" fragments finished) of" \
    "$(field "$box/$video.outbox.json" fragments total) fragments of the video acknowledged."

step "Start the agent again; it resumes the upload"
start_agent
(cd "$box" && "$bin/outbox" wait --config "$config" --timeout "${patience}s" "${dropped[@]}")
"$bin/outbox" status --config "$config"

step "Read the outcome of the video: $video.outbox.json"
cat "$box/$video.outbox.json"

step "Set a profile picture: copy it into portrait/"
mkdir -p "$box/portrait"
cp "$work/new/sea.jpg" "$box/portrait/me.jpg"
until_true "the agent takes the picture" test -e "$work/avatars/current.jpg"
good "Set at once: $work/avatars/current.jpg leads to it."
(cd "$box" && "$bin/outbox" wait --config "$config" --timeout "${patience}s" portrait/me.jpg)
printf 'The URL on the server: %s\n' "$(field "$work/state/profile.json" portraitURL)"

step "Look at the thumbnails, drawn beside the uploads"
until_true "the video's thumbnail" test -s "$work/state/thumbnails/$(field "$box/$video.outbox.json" key).jpg"
for path in sea.jpg horizon.png "$video"; do
    printf '%-18s %s x %s  %s\n' "$path" "$(field "$box/$path.outbox.json" width)" \
        "$(field "$box/$path.outbox.json" height)" \
        "$work/state/thumbnails/$(field "$box/$path.outbox.json" key).jpg"
done

step "Post several pictures as one: a directory with a source.toml"
cat examples/source/source.toml
cp -r examples/source "$work/new/album"
mv "$work/new/album" "$box/"
(cd "$box" && "$bin/outbox" wait --config "$config" --timeout "${patience}s" album)
"$bin/outbox" status --config "$config" "$box/album"
curl --silent --fail --noproxy '*' --max-time 5 --output "$work/album.html" "$(field "$box/album/source.outbox.json" url)"
good "The receiver shows the post at $(field "$box/album/source.outbox.json" url)"

step "Compare the stored files with the dropped ones"
sums() { (cd "$1" && find . -type f ! -name '*.outbox.json' ! -name source.toml -exec md5sum {} + | sort -k 2); }
sums "$box" >"$work/dropped.md5"
sums "$stored" >"$work/stored.md5"
while read -r sum path; do
    name=$(awk -v sum="$sum" '$1 == sum { sub(/^[^ ]+ +\.\//, ""); print; exit }' "$work/dropped.md5")
    [[ -n $name ]] || die "The server holds $path, which matches no dropped file."
    printf '%s  %-28s = %s\n' "$sum" "${path#./}" "$name"
done <"$work/stored.md5"
cut -d ' ' -f 1 "$work/dropped.md5" | sort -u >"$work/dropped.sums"
cut -d ' ' -f 1 "$work/stored.md5" | sort >"$work/stored.sums"
cmp -s "$work/dropped.sums" "$work/stored.sums" ||
    die "The server does not hold each content exactly once: compare $work/dropped.md5 with $work/stored.md5"
copies=0
for path in horizon.png "trip/horizon again.png"; do
    if [[ $(field "$box/$path.outbox.json" deduplicated) == True ]]; then copies=$((copies + 1)); fi
done
((copies == 1)) || die "horizon.png and its copy should have been sent once; $copies of the two say 'deduplicated'."

finished=yes
printf '\n'
good "${#dropped[@]} files, a profile picture and a post of two dropped, $(wc -l <"$work/stored.sums") contents sent, each stored byte for byte;" \
    "the duplicate was sent once, the kill cost a moment."

if [[ -n $keep ]]; then
    cat <<TEXT

${bold}Receiver and agent go on running.${plain}
  drop files into    $box
  watch them         $bin/outbox status --watch --config $config
  find them stored   $stored
  the agent's log    $work/agent.log
  stop it all        kill $agent $receiver; sleep 1; rm -r $work
TEXT
fi
