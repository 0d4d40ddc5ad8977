"""Small landscapes, each different, for pictures of the page."""

import math
import struct
import zlib

# The top of the sky, the horizon, the sun, and the hills from far to near.
PALETTES = [
    ((92, 142, 206), (246, 214, 178), (255, 244, 214), ((122, 146, 178), (74, 106, 142), (38, 62, 92))),
    ((58, 44, 96), (238, 130, 96), (255, 220, 150), ((126, 70, 112), (82, 46, 92), (40, 26, 58))),
    ((120, 178, 200), (232, 240, 226), (255, 255, 240), ((134, 176, 150), (84, 138, 104), (40, 88, 66))),
    ((20, 28, 58), (66, 92, 140), (240, 240, 220), ((46, 64, 102), (30, 42, 74), (14, 20, 40))),
    ((214, 156, 120), (252, 226, 190), (255, 250, 230), ((196, 136, 96), (150, 92, 62), (92, 54, 40))),
    ((96, 160, 180), (206, 228, 232), (255, 250, 220), ((120, 166, 182), (62, 122, 146), (24, 76, 104))),
]


def mixed(one, other, share):
    return tuple(round(a + (b - a) * share) for a, b in zip(one, other))


def png(number, width=320, height=240):
    """Returns the PNG of a landscape; each number gives another one."""
    top, horizon, light, hills = PALETTES[number % len(PALETTES)]
    sun = (width * (0.25 + 0.5 * ((number * 37) % 10) / 10), height * 0.36, height * 0.09)
    lines = [
        [height * (0.52 + 0.14 * layer + 0.06 * math.sin(x / width * (5 + 3 * layer) + number * 1.7 + layer * 2.1)
                   + 0.02 * math.sin(x / width * 23 + number + layer)) for x in range(width)]
        for layer in range(len(hills))]
    rows = bytearray()
    for y in range(height):
        sky = mixed(top, horizon, min(1, y / (height * 0.62)))
        rows.append(0)
        for x in range(width):
            layer = next((layer for layer in (2, 1, 0) if y > lines[layer][x]), None)
            if layer is not None:
                color = hills[layer]
            elif (x - sun[0]) ** 2 + (y - sun[1]) ** 2 < sun[2] ** 2:
                color = light
            else:
                color = sky
            rows += bytes(color)

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"tEXt", b"Number\0" + str(number).encode()) + chunk(b"IDAT", zlib.compress(bytes(rows), 6))
            + chunk(b"IEND", b""))
