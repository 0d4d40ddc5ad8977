#!/usr/bin/env bash
# Makes the pictures in this directory: 48x32 pixels in four quadrants, see README.md.
# Needs python3, ffmpeg and libvips-tools; the tests need none of them for these, since the pictures are committed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python3 - <<'PYTHON'
import struct, zlib

RED, GREEN, BLUE, YELLOW = (255, 0, 0), (0, 160, 0), (0, 0, 255), (255, 255, 0)
WIDTH, HEIGHT = 48, 32


def colour(x, y):
    return ((RED, GREEN), (BLUE, YELLOW))[y >= HEIGHT // 2][x >= WIDTH // 2]


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(path, depth, kind, row, *before):
    body = b"".join(b"\0" + row(y) for y in range(HEIGHT))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, kind, 0, 0, 0)))
        file.write(b"".join(before) + chunk(b"IDAT", zlib.compress(body, 9)) + chunk(b"IEND", b""))


def row(y, wide=1, alpha=()):
    pixels = (colour(x, y) + tuple(a(x, y) for a in alpha) for x in range(WIDTH))
    return b"".join(bytes([value]) * wide for pixel in pixels for value in pixel)


def palette_row(y):
    return bytes((x >= WIDTH // 2) + 2 * (y >= HEIGHT // 2) for x in range(WIDTH))


png("rgb8.png", 8, 2, row)
png("rgb16.png", 16, 2, lambda y: row(y, wide=2))
png("palette.png", 8, 3, palette_row, chunk(b"PLTE", bytes(RED + GREEN + BLUE + YELLOW)))
# The right half is transparent.
png("alpha.png", 8, 6, lambda y: row(y, alpha=[lambda x, y: 255 if x < WIDTH // 2 else 0]))
# Orientation 6 in an eXIf chunk: to be turned by 90 degrees clockwise.
exif = b"MM\0\x2a" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, 6, 0, 0)
png("turned.png", 8, 2, row, chunk(b"eXIf", exif))
# A second picture for animations: black.
png("black.png", 8, 2, lambda y: bytes(3 * WIDTH))


def tiff(path, order, extra=()):
    """One strip of 16 bits a channel."""
    strip = b"".join(struct.pack(order + "H", value * 257)
                     for y in range(HEIGHT) for x in range(WIDTH) for value in colour(x, y))
    tags = [(256, 3, 1, WIDTH), (257, 3, 1, HEIGHT), (258, 3, 3, 8), (259, 3, 1, 1), (262, 3, 1, 2),
            (273, 4, 1, 14), (277, 3, 1, 3), (278, 3, 1, HEIGHT), (279, 4, 1, len(strip)), *extra]
    tags = sorted((tag, kind, count, 14 + len(strip) - 6 if tag == 258 else value) for tag, kind, count, value in tags)
    with open(path, "wb") as file:
        body = struct.pack(order + "HHH", 16, 16, 16)
        start = 14 + len(strip) + 2
        file.write((b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, start))
        file.write(body + strip + b"\0\0")
        file.write(struct.pack(order + "H", len(tags)))
        for tag, kind, count, value in tags:
            offset = 8 if tag == 258 else value
            field = struct.pack(order + "HH", offset, 0) if kind == 3 and count == 1 else struct.pack(order + "I", offset)
            file.write(struct.pack(order + "HHI", tag, kind, count) + field)
        file.write(struct.pack(order + "I", 0))


tiff("little16.tif", "<")
tiff("big16.tif", ">")
# What a camera's raw file looks like: its first picture is a preview.
tiff("raw-preview.tif", "<", [(254, 4, 1, 1)])
PYTHON

vips jpegsave rgb8.png baseline.jpg --Q 95 --subsample-mode off
vips jpegsave rgb8.png progressive.jpg --Q 95 --interlace
vips icc_transform rgb8.png cmyk.tif cmyk --input-profile srgb
vips jpegsave cmyk.tif cmyk.jpg --Q 95 --strip
vips colourspace rgb8.png grey.png b-w
vips jpegsave grey.png grey.jpg --Q 95
vips icc_transform rgb8.png p3.tif p3 --input-profile srgb
vips jpegsave p3.tif p3.jpg --Q 95 --profile p3 --subsample-mode off
vips pngsave rgb8.png interlaced.png --interlace
join='[0:v]format=rgb24[a];[1:v]format=rgb24[b];[a][b]concat=n=2'
ffmpeg -v error -y -i rgb8.png -i black.png -filter_complex "$join,split[c][d];[c]palettegen[p];[d][p]paletteuse" animated.gif
ffmpeg -v error -y -i rgb8.png -i black.png -filter_complex "$join" -c:v libwebp_anim -lossless 1 animated.webp
vips webpsave rgb8.png lossy.webp --Q 95
vips webpsave rgb8.png lossless.webp --lossless
vips heifsave rgb8.png heic.heic --Q 90 --compression hevc --subsample-mode off
vips heifsave rgb8.png avif.avif --Q 90 --compression av1 --subsample-mode off
vips tiffsave rgb8.png tiled.tif --tile --tile-width 16 --tile-height 16 --compression lzw
vips tiffsave rgb8.png bigtiff.tif --bigtiff --compression deflate
rm -f cmyk.tif p3.tif grey.png black.png
