#!/usr/bin/env python3
"""Runs the demo in a terminal of its own and draws what a person sees there: docs/demo.svg."""
import html
import os
import pathlib
import pty
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = 110
LINE = 17
# Of the demo's steps, the picture shows these.
STEPS = ("Kill the agent", "Start the agent again", "Compare the stored files")
COLOURS = {"31": "#f47067", "32": "#57ab5a", "33": "#c69026", "34": "#539bf5", "35": "#b083f0", "36": "#39c5cf", "90": "#768390"}
SEQUENCE = re.compile(r"\x1b(?:\[([0-9;?]*)([A-Za-z])|\][^\x07]*\x07|[()][A-Z0-9]|[=>78])")


def record():
    """Returns the output of the demo on a terminal."""
    os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES="50")
    os.environ.pop("NO_COLOR", None)
    output = []

    def read(descriptor):
        data = os.read(descriptor, 65536)
        output.append(data)
        return data

    status = pty.spawn([str(ROOT / "scripts" / "demo.sh")], read)
    if status != 0:
        sys.exit("The demo failed; the picture stays as it is.")
    return b"".join(output).decode(errors="replace")


def lines(text):
    """Returns the lines as lists of (text, style) once the terminal has taken all of its sequences."""
    rows, row, column, style = [[]], 0, 0, ""
    position = 0
    while position < len(text):
        match = SEQUENCE.match(text, position)
        if match:
            position = match.end()
            parameters, command = match.group(1) or "", match.group(2)
            if command == "m":
                for code in parameters.split(";"):
                    style = "" if code in ("", "0", "39", "22") else (style + " " + code).strip()
            elif command == "A":
                row = max(0, row - int(parameters or 1))
            elif command == "K":
                del rows[row][column:]
            elif command == "J":
                del rows[row][column:], rows[row + 1:]
            elif command == "G":
                column = int(parameters or 1) - 1
            continue
        character = text[position]
        position += 1
        if character == "\r":
            column = 0
        elif character == "\n":
            row, column = row + 1, 0
            while len(rows) <= row:
                rows.append([])
        elif character >= " ":
            rows[row] += [(" ", "")] * (column + 1 - len(rows[row]))
            rows[row][column] = (character, style)
            column += 1
    return rows


def plain(row):
    return "".join(character for character, _ in row).rstrip()


def chosen(rows):
    """Returns the rows of the chosen steps and the last words."""
    shown, takes = [], False
    for row in rows:
        text = plain(row)
        step = re.match(r"\d+\. (.*)", text)
        if step:
            takes = step.group(1).startswith(STEPS)
        if takes:
            shown.append(row)
    while shown and not plain(shown[-1]):
        shown.pop()
    return shown


def spans(row):
    """Returns a row as SVG, one span for each style."""
    parts, last = [], None
    for character, style in row:
        if style != last:
            parts.append([style, ""])
            last = style
        parts[-1][1] += character
    text = ""
    for style, part in parts:
        codes = style.split()
        fill = next((COLOURS[code] for code in codes if code in COLOURS), "#768390" if "2" in codes else "#adbac7")
        weight = ' font-weight="bold"' if "1" in codes else ""
        text += f'<tspan fill="{fill}"{weight}>{html.escape(part, quote=False)}</tspan>'
    return text


def draw(rows):
    height = LINE * (len(rows) + 2)
    body = "\n".join(
        f'<text x="16" y="{LINE * (number + 2) - 4}" xml:space="preserve">{spans(row)}</text>'
        for number, row in enumerate(rows) if plain(row))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * 7.9 + 32:.0f} {height}" font-size="13" '
        'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace">\n'
        f'<rect width="100%" height="100%" rx="8" fill="#22272e"/>\n{body}\n</svg>\n')


def main():
    text = re.sub(r"/\S*/outbox-demo\.\w+", "/tmp/demo", record())
    text = re.sub(r"\b([0-9a-f]{6})[0-9a-f]{26}\b", r"\1…", text)
    # A terminal goes on in the next line.
    rows = [row[start:start + COLUMNS] for row in chosen(lines(text)) for start in range(0, max(1, len(row)), COLUMNS)]
    (ROOT / "docs" / "demo.svg").write_text(draw(rows))


if __name__ == "__main__":
    main()
