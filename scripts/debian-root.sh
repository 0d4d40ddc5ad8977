# shellcheck shell=bash
# What the tests of packages share: a clean Debian root, made by debootstrap. Source common.sh first.
# $DEBIAN_ROOT names a root made earlier, to copy. $work is the directory of the test that sources this.
# shellcheck disable=SC2154

# expect WHAT COMMAND…: ends the test unless the command succeeds.
expect() {
    local what=$1
    shift
    "$@" >>"$work/commands.log" || die "Not so: $what"
    good "$what"
}
not() { ! "$@"; }

free_address() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print("127.0.0.1:%d" % s.getsockname()[1])'
}

# make_root ROOT: a root of this machine's release, with its package sources. $work appears in it as /packages.
make_root() {
    local root=$1 mirror release
    # shellcheck disable=SC2016 # apt-get expands them
    read -r mirror release < <(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' | awk '$2 !~ /-/ { print; exit }')
    if [[ -n ${DEBIAN_ROOT:-} ]]; then
        cp -a "$DEBIAN_ROOT" "$root"
    else
        debootstrap --variant=minbase "$release" "$root" "$mirror" >"$work/debootstrap.log"
    fi
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' | sort -u | grep " $release" |
        sed 's/^/deb [check-valid-until=no] /' >"$root/etc/apt/sources.list"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    mkdir "$root/packages"
}
