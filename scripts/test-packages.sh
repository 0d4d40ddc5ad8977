#!/usr/bin/env bash
# Tries the packages in a clean Debian root: installs them, uploads to the packaged receiver, upgrades during an upload,
# removes and purges. Also runs lintian, checks the units and packs a second time.
#   scripts/test-packages.sh        needs root, network and: apt-get install debootstrap lintian
# Uses the programs in $BIN, else in .build/release. $DEBIAN_ROOT names a root made by debootstrap earlier, to copy.
# The upgrade starts from the same programs under an older version number, or from the older programs outbox and
# outbox-media in $UPGRADE_FROM. Then it also shows that the ledger is migrated: their ledger must have an older format.
# A chroot has no systemd, so the programs start as the units' ExecStart lines and users say. test-units.sh has systemd.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian-root.sh

((EUID == 0)) || die "This needs root, for a chroot."
for needed in debootstrap lintian systemd-analyze unshare; do
    command -v "$needed" >/dev/null || die "$needed is needed: apt-get install debootstrap lintian systemd util-linux"
done
# Mounts stay in a namespace of their own, and end with it.
if [[ -z ${IN_OWN_NAMESPACE:-} ]]; then
    IN_OWN_NAMESPACE=yes exec unshare --mount --propagation private "${BASH_SOURCE[0]}" "$@"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/outbox-packages.XXXXXX")
chmod 755 "$work"
root=$work/root
receiver='' agent=''
at_exit() {
    local code=$? log
    # shellcheck disable=SC2086 # one or no process each
    kill $agent $receiver 2>/dev/null || true
    wait
    if ((code)); then
        for log in "$work"/*.log; do
            warn "--- the last lines of $log"
            tail -n 15 "$log" >&2
        done
        warn "The packages failed. Everything is in $work"
    else
        umount --recursive --lazy "$root"/{proc,dev,run,packages}
        rm -rf --one-file-system "$work"
    fi
}
trap at_exit EXIT

# within USER VARIABLE=VALUE… COMMAND…: runs a command in the root, as a user, with this environment only.
within() {
    local user=$1
    shift
    chroot --userspec="$user" "$root" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 "$@"
}
# begin ROOT USER VARIABLE=VALUE… COMMAND…: the same for a command in the background, whose process $! is then.
begin() { exec chroot --userspec="$2" "$1" /usr/bin/env -i PATH=/usr/bin:/bin LANG=C.UTF-8 "${@:3}" </dev/null; }
apt() { within root DEBIAN_FRONTEND=noninteractive apt-get -qq --yes --no-install-recommends "$@" </dev/null >>"$work/apt.log" 2>&1; }
install_packages() {
    local folder=$1 name files=()
    shift
    for name in "$@"; do files+=("/packages/$folder/$(cd "$work/$folder" && echo "$name"_*.deb)"); done
    apt install "${files[@]}"
}
unit() { sed -n "s/^$2=//p" "$root/usr/lib/systemd/$1"; }
as_ann() { within ann HOME=/home/ann "$@"; }

# Prints the processes that run in the root.
processes() { find /proc/[0-9]*/root -maxdepth 0 -lname "$root" 2>/dev/null || true; }

start_receiver() {
    local user command options
    user=$(unit system/outbox-receiver.service User)
    command=$(unit system/outbox-receiver.service ExecStart)
    options=$(sed -n 's/^OUTBOX_RECEIVER_OPTIONS="\(.*\)"/\1/p' "$root/etc/outbox-receiver/receiver.env")
    # What StateDirectory= and LoadCredential= do.
    install -d -m 750 -o "$(within root id -u "$user")" -g "$(within root id -g "$user")" "$root/var/lib/outbox-receiver"
    install -d -m 711 "$root/run/credentials"
    install -m 400 -o "$(within root id -u "$user")" "$root/etc/outbox-receiver/tokens" "$root/run/credentials/tokens"
    # shellcheck disable=SC2016,SC2086 # systemd splits them too
    begin "$root" "$user" CREDENTIALS_DIRECTORY=/run/credentials ${command/'$OUTBOX_RECEIVER_OPTIONS'/$options} \
        >"$work/receiver.out" 2>>"$work/receiver.log" &
    receiver=$!
    until_true "the receiver listens" grep -q 'listening on' "$work/receiver.out"
}
start_agent() {
    # shellcheck disable=SC2046 # systemd splits the command too
    begin "$root" ann HOME=/home/ann CREDENTIALS_DIRECTORY=/run/ann-credentials $(unit user/outbox.service ExecStart) \
        >>"$work/agent.log" 2>&1 &
    agent=$!
    until_true "the agent answers" as_ann curl --silent --fail --output /dev/null --noproxy '*' \
        --unix-socket /home/ann/.local/state/outbox/control.sock http://localhost/v1/health
}
stop() {
    kill "$1"
    wait "$1" 2>/dev/null || true
}
fragments_finished() { ((10#0$(sed -n 's/.*"finished":\([0-9]*\).*/\1/p' <<<"$(tr -d ' \n' <"$root/home/ann/Outbox/$1.outbox.json")") >= $2)); }

step "Pack, twice, and once with an older version"
export DEB_COMPRESSION=gzip # quicker
scripts/deb.sh "$work/new" >/dev/null
scripts/deb.sh "$work/again" >/dev/null
if [[ -n ${UPGRADE_FROM:-} ]]; then
    mkdir "$work/older"
    cp "${BIN:-.build/release}"/outbox-receiver "$UPGRADE_FROM"/{outbox,outbox-media} "$work/older"
    BIN=$work/older DEB_VERSION=$("$work/older/outbox" --version) scripts/deb.sh "$work/old" >/dev/null
else
    DEB_VERSION="$(scripts/version.sh)~before" scripts/deb.sh "$work/old" >/dev/null
fi
expect "both builds of the packages have the same bytes" diff -r "$work/new" "$work/again"
size=$(dpkg-deb --fsys-tarfile "$work/new"/outbox_*.deb | tar --list --verbose ./usr/bin/outbox | awk '{print $3}')
expect "outbox has $((size >> 20)) MiB, less than 40 MB" test "$size" -lt 40000000
expect "lintian finds no errors" lintian --fail-on error "$work"/new/*.deb

step "Make a clean Debian root"
make_root "$root"
mount --types proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --types tmpfs tmpfs "$root/run"
mount --bind "$work" "$root/packages"
apt update
apt install curl
good "Debian $(cat "$root/etc/debian_version")"

step "Install the older version"
install_packages old outbox outbox-receiver
within root useradd --create-home ann
expect "nothing runs" test -z "$(processes)"
expect "no service is enabled" test -z "$(find "$root/etc/systemd" -path '*.wants/outbox*' 2>/dev/null)"
for page in outbox.1 outbox-run.1 outbox-avatar-get.1 agent.toml.5 outbox-sidecar.5 outbox-media.8 outbox-receiver.1; do
    [[ -e $root/usr/share/man/man${page##*.}/$page.gz ]] || [[ ! -d $root/usr/share/man ]] || die "There is no $page."
done

step "Check the units"
for kind in user/outbox.service system/outbox-receiver.service system/outbox@.service; do
    name=$(basename "$kind")
    sed "s#^ExecStart=/usr/bin/#ExecStart=$root/usr/bin/#; s/^User=.*/User=nobody/" "$root/usr/lib/systemd/$kind" >"$work/${name/@/@nobody}"
    options=(--man=no)
    if [[ $kind == user/* ]]; then options+=(--user); fi
    expect "systemd accepts $kind" env XDG_RUNTIME_DIR="$work" systemd-analyze "${options[@]}" verify "$work/${name/@/@nobody}"
    expect "$kind names its documentation" grep -q '^Documentation=man:' "$root/usr/lib/systemd/$kind"
done

step "Start the receiver, look with outbox doctor, upload"
echo "secret ann" >>"$root/etc/outbox-receiver/tokens"
address=$(free_address)
echo "OUTBOX_RECEIVER_OPTIONS=\"--listen $address --log-level debug\"" >>"$root/etc/outbox-receiver/receiver.env"
start_receiver
install -d -m 700 -o "$(within root id -u ann)" "$root/run/ann-credentials"
install -m 400 -o "$(within root id -u ann)" /dev/stdin "$root/run/ann-credentials/outbox.token" <<<"secret"
as_ann mkdir -p /home/ann/.config/outbox /home/ann/Outbox
cat >"$root/home/ann/.config/outbox/agent.toml" <<TOML
[remote]
url = "http://$address"
[upload]
bandwidth_limit = "512KiB"
fragments_in_flight = 1
TOML
# Programs before 0.2.0 read no credentials.
if [[ -n ${UPGRADE_FROM:-} ]]; then as_ann outbox login <<<"secret" >/dev/null 2>&1; fi
expect "outbox doctor finds nothing that stops uploads, without libvips" as_ann CREDENTIALS_DIRECTORY=/run/ann-credentials outbox doctor
expect "the package has the examples" test -x "$root/usr/share/doc/outbox/examples/drop-and-wait.sh"
start_agent
cp examples/sea.jpg "$root/home/ann/Outbox/sea.jpg"
expect "a file arrives" as_ann outbox wait --timeout "${patience}s" /home/ann/Outbox/sea.jpg
expect "the receiver has its bytes" cmp examples/sea.jpg "$root/var/lib/outbox-receiver/files/ann/sea.jpg"

step "Upgrade from $(as_ann outbox --version) during uploads"
scripts/make-media.py avi "$work/waves.avi" 200
files=("$root/home/ann/Outbox/sea.jpg" "$root/home/ann/Outbox/waves.avi")
cp "$work/waves.avi" "${files[1]}"
until_true "a part of the video is sent" fragments_finished waves.avi 8
for number in {01..30}; do
    files+=("$root/home/ann/Outbox/queued-$number.jpg")
    { cat examples/sea.jpg && head -c 600000 /dev/urandom; } >"${files[-1]}"
done
until_true "the last file waits for its turn" test -e "${files[-1]}.outbox.json"
as_ann outbox pause /home/ann/Outbox/queued-30.jpg >/dev/null
# What systemd does when the package restarts its services.
install_packages new outbox outbox-receiver
stop "$agent"
expect "the upload is still under way" not grep -q '"state": "done"' "${files[1]}.outbox.json"
stop "$receiver"
sed -i 's/512KiB/0/' "$root/home/ann/.config/outbox/agent.toml"
start_receiver
start_agent
names=("${files[@]#"$root"}")
expect "the uploads end" as_ann outbox wait --timeout "${patience}s" "${names[@]:0:31}"
expect "a paused file is still paused" grep -q '"state": "paused"' "${files[31]}.outbox.json"
as_ann outbox resume /home/ann/Outbox/queued-30.jpg >/dev/null
expect "it is sent when it is resumed" as_ann outbox wait --timeout "${patience}s" "${names[31]}"
total=0
for file in "${files[@]}"; do
    cmp "$file" "$root/var/lib/outbox-receiver/files/ann/${file##*/}"
    total=$((total + ($(stat -c %s "$file") + 524287) / 524288))
done
good "the receiver has the bytes of ${#files[@]} files"
stored=$(grep -c 'outcome=stored' "$work/receiver.log")
known=$(grep -c 'outcome=known' "$work/receiver.log" || true)
# The one fragment in flight when the agent stopped may go twice.
expect "$stored fragments were stored, of $total, and $known sent again" test "$stored" -le $((total + 1)) -a "$known" -le 1
expect "each file was registered once" test "$(grep -o 'new md5=' "$work/receiver.log" | wc -l)" -eq "${#files[@]}"
if [[ -n ${UPGRADE_FROM:-} ]]; then
    stop "$agent"
    as_ann /packages/older/outbox run 2>"$work/older.txt" || true
    expect "the ledger is migrated: $(grep -o 'the ledger has format.*only' "$work/older.txt")" grep -q 'the ledger has format' "$work/older.txt"
    start_agent
fi

step "Add libvips, and find the picture worker"
apt install libvips42
as_ann outbox doctor >"$work/doctor.txt" || true
expect "outbox doctor finds the worker, and it measures a picture" grep -E 'libvips [0-9.]+' "$work/doctor.txt"

step "Look for a stray configuration"
within ann HOME=/home/ann sh -c 'cd /usr/share/doc/outbox/examples && cp agent.toml /home/ann && outbox config check' >/dev/null 2>"$work/stray.txt"
expect "a file of root's in the working directory is warned of" grep -q 'belongs to the user root' "$work/stray.txt"
within ann HOME=/home/ann sh -c 'cd /home/ann && outbox config check' >/dev/null 2>"$work/stray.txt"
expect "the unchanged reference is warned of" grep -q 'unchanged reference' "$work/stray.txt"

step "Run as in a container: a read-only root, users without rights, the environment of the Containerfile"
stop "$agent"
stop "$receiver"
mkdir "$work/image" "$work/box" "$work/state" "$work/received"
chown "$(within root id -u ann)" "$work/box" "$work/state"
chown "$(within root id -u outbox-receiver)" "$work/received"
mkdir -p "$root/outbox" "$root/state"
mount --bind "$root" "$work/image"
mount -o remount,bind,ro "$work/image"
mount --bind "$work/box" "$work/image/outbox"
mount --bind "$work/state" "$work/image/state"
mount --bind "$work/received" "$work/image/var/lib/outbox-receiver"
mount --types tmpfs tmpfs "$work/image/tmp"
mount --types proc proc "$work/image/proc"
mount --rbind /dev "$work/image/dev"
environment() { sed -n '/ AS agent/,/^FROM/s/^ENV //p' packaging/container/Containerfile; }
command=$(sed -n '/ AS receiver/,$s/^ENTRYPOINT //p' packaging/container/Containerfile | tr -d '",]' | tr -d '[')
: >"$work/receiver.out"
# shellcheck disable=SC2086 # words of one line
begin "$work/image" outbox-receiver OUTBOX_RECEIVER_TOKENS="secret ann" $command --listen "0.0.0.0:${address#*:}" \
    >"$work/receiver.out" 2>>"$work/receiver.log" &
receiver=$!
until_true "the receiver listens" grep -q 'listening on' "$work/receiver.out"
# shellcheck disable=SC2046 # words of one line
begin "$work/image" ann $(environment) OUTBOX_REMOTE_URL="http://$address" OUTBOX_TOKEN=secret outbox run >>"$work/agent.log" 2>&1 &
agent=$!
until_true "the agent listens" test -S "$work/state/agent/control.sock"
cp examples/sea.jpg "$work/box/sea.jpg"
# shellcheck disable=SC2046 # words of one line
expect "a file arrives" chroot --userspec=ann "$work/image" /usr/bin/env -i $(environment) /usr/bin/outbox wait --timeout "${patience}s" /outbox/sea.jpg
expect "the receiver has its bytes" cmp examples/sea.jpg "$work/received/files/ann/sea.jpg"
stop "$agent"
stop "$receiver"
agent='' receiver=''
umount --recursive "$work/image"

step "Remove and purge"
apt remove outbox outbox-receiver
expect "the programs are gone" test ! -e "$root/usr/bin/outbox" -a ! -e "$root/usr/bin/outbox-receiver" -a ! -e "$root/usr/libexec/outbox"
expect "outbox and state stay" test -e "$root/home/ann/Outbox/sea.jpg" -a -e "$root/home/ann/.local/state/outbox/ledger.lmdb"
expect "the receiver's settings stay" grep -q '^secret ann' "$root/etc/outbox-receiver/tokens"
apt purge outbox outbox-receiver
expect "the receiver's settings are gone" test ! -e "$root/etc/outbox-receiver"
expect "its files and its user stay" within root id -u outbox-receiver
expect "received files stay" test -e "$root/var/lib/outbox-receiver/files/ann/waves.avi"
expect "outbox and state stay" test -e "$root/home/ann/Outbox/sea.jpg" -a -e "$root/home/ann/.local/state/outbox/ledger.lmdb"
rm -r "$root/var/lib/outbox-receiver"
install_packages new outbox-receiver
apt purge outbox-receiver
expect "without files, purge removes the user too" not within root getent passwd outbox-receiver
good "The packages of $(scripts/version.sh) work."
