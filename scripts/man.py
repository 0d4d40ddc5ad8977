#!/usr/bin/env python3
"""Writes the man pages: from the help texts of the built programs, and from two pages of docs/.

  scripts/man.py BIN DIRECTORY

BIN is the directory of the built programs. docs/configuration.md becomes agent.toml(5), docs/sidecars.md
outbox-sidecar(5). The pages use man(7) and carry the date of $SOURCE_DATE_EPOCH.
"""
import datetime
import json
import os
import re
import subprocess
import sys
import textwrap
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# Text


def escaped(text):
    for character, escape in ("\\", "\\e"), ("-", "\\-"), ("~", "\\(ti"), ("^", "\\(ha"), ("`", "\\(ga"):
        text = text.replace(character, escape)
    return text


def inline(markdown):
    """Converts a paragraph of Markdown to man(7)."""
    parts = re.split(r"(`[^`]+`|\[[^\]]+\]\([^)]+\)|\*\*|(?<![\w*])\*(?=\w)|(?<=\w)\*(?![\w*]))", markdown)
    out, fonts = [], []
    for part in parts:
        link = re.fullmatch(r"\[([^\]]+)\]\(([^)]+)\)", part)
        if link:
            label, target = link[1], os.path.basename(link[2].split("#")[0])
            names_target = not target or target in label or "://" in link[2]
            out.append(inline(label) + ("" if names_target else f" ({escaped(target)})"))
        elif len(part) > 2 and part.startswith("`") and part.endswith("`"):
            out.append(r"\fB" + escaped(part[1:-1]) + (fonts[-1] if fonts else r"\fR"))
        elif part in ("**", "*"):
            font = r"\fB" if part == "**" else r"\fI"
            if fonts:
                fonts.pop()
                out.append(r"\fR")
            else:
                fonts.append(font)
                out.append(font)
        else:
            # A hyphen inside a word stays one; a minus at its beginning is an option.
            text = part.replace("\\|", "|").replace("\\", "\\e").replace("~", "\\(ti").replace("^", "\\(ha")
            out.append(re.sub(r"(?<!\S)--?(?=\w)", lambda dashes: "\\-" * len(dashes[0]), text))
    return "".join(out)


def filled(text):
    """Breaks text into lines of less than 80 bytes. mandoc reads other characters than ASCII as escapes of eight bytes."""
    lines, line, size = [], [], 0
    for word in text.split():
        length = sum(1 if character.isascii() else 8 for character in word) + 1
        if line and size + length > 79:
            lines.append(" ".join(line))
            line, size = [], 0
        line.append(word)
        size += length
    return lines + [" ".join(line)] if line else lines


def guarded(line):
    """A full stop or an apostrophe at the beginning of a line would be a request."""
    return "\\&" + line if line[:1] in (".", "'") else line


def paragraph(markdown):
    lines = filled(inline(markdown))
    return [guarded(line) for line in lines]


def literal(lines):
    return [".PP", ".RS 4", ".EX", *[guarded(escaped(line)) for line in lines], ".EE", ".RE"]


def item(tag, body):
    return [".TP", guarded(tag), *(body or ["\\&"])]


class Page:
    def __init__(self, name, section, summary, version):
        self.name, self.section = name, section
        seconds = float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
        date = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).date()
        self.lines = [
            f'.TH "{escaped(name.upper())}" {section} {date} "outbox {version}" "Outbox"',
            ".SH NAME",
            *filled(f"{escaped(name)} \\- {inline(summary)}"),
        ]

    def section_of(self, title, lines):
        if lines:
            self.lines += [f".SH {title}", *lines]

    def see_also(self, pages):
        others = [page for page in pages if page != (self.name, self.section)]
        words = [f"\\fB{escaped(name)}\\fR({section})" for name, section in others]
        self.section_of("SEE ALSO", [word + "," for word in words[:-1]] + words[-1:])

    def write(self, directory):
        path = os.path.join(directory, f"{self.name}.{self.section}")
        # The first paragraph of a section needs no request, and mandoc complains about one.
        headings = [""] + self.lines
        lines = [line for before, line in zip(headings, self.lines) if line != ".PP" or not before.startswith(".S")]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


# Help texts


def discussion(text):
    """Splits a discussion into its description, its examples and its exit statuses, as lines of man(7)."""
    description, examples, statuses = [], [], []
    title = ""
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.split("\n")
        indented = [line for line in lines if line.startswith("  ")]
        plain = " ".join(line.strip() for line in lines if not line.startswith("  "))
        title = plain or title
        if title == "Exit status:":
            for line in indented:
                status = re.fullmatch(r"  (\d[\d, ]*?) {2,}(.+)", line)
                if status:
                    statuses.append([status[1], status[2]])
                elif statuses:
                    statuses[-1][1] += " " + line.strip()
            continue
        into = examples if title == "Examples:" else description
        if plain and title != "Examples:":
            into += [".PP", *paragraph(plain)]
        if indented:
            into += literal(textwrap.dedent("\n".join(indented)).split("\n"))
    lines = [line for status, meaning in statuses for line in item(f"\\fB{status}\\fR", paragraph(meaning))]
    return description, examples, lines


def spelled(argument):
    """Returns an argument as the usage line shows it, and all its names."""
    value = f"\\fI{escaped(argument['valueName'])}\\fR" + (" ..." if argument["isRepeating"] else "")
    if argument["kind"] == "positional":
        return value, value
    names = [("\\-" if name["kind"] == "short" else "\\-\\-") + escaped(name["name"]) for name in argument["names"]]
    suffix = "" if argument["kind"] == "flag" else " " + value
    return f"\\fB{names[-1]}\\fR{suffix}", ", ".join(f"\\fB{name}\\fR" for name in names) + suffix


def explained(argument):
    text = argument.get("abstract", "")
    extra = []
    if argument.get("allValues"):
        extra.append("values: " + ", ".join(argument["allValues"]))
    if argument.get("defaultValue") is not None:
        extra.append("default: " + argument["defaultValue"])
    return paragraph(text + (f" ({'; '.join(extra)})" if extra else ""))


def command_pages(command, words, version, see_also):
    """Yields the page of a command, then those of its subcommands."""
    summary = command["abstract"].rstrip(".")
    page = Page("-".join(words), 1, summary[:1].lower() + summary[1:], version)
    arguments = [argument for argument in command["arguments"] if argument["shouldDisplay"]]
    children = [child for child in command.get("subcommands", []) if child["commandName"] != "help"]
    usage = [f".B {escaped(' '.join(words))}"]
    for argument in arguments:
        if argument["kind"] != "positional" and argument["valueName"] in ("help", "version"):
            continue
        short, _ = spelled(argument)
        usage.append(f"[{short}]" if argument["isOptional"] else short)
    if children:
        usage.append("\\fIcommand\\fR")
    page.section_of("SYNOPSIS", usage)
    description, examples, statuses = discussion(command.get("discussion", ""))
    page.section_of("DESCRIPTION", description or paragraph(command["abstract"]))
    lines = []
    for child in children:
        name = "-".join([*words, child["commandName"]])
        lines += item(f"\\fB{escaped(name)}\\fR(1)", paragraph(child["abstract"]))
    page.section_of("COMMANDS", lines)
    for title, is_positional in (("ARGUMENTS", True), ("OPTIONS", False)):
        lines = []
        for argument in arguments:
            if (argument["kind"] == "positional") == is_positional:
                lines += item(spelled(argument)[1], explained(argument))
        page.section_of(title, lines)
    page.section_of("EXIT STATUS", statuses)
    page.section_of("EXAMPLES", examples)
    parent = [("-".join(words[:-1]), 1)] if len(words) > 1 else []
    page.see_also(parent + [pair for pair in see_also if pair not in parent])
    yield page
    for child in children:
        yield from command_pages(child, [*words, child["commandName"]], version, see_also)


def output(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def worker_page(program, version):
    """The page of outbox-media, which reads its arguments without a parser."""
    first, _, rest = output(program, "--help").partition("\n")
    name, _, summary = first.partition(": ")
    page = Page(name, 8, summary.rstrip("."), version)
    description, _, statuses = discussion(rest)
    page.section_of("SYNOPSIS", [".B outbox\\-media", "[\\fB\\-\\-version\\fR | \\fB\\-\\-help\\fR]"])
    page.section_of("DESCRIPTION", description)
    page.section_of("EXIT STATUS", statuses)
    page.see_also([("outbox", 1), ("outbox-receiver", 1)])
    return page


# Pages of docs/


def table(rows):
    """Makes a paragraph with a tag of each row; the column that explains comes first, the others with their headings."""
    head, _, *body = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip()[1:-1])] for row in rows]
    main = next((index for index, title in enumerate(head) if index and title in ("meaning", "does", "")), 1)
    lines = []
    for cells in body:
        words = [cells[main].rstrip(".") + "."] if cells[main] else []
        for index, cell in enumerate(cells):
            if index not in (0, main) and cell:
                title = head[index][:1].upper() + head[index][1:]
                words.append(f"{title}." if cell == "yes" else f"{title}: {cell}.")
        lines += item(inline(cells[0]), paragraph(" ".join(words)))
    return lines


def markdown_lines(blocks):
    """Converts lines of Markdown below a heading."""
    out, index = [], 0
    while index < len(blocks):
        line = blocks[index]
        start = index
        index += 1
        if not line.strip():
            continue
        if line.startswith("```"):
            while not blocks[index].startswith("```"):
                index += 1
            out += literal(blocks[start + 1 : index])
            index += 1
        elif line.startswith("|"):
            while index < len(blocks) and blocks[index].startswith("|"):
                index += 1
            out += table(blocks[start:index])
        elif line.startswith("### "):
            out += [f".SS {inline(line[4:])}"]
        elif mark := re.match(r"(-|\d+\.) +", line):
            width = len(mark[0])
            content = [line[width:]]
            while index < len(blocks) and blocks[index].startswith(" "):
                content.append(blocks[index])
                index += 1
            inner = markdown_lines([words.strip() for words in content])
            inner = inner[1:] if inner[:1] == [".PP"] else inner
            nested = next((number for number, words in enumerate(inner) if words.startswith(".")), len(inner))
            bullet = "\\(bu" if mark[1] == "-" else mark[1]
            out += [f".IP {bullet} {width}", *inner[:nested]]
            out += [".RS", *inner[nested:], ".RE"] if inner[nested:] else []
        else:
            other = re.compile(r"\s*$|```|\||#|(-|\d+\.) ")
            while index < len(blocks) and not other.match(blocks[index]):
                index += 1
            out += [".PP", *paragraph(" ".join(words.strip() for words in blocks[start:index]))]
    return out


def document_page(name, summary, path, version, see_also):
    page = Page(name, 5, summary, version)
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        lines = file.read().split("\n")[1:]
    heading, collected = "DESCRIPTION", []
    for line in [*lines, "## "]:
        if line.startswith("## "):
            page.section_of(heading, markdown_lines(collected))
            heading, collected = inline(line[3:]).upper(), []
        else:
            collected.append(line)
    page.section_of("NOTES", paragraph("Pages with a name in `.md` are in `/usr/share/doc/outbox`."))
    page.see_also(see_also)
    return page


def main():
    programs, directory = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    names = ("outbox", "outbox-receiver", "outbox-media")
    agent, receiver, worker = (os.path.join(programs, name) for name in names)
    version = output(agent, "--version").strip()
    see_also = [("outbox", 1), ("outbox-receiver", 1), ("agent.toml", 5), ("outbox-sidecar", 5)]
    pages = [
        document_page("agent.toml", "configuration of the outbox agent", "docs/configuration.md", version, see_also),
        document_page("outbox-sidecar", "the state of a file, in a file beside it", "docs/sidecars.md", version, see_also),
        worker_page(worker, version),
    ]
    for program in (agent, receiver):
        command = json.loads(output(program, "--experimental-dump-help"))["command"]
        pages += command_pages(command, [command["commandName"]], version, see_also)
    for page in pages:
        page.write(directory)


if __name__ == "__main__":
    main()
