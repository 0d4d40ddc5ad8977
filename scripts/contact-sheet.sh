#!/usr/bin/env bash
# Draws a picture in every kind of style, over a checkerboard, a dark and a light ground, into one PNG for inspection.
# The pictures take the usual way: served over HTTP, then mirrored and drawn by `outbox avatar get`.
#   scripts/contact-sheet.sh [PNG]     absolute, or relative to the repository; default: .build/contact-sheet.png
# Uses the programs in $BIN, else in .build/release, else in .build/debug.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

for needed in vips python3; do
    command -v "$needed" >/dev/null || die "$needed is needed: apt-get install --no-install-recommends libvips-tools python3"
done
bin=${BIN:-}
for place in .build/release .build/debug; do
    if [[ -z $bin && -x $place/outbox && -x $place/outbox-media ]]; then bin=$place; fi
done
[[ -n $bin ]] || die "outbox and outbox-media are not built yet: make build"
sheet=$(realpath -m "${1:-.build/contact-sheet.png}")
mkdir -p "$(dirname "$sheet")"

work=$(mktemp -d "${TMPDIR:-/tmp}/outbox-sheet.XXXXXX")
server=''
at_exit() {
    if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap at_exit EXIT

readonly side=184 # of a tile
readonly styles=(
    'rect:160x160' 'rect:160x80' 'rect:80x160'
    'round:160x160,r=0,b=0' 'round:160x160,r=24,b=0' 'round:160x160,r=24,b=8' 'round:160x160,r=80,b=0'
    'round:160x160,r=80,b=12' 'round:160x80,r=40,b=4' 'round:96x96,r=48,b=2' 'chain' 'small'
)
# The picture upright, and as a camera held sideways stores it.
mkdir "$work/www"
cp examples/sea.jpg "$work/www/upright.jpg"
vips rot examples/sea.jpg "$work/sideways.jpg" d270
python3 scripts/make-placeholder.py --png "$work/www/placeholder.png"
python3 - "$work/sideways.jpg" "$work/www/turned.jpg" <<'PYTHON'
import struct, sys
# EXIF with one field: orientation 6, which viewers turn clockwise (CIPA DC-008, 4.6.4).
tiff = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, 6, 0, 0)
exif = b"Exif\0\0" + tiff
data = open(sys.argv[1], "rb").read()
with open(sys.argv[2], "wb") as file:
    file.write(data[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + data[2:])
PYTHON

cat >"$work/agent.toml" <<TOML
outbox = "$work/outbox"
state = "$work/state"
avatars = "$work/avatars"
[avatar_cache]
allow_private = true
[avatar_styles]
chain = ["rect:320x160", "round:160x160,r=40,b=6"]
small = ["rect:32x32", "round:32x32,r=8,b=1"]
TOML
# The server prints its port once it listens.
python3 - "$work/www" >"$work/port" 2>/dev/null <<'PYTHON' &
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
PYTHON
server=$!
for _ in {1..200}; do
    if [[ -s $work/port ]]; then break; fi
    sleep 0.05
done
port=$(<"$work/port")
export no_proxy=127.0.0.1
get() { "$bin/outbox" avatar get --config "$work/agent.toml" "http://127.0.0.1:$port/$1" --style "$2"; }

# The grounds: checks of 12 pixels, dark, light.
python3 - "$work" "$side" <<'PYTHON'
import sys
work, side = sys.argv[1], int(sys.argv[2])
grounds = {
    "checks": lambda x, y: 0xCC if (x // 12 + y // 12) % 2 else 0xFF,
    "dark": lambda x, y: 0x1C,
    "light": lambda x, y: 0xF2,
}
for name, shade in grounds.items():
    pixels = bytes(shade(x, y) for y in range(side) for x in range(side) for _ in range(3))
    with open(f"{work}/{name}.ppm", "wb") as file:
        file.write(b"P6 %d %d 255\n" % (side, side) + pixels)
PYTHON

pictures=()
for style in "${styles[@]}"; do pictures+=("$(get upright.jpg "$style")"); done
pictures+=("$(get turned.jpg rect:160x160)" "$(get placeholder.png original)" "$(get placeholder.png round:96x96,r=48,b=2)")

tiles=()
for ground in checks dark light; do
    vips colourspace "$work/$ground.ppm" "$work/$ground.v" srgb
    for picture in "${pictures[@]}"; do
        tile="$work/tile-${#tiles[@]}"
        vips colourspace "$picture" "$tile-colours.v" srgb
        bands=$(vipsheader -f bands "$tile-colours.v")
        if ((bands == 3)); then
            vips bandjoin_const "$tile-colours.v" "$tile-alpha.v" 255
        else
            mv "$tile-colours.v" "$tile-alpha.v"
        fi
        vips gravity "$tile-alpha.v" "$tile-wide.v" centre "$side" "$side" --extend background --background "0 0 0 0"
        vips composite2 "$work/$ground.v" "$tile-wide.v" "$tile.png" over
        tiles+=("$tile.png")
    done
done
vips arrayjoin "${tiles[*]}" "$sheet" --across "${#pictures[@]}"
say "In this order, each over checks, dark and light: ${styles[*]}, a picture stored sideways, the placeholder, the same round"
good "$sheet"
