#!/usr/bin/env python3
"""Draws the built-in placeholder: a grey figure on a light ground, 96x96, a PNG with 16 greys.

Prints it as the Swift source in Sources/Agent/ControlAPI/Pictures/PlaceholderPicture+BuiltIn.swift; with --png FILE it writes
the picture itself.
"""
import struct
import sys
import zlib

SIDE = 96
FINE = 8  # samples along each side of a pixel
GROUND, FIGURE = 13, 9  # of 16 greys


def is_figure(x, y):
    head = (x - 48) ** 2 + (y - 37) ** 2 <= 17.5**2
    shoulders = ((x - 48) / 33) ** 2 + ((y - 96) / 34) ** 2 <= 1
    return head or shoulders


def grey(column, row):
    inside = sum(
        is_figure(column + (i + 0.5) / FINE, row + (j + 0.5) / FINE) for i in range(FINE) for j in range(FINE)
    )
    return round(GROUND + (FIGURE - GROUND) * inside / FINE**2)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png():
    rows = bytearray()
    for row in range(SIDE):
        greys = [grey(column, row) for column in range(SIDE)]
        rows.append(0)  # no filter
        rows += bytes(left << 4 | right for left, right in zip(greys[::2], greys[1::2]))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 4, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(rows), 9))
        + chunk(b"IEND", b"")
    )


def swift(data):
    lines = [", ".join(f"0x{byte:02X}" for byte in data[start : start + 18]) for start in range(0, len(data), 18)]
    body = "".join(f"        {line},\n" for line in lines)
    return (
        "extension PlaceholderPicture {\n"
        "    /// A PNG of 96×96 pixels, drawn by scripts/make-placeholder.py.\n"
        "    static let builtInBytes: [UInt8] = [\n" + body + "    ]\n}\n"
    )


if sys.argv[1:2] == ["--png"]:
    with open(sys.argv[2], "wb") as file:
        file.write(png())
else:
    sys.stdout.write(swift(png()))
