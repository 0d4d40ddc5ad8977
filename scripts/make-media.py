#!/usr/bin/env python3
"""Makes valid pictures and a valid video, with Python's standard library only.

make-media.py png FILE [WIDTH HEIGHT]     a picture, deflated RGB
make-media.py bmp FILE [WIDTH HEIGHT]     a picture, uncompressed
make-media.py avi FILE [FRAMES]           a video, uncompressed RGB, 320x240, 25 frames a second
"""

import struct
import sys
import zlib


def rows(width, height, shift=0):
    """Yields the rows of a sky over a sea as RGB bytes; `shift` moves the waves."""
    horizon = height // 2
    wave = bytearray()
    for x in range(2 * width):
        crest = abs((x % 64) - 32)
        wave += bytes((10 + crest, 70 + 2 * crest, 140 + 2 * crest))
    for y in range(height):
        if y < horizon:
            light = 120 * y // horizon
            yield bytes((90 + light, 150 + light * 3 // 4, 235)) * width
        else:
            start = 3 * ((shift * (1 + (y - horizon) // 24) + 13 * (y // 8)) % width)
            yield bytes(wave[start:start + 3 * width])


def blue_green_red(row):
    swapped = bytearray(row)
    swapped[0::3], swapped[2::3] = row[2::3], row[0::3]
    return bytes(swapped)


def png(path, width=1600, height=1200):
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    pixels = b"".join(b"\0" + row for row in rows(width, height))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
        file.write(chunk(b"IDAT", zlib.compress(pixels, 6)))
        file.write(chunk(b"IEND", b""))


def bitmap_header(width, height):
    return struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, padded(width) * height, 2835, 2835, 0, 0)


def padded(width):
    return (3 * width + 3) // 4 * 4


def bitmap(width, height, shift=0):
    lines = [blue_green_red(row).ljust(padded(width), b"\0") for row in rows(width, height, shift)]
    return b"".join(reversed(lines))


def bmp(path, width=800, height=600):
    pixels = bitmap(width, height, shift=9)
    with open(path, "wb") as file:
        file.write(b"BM" + struct.pack("<IHHI", 54 + len(pixels), 0, 0, 54))
        file.write(bitmap_header(width, height) + pixels)


def avi(path, frames=100):
    width, height, rate = 320, 240, 25
    size = padded(width) * height

    def chunk(name, content):
        return name + struct.pack("<I", len(content)) + content

    def chunk_list(kind, content):
        return chunk(b"LIST", kind + content)

    main = struct.pack(
        "<14I", 1_000_000 // rate, size * rate, 0, 0x10, frames, 0, 1, size, width, height, 0, 0, 0, 0)
    stream = b"vidsDIB " + struct.pack(
        "<IHHIIIIIIIIhhhh", 0, 0, 0, 0, 1, rate, 0, frames, size, 0xFFFFFFFF, 0, 0, 0, width, height)
    header = chunk_list(b"hdrl", chunk(b"avih", main) + chunk_list(
        b"strl", chunk(b"strh", stream) + chunk(b"strf", bitmap_header(width, height))))
    index = b"".join(struct.pack("<4sIII", b"00db", 0x10, 4 + n * (size + 8), size) for n in range(frames))
    movie_size = 4 + frames * (size + 8)
    with open(path, "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 4 + len(header) + 8 + movie_size + 8 + len(index)) + b"AVI ")
        file.write(header + b"LIST" + struct.pack("<I", movie_size) + b"movi")
        for number in range(frames):
            file.write(chunk(b"00db", bitmap(width, height, shift=number)))
        file.write(chunk(b"idx1", index))


def main():
    makers = {"png": png, "bmp": bmp, "avi": avi}
    if len(sys.argv) < 3 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    makers[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))


if __name__ == "__main__":
    main()
