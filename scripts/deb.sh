#!/usr/bin/env bash
# Packs the built programs as packages for the Debian or Ubuntu and the processor architecture of this machine.
#   scripts/deb.sh [DIRECTORY]     absolute, or relative to the repository; default: .build/deb
# Uses the programs in $BIN, else in .build/release. The same programs give the same bytes: times come from
# $SOURCE_DATE_EPOCH, else from the last commit, and so does the maintainer unless $DEBFULLNAME and $DEBEMAIL are set.
# In a copy of the tree without git, times come from CHANGELOG.md, and the maintainer is the user.
# $DEB_VERSION and $DEB_COMPRESSION override the version and the compression (xz), for tests.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

for needed in dpkg-deb dpkg-shlibdeps objcopy python3; do
    command -v "$needed" >/dev/null || die "$needed is needed: apt-get install dpkg-dev binutils python3"
done
bin=${BIN:-.build/release}
for program in outbox outbox-receiver outbox-media; do
    [[ -x $bin/$program ]] || die "$bin/$program is not built yet: make build"
done
out=$(realpath -m "${1:-.build/deb}")
# last_commit FORMAT OTHERWISE
last_commit() { git log -1 --format="$1" 2>/dev/null || printf '%s' "$2"; }
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(last_commit %ct "$(stat -c %Y CHANGELOG.md)")}
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
version=${DEB_VERSION:-$(scripts/version.sh)}
architecture=$(dpkg --print-architecture)
user=$(id -un)
maintainer="${DEBFULLNAME:-$(last_commit %an "$user")} <${DEBEMAIL:-$(last_commit %ae "$user@$(hostname)")}>"
umask 022

work=$(mktemp -d "${TMPDIR:-/tmp}/outbox-deb.XXXXXX")
trap 'rm -rf "$work"' EXIT

# place MODE FILE DIRECTORY [NAME]: installs a file below the package's root.
place() { install -D -m "$1" "$2" "$root/$3/${4:-$(basename "$2")}"; }

# place_program FILE DIRECTORY: installs a stripped program, and its symbols below the root of the debug package.
place_program() {
    local name id
    name=$(basename "$1")
    id=$(readelf --notes "$1" | sed -n 's/.*Build ID: //p')
    [[ -n $id ]] || die "$1 has no build ID."
    mkdir -p "$root/$2" "$symbols/usr/lib/debug/.build-id/${id:0:2}"
    objcopy --only-keep-debug --compress-debug-sections "$1" "$symbols/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
    objcopy --strip-all --remove-section=.comment "$1" "$root/$2/$name"
    chmod 644 "$symbols/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
    chmod 755 "$root/$2/$name"
    build_ids+="${build_ids:+ }$id"
}

# place_papers PACKAGE: what Debian wants in /usr/share/doc.
place_papers() {
    place 644 packaging/deb/copyright "usr/share/doc/$1"
    find .build/checkouts -maxdepth 2 -iname 'NOTICE*' -print0 | sort -z | xargs -0 -r cat >"$work/NOTICE"
    place 644 "$work/NOTICE" "usr/share/doc/$1"
    {
        printf '%s (%s) unstable; urgency=medium\n\n' outbox "$version"
        printf '  * See CHANGELOG.md.\n\n -- %s  %s\n' "$maintainer" "$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")"
    } >"$work/changelog"
    place 644 "$work/changelog" "usr/share/doc/$1" changelog
    place 644 CHANGELOG.md "usr/share/doc/$1"
    gzip -9n "$root/usr/share/doc/$1/changelog" "$root/usr/share/doc/$1/CHANGELOG.md"
}

# place_manual NAME…: installs man pages.
place_manual() {
    local page
    for page in "$@"; do
        place 644 "$work/man/$page" "usr/share/man/man${page##*.}"
        gzip -9n "$root/usr/share/man/man${page##*.}/$page"
    done
}

# place_completions PROGRAM
place_completions() {
    local shell
    for shell in bash zsh fish; do "$bin/$1" --generate-completion-script "$shell" >"$work/$shell"; done
    place 644 "$work/bash" usr/share/bash-completion/completions "$1"
    place 644 "$work/zsh" usr/share/zsh/vendor-completions "_$1"
    place 644 "$work/fish" usr/share/fish/vendor_completions.d "$1.fish"
}

# libraries PROGRAM [OPTION…]: prints the substitution variables of dpkg-shlibdeps, which wants a source package.
libraries() (
    mkdir -p "$work/source/debian"
    printf 'Source: outbox\n\nPackage: outbox\nArchitecture: any\n' >"$work/source/debian/control"
    cd "$work/source"
    dpkg-shlibdeps -O "$@" 2>/dev/null
)

# pack PACKAGE ROOT FIELD…: writes the control files and the package.
pack() {
    local package=$1 tree=$2 size level=6 compression=${DEB_COMPRESSION:-xz}
    shift 2
    size=$(du -sk --apparent-size "$tree" | cut -f1)
    mkdir -p "$tree/DEBIAN"
    {
        printf '%s\n' "Package: $package" "Source: outbox" "Version: $version" "Architecture: $architecture" \
            "Maintainer: $maintainer" "Installed-Size: $size" "$@"
    } >"$tree/DEBIAN/control"
    (cd "$tree" && find . -type f ! -path './DEBIAN/*' ! -path './etc/*' -printf '%P\n' | sort | xargs -r md5sum) \
        >"$tree/DEBIAN/md5sums"
    if [[ -d $tree/etc ]]; then (cd "$tree" && find etc -type f -printf '/%p\n' | sort) >"$tree/DEBIAN/conffiles"; fi
    if [[ -d packaging/deb/$package ]]; then install -m 755 "packaging/deb/$package"/* "$tree/DEBIAN"; fi
    find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    # objcopy compressed the symbols already.
    if [[ $package == *-dbgsym ]]; then level=1; fi
    dpkg-deb --root-owner-group -Z"$compression" -z"$level" --build "$tree" \
        "$out/${package}_${version}_$architecture.deb" >/dev/null
}

# pack_symbols PACKAGE
pack_symbols() {
    mkdir -p "$symbols/usr/share/doc"
    ln -s "$1" "$symbols/usr/share/doc/$1-dbgsym"
    pack "$1-dbgsym" "$symbols" "Depends: $1 (= $version)" "Section: debug" "Priority: optional" \
        "Auto-Built-Package: debug-symbols" "Build-Ids: $build_ids" "Description: debug symbols for $1"
}

# The packaged units serve every user and every configuration. So they confine the agent less than those of `outbox
# service install`, which know the directories: from the same text, without the lines that name a user's directories.
# shellcheck disable=SC2016 # the backticks are text
generic_unit() {
    sed -E -e '1s/.*/# From the package outbox. `outbox service install` writes a stricter unit for one configuration./' \
        -e 's/^Description=.*/Description=Outbox upload agent'"$2"'/' \
        -e 's/^ProtectSystem=strict/ProtectSystem=full/' -e '/^(ReadWritePaths|ProtectHome|PrivateTmp|RequiresMountsFor)=/d' \
        -e 's/^User=.*/User=%i/' -e 's/ --config .*//' -e 's/`systemctl edit outbox`/`systemctl edit outbox@USER`/' "$1"
}

mkdir -p "$out" "$work/units"
scripts/man.py "$bin" "$work/man"

root=$work/outbox symbols=$work/outbox-dbgsym build_ids=
place_program "$bin/outbox" usr/bin
place_program "$bin/outbox-media" usr/libexec/outbox
generic_unit packaging/user/outbox.service "" >"$work/units/outbox.service"
generic_unit packaging/system/outbox.service " of %i" >"$work/units/outbox@.service"
place 644 "$work/units/outbox.service" usr/lib/systemd/user
place 644 "$work/units/outbox@.service" usr/lib/systemd/system
mapfile -t pages < <(find "$work/man" -type f ! -name 'outbox-receiver.*' -printf '%P\n' | sort)
place_manual "${pages[@]}"
place_completions outbox
place_papers outbox
for page in docs/*.md; do place 644 "$page" usr/share/doc/outbox; done
for picture in docs/dashboard/*.png; do place 644 "$picture" usr/share/doc/outbox/dashboard; done
place 644 agent.toml usr/share/doc/outbox/examples
(cd examples && find . -type f ! -path './avatars/*' ! -name '*.pyc' -printf '%P\n' | sort) | while read -r example; do
    mode=644
    [[ ! -x examples/$example ]] || mode=755
    place "$mode" "examples/$example" "usr/share/doc/outbox/examples/$(dirname "$example")"
done
depends=$(libraries -e"$root/usr/bin/outbox" -dRecommends -e"$root/usr/libexec/outbox/outbox-media")
pack outbox "$root" "Depends: $(sed -n 's/^shlibs:Depends=//p' <<<"$depends"), ca-certificates" \
    "Recommends: $(sed -n 's/^shlibs:Recommends=//p' <<<"$depends"), ffmpeg, libimage-exiftool-perl" \
    "Section: net" "Priority: optional" "Description: upload agent for pictures and videos
 Watches a directory and uploads the pictures and videos that are dropped into
 it: to its own receiver, to S3 stores and to tus servers. Uploads survive
 crashes, power cuts and bad networks. A JSON file beside each file has its
 state, progress and error.
 .
 Sizes, thumbnails and profile pictures need libvips, videos need ffmpeg,
 removing positions needs exiftool. Uploads need none of them."
pack_symbols outbox

root=$work/outbox-receiver symbols=$work/outbox-receiver-dbgsym build_ids=
place_program "$bin/outbox-receiver" usr/bin
place 644 packaging/receiver/outbox-receiver.service usr/lib/systemd/system
place 644 packaging/receiver/sysusers.conf usr/lib/sysusers.d outbox-receiver.conf
place 644 packaging/receiver/receiver.env etc/outbox-receiver
place 600 packaging/receiver/tokens etc/outbox-receiver
place 600 packaging/receiver/metrics-tokens etc/outbox-receiver
place_manual outbox-receiver.1 outbox-receiver-find.1
place_completions outbox-receiver
place_papers outbox-receiver
for page in receiver protocol; do place 644 "docs/$page.md" usr/share/doc/outbox-receiver; done
depends=$(libraries -e"$root/usr/bin/outbox-receiver")
pack outbox-receiver "$root" "Depends: systemd-standalone-sysusers | systemd-sysusers | systemd, $(sed -n 's/^shlibs:Depends=//p' <<<"$depends")" "Recommends: outbox" \
    "Section: net" "Priority: optional" "Description: server for uploads of the outbox agent
 Takes uploads of outbox agents and keeps them as files below a directory, for
 several users with tokens and quotas. Each post has a page with its pictures
 and videos. Meant for one machine, a family or a small group.
 .
 Pages show small versions of pictures if the package outbox, with its picture
 worker, is installed too."
pack_symbols outbox-receiver

for file in "$out"/*"_${version}_$architecture.deb"; do good "$file" "($(du -h --apparent-size "$file" | cut -f1))"; done
