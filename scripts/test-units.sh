#!/usr/bin/env bash
# Tries the packages under a running systemd, in a container with a clean Debian root: the first minutes of a new user as
# docs/install.md tells them, with their time; then the units of the receiver, of a user and of the system.
#   scripts/test-units.sh           needs root, network and: apt-get install debootstrap systemd-container
# Uses the packages in $PACKAGES, else packs the programs in $BIN or .build/release. $DEBIAN_ROOT names a root made by
# debootstrap earlier, to copy.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian-root.sh

((EUID == 0)) || die "This needs root, for a container."
for needed in debootstrap systemd-nspawn unshare nsenter; do
    command -v "$needed" >/dev/null || die "$needed is needed: apt-get install debootstrap systemd-container util-linux"
done
# Mounts stay in a namespace of their own, and end with it.
if [[ -z ${IN_OWN_NAMESPACE:-} ]]; then
    IN_OWN_NAMESPACE=yes exec unshare --mount --propagation private "${BASH_SOURCE[0]}" "$@"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/outbox-units.XXXXXX")
root=$work/root container=''
at_exit() {
    local code=$?
    if [[ -n $container ]]; then
        if ((code)); then inside journalctl --no-pager --lines 60 >&2 || true; fi
        kill "$container" 2>/dev/null || true # systemd in the container shuts down
        wait "$container" || true
    fi
    if ((code)); then warn "The units failed. Everything is in $work"; else rm -rf --one-file-system "$work"; fi
}
trap at_exit EXIT

inside() {
    local leader
    leader=$(<"/proc/$container/task/$container/children")
    nsenter --target "${leader% }" --all env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 "$@" </dev/null
}
is_up() { inside systemctl --quiet is-active multi-user.target 2>/dev/null; }
as_ann() { inside runuser --user ann -- env --chdir=/home/ann HOME=/home/ann XDG_RUNTIME_DIR=/run/user/1000 "$@"; }

# The functions below take inside or as_ann as their first word: the systemd of the system, or of the user.
manager() { if [[ $1 == as_ann ]]; then as_ann systemctl --user "${@:2}"; else inside systemctl "${@:2}"; fi; }
property() { manager "$1" show --value --property "$3" "$2"; }
user_of() { inside ps -o user:32= -p "$(property "$1" "$2" MainPID)"; }
restarts_cleanly() {
    local process
    process=$(property "$1" "$2" MainPID)
    manager "$1" restart "$2"
    expect "it restarts" test "$(property "$1" "$2" ActiveState)" = active -a "$(property "$1" "$2" MainPID)" != "$process"
    manager "$1" stop "$2"
    expect "it stops without an error" test "$(property "$1" "$2" ActiveState) $(property "$1" "$2" Result)" = "inactive success"
    manager "$1" start "$2"
}

# upload NAME: drops a picture of its own content as docs/install.md says, and looks for it at the receiver.
upload() {
    { cat examples/sea.jpg && echo "$1"; } >"$root/home/ann/$1.jpg"
    expect "$1.jpg arrives" as_ann sh -c "cp $1.jpg ~/Outbox/ && outbox wait --timeout ${patience}s ~/Outbox/$1.jpg"
    expect "the receiver has its bytes" cmp "$root/home/ann/$1.jpg" "$root/var/lib/outbox-receiver/files/anna/$1.jpg"
    until_true "$1.jpg is measured in the sandbox" grep -q '"width"' "$root/home/ann/Outbox/$1.jpg.outbox.json"
}
request() { inside curl --silent --fail --cookie-jar /tmp/cookies --cookie /tmp/cookies "$@"; }
metrics() { request --header "Authorization: Bearer $1" "http://$address/metrics"; }

boot() {
    local options=(--boot --directory="$root" --machine=outbox-units --register=no --bind-ro="$work/packages:/packages" --console=pipe)
    if [[ ! -d /run/systemd/system ]]; then
        # Without a systemd of this machine, nobody makes a control group for the container.
        local hierarchy
        for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
            if [[ ! -e $hierarchy/cgroup.procs ]]; then continue; fi
            mkdir -p "$hierarchy/outbox-units"
            echo "$BASHPID" >"$hierarchy/outbox-units/cgroup.procs"
        done
        mkdir -p /run/systemd
        mount --types tmpfs tmpfs /run/systemd
        options+=(--keep-unit)
    fi
    SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec systemd-nspawn "${options[@]}" </dev/null >"$work/boot.log" 2>&1
}

step "Pack"
if [[ -n ${PACKAGES:-} ]]; then cp -a "$PACKAGES" "$work/packages"; else DEB_COMPRESSION=gzip scripts/deb.sh "$work/packages" >/dev/null; fi
good "$(cd "$work/packages" && echo outbox_*.deb)"

step "Boot a clean Debian root"
make_root "$root"
within() { chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin DEBIAN_FRONTEND=noninteractive "$@" </dev/null >>"$work/apt.log" 2>&1; }
within apt-get -qq update
within apt-get -qq --yes --no-install-recommends install systemd-sysv libpam-systemd dbus procps curl
within useradd --create-home --uid 1000 ann
rm -f "$root/etc/machine-id"
echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/yes"
boot &
container=$!
until_true "systemd is up" is_up
good "$(inside systemctl --version | head -n 1), Debian $(<"$root/etc/debian_version")"

since() { awk -v from="$begin" -v now="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", now - from }'; }
# commands HEADLINE: prints the commands of the first shell block below a headline of docs/install.md, for this receiver.
commands() {
    sed -n "/^${1}/,/^\`\`\`\$/p" docs/install.md | sed -e '1,/^```sh$/d' -e '/^```$/,$d' -e "s#https://upload.example.org#http://$address#" -e 's/sudo //g'
}

step "A new user, by docs/install.md"
address=$(free_address)
mapfile -t agent_commands < <(commands "# Install")
mapfile -t receiver_commands < <(commands "## The receiver")
expect "docs/install.md has three commands for each program" test "${#agent_commands[@]} ${#receiver_commands[@]}" = "3 3"
begin=$EPOCHREALTIME
inside sh -c "cd /packages && ${agent_commands[0]}" >>"$work/apt.log" 2>&1
good "the agent is installed in $(since), with what the package recommends"
inside sh -c "cd /packages && ${receiver_commands[0]}" >>"$work/apt.log" 2>&1
expect "nothing runs" not inside pgrep '^outbox'
echo "OUTBOX_RECEIVER_OPTIONS=\"--listen $address\"" >>"$root/etc/outbox-receiver/receiver.env" # another may have the port
for command in "${receiver_commands[@]:1}"; do inside sh -c "$command" >>"$work/commands.log" 2>&1; done
inside loginctl enable-linger ann
user_is_up() { as_ann systemctl --user --quiet is-active default.target 2>/dev/null; }
until_true "systemd runs for the user" user_is_up
for command in "${agent_commands[@]:1}"; do as_ann sh -c "$command" >>"$work/commands.log" 2>&1; done
token=$(awk '$2 == "anna" { print $1 }' "$root/etc/outbox-receiver/tokens")
as_ann sh -c "echo $token | outbox login" >>"$work/commands.log"
upload beach
good "from nothing to an uploaded file: $(since)"

step "The receiver's unit"
expect "it runs as its own user" test "$(user_of inside outbox-receiver)" = outbox-receiver
expect "that user comes from sysusers.d" inside grep -q '^u outbox-receiver ' /usr/lib/sysusers.d/outbox-receiver.conf
expect "only it reads its files" test "$(inside stat --format '%U %a' /var/lib/outbox-receiver)" = "outbox-receiver 750"
expect "only root reads the tokens" test "$(inside stat --format '%U %a' /etc/outbox-receiver/tokens)" = "root 600"
expect "without metrics-tokens nobody reads the metrics" not metrics m
echo "m prometheus" >>"$root/etc/outbox-receiver/metrics-tokens"
restarts_cleanly inside outbox-receiver
until_true "who is in metrics-tokens reads the metrics" metrics m >/dev/null
expect "its exposure is at most 1.5" inside systemd-analyze security --no-pager --threshold=15 outbox-receiver
request --header "Origin: http://$address" --data-urlencode "token=$token" "http://$address/sign-in"
picture=$(request "http://$address/" | grep --only-matching '/t/[^"]*' | head -n 1)
expect "it draws small pictures in its sandbox" request --output /dev/null "http://$address$picture"

step "The unit of a user"
expect "it runs as the user" test "$(user_of as_ann outbox)" = ann
expect "it says how the agent is: $(property as_ann outbox StatusText)" test -n "$(property as_ann outbox StatusText)"
restarts_cleanly as_ann outbox
upload cliff
as_ann systemctl --user --quiet disable --now outbox

step "The system's unit of a user, an upgrade and the next boot"
inside systemctl --quiet enable --now outbox@ann
expect "it runs as the user" test "$(user_of inside outbox@ann)" = ann
upload dune
restarts_cleanly inside outbox@ann
expect "its exposure is at most 3" inside systemd-analyze security --no-pager --threshold=30 outbox@ann
before="$(property inside outbox@ann MainPID) $(property inside outbox-receiver MainPID)"
inside sh -c 'cd /packages && apt-get install --reinstall ./outbox_*.deb ./outbox-receiver_*.deb' >>"$work/apt.log" 2>&1
after="$(property inside outbox@ann MainPID) $(property inside outbox-receiver MainPID)"
expect "an upgrade restarts both: $before, then $after" test "${before% *}" != "${after% *}" -a "${before#* }" != "${after#* }"
upload field
inside systemctl poweroff || true # ends the container, with this command in it
wait "$container" || true
boot &
container=$!
until_true "systemd is up again" is_up
upload garden

step "Removal"
inside apt-get remove outbox outbox-receiver >>"$work/apt.log" 2>&1
expect "nothing runs" not inside pgrep '^outbox'
good "The units of $(scripts/version.sh) work."
