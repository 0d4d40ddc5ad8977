#!/usr/bin/env bash
# Installs missing packages that building, testing and the demo need.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly least_swift="6.2"

has_header() { compgen -G "/usr/include/$1" >/dev/null; }
has_command() { command -v "$1" >/dev/null; }
has_library() { has_command pkg-config && pkg-config --exists "$1"; }

missing=()
need() {
    local package=$1
    shift
    "$@" || missing+=("$package")
}

need make has_command make
need git has_command git
need g++ has_header 'c++/*/vector'
need pkg-config has_command pkg-config
need libcurl4-openssl-dev has_library libcurl
need libssl-dev has_library libcrypto
need liblmdb-dev has_library lmdb
need libxxhash-dev has_library libxxhash
need libvips-dev has_library vips
need ffmpeg has_command ffprobe
need libimage-exiftool-perl has_command exiftool
need exiv2 has_command exiv2
need ca-certificates test -s /etc/ssl/certs/ca-certificates.crt
need curl has_command curl
need openssl has_command openssl
need python3 has_command python3

if ((${#missing[@]})); then
    as_root=()
    if ((EUID != 0)); then as_root=(sudo); fi
    if ! has_command apt-get; then
        die "Missing: ${missing[*]} (names as on Debian and Ubuntu). There is no apt-get here; please install them."
    fi
    if ((EUID != 0)) && ! has_command sudo; then
        die "Missing: ${missing[*]}. As root, please run: apt-get install ${missing[*]}"
    fi
    say "Installing with apt-get${as_root[0]:+ (through sudo)}: ${missing[*]}"
    install=(env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}")
    "${as_root[@]}" apt-get update -qq </dev/null
    "${as_root[@]}" "${install[@]}" -qq </dev/null >/dev/null
    good "Installed: ${missing[*]}"
fi

how_to_get_swift() {
    warn "$1"
    cat >&2 <<'TEXT'
To get Swift on Debian 12 or Ubuntu 24.04, either
  - follow https://www.swift.org/install/linux/, or
  - with swiftly:
      curl -O https://download.swift.org/swiftly/linux/swiftly-$(uname -m).tar.gz
      tar zxf swiftly-$(uname -m).tar.gz
      ./swiftly init
Then open a new shell and try again.
TEXT
    exit 1
}

has_command swift || how_to_get_swift "Swift is needed (version $least_swift or newer), but there is none in the PATH."
found=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
[[ -n $found ]] || how_to_get_swift "The output of 'swift --version' names no version; Swift $least_swift or newer is needed."
older=$(printf '%s\n%s\n' "$least_swift" "$found" | sort -V | head -n 1)
[[ $older == "$least_swift" ]] || how_to_get_swift "Swift $least_swift or newer is needed; this is $found."
