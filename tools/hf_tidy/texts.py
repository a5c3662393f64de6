"""What must not be committed in any text: one machine's paths, conflict markers, ragged lines."""

import re
from collections.abc import Iterator

from hf_tidy.tree import File, Finding, Tree

_OWN_FOLDER = re.compile(r"(?<![\w.~$}>-])/(?:home|Users|root|work)/[\w.-]+")
_CONFLICT = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: |$)|^={7}$")


def check(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if file.text:
            yield from _check_lines(tree, file)
            yield from _check_end(file)


def _check_lines(tree: Tree, file: File) -> Iterator[Finding]:
    for number, line in enumerate(file.lines, 1):
        if (match := _OWN_FOLDER.search(line)) or str(tree.root) + "/" in line:
            found = match[0] if match else str(tree.root)
            yield file.finding(number, "own-path", f"{found} is a folder of one machine; write a "
                               "path from the root of the tree, or take it as an option")
        if _CONFLICT.search(line) and not _is_underline(file, number):
            yield file.finding(number, "conflict", "a marker of an unfinished merge; finish it")
        if line != line.rstrip():
            yield file.finding(number, "trailing-space", "spaces at the end of the line; remove "
                               "them")
        if "\t" in line and file.is_cpp:
            yield file.finding(number, "tab", "a tab; use spaces, or \\t in a string")


def _is_underline(file: File, number: int) -> bool:
    """Whether a line of seven = underlines a heading in a document, as Markdown allows."""
    above = file.lines[number - 2] if number > 1 else ""
    return file.name.endswith(".md") and file.lines[number - 1] == "=" * 7 and len(above) == 7


def _check_end(file: File) -> Iterator[Finding]:
    count = len(file.lines)
    if file.lines[-1]:
        yield file.finding(count, "final-newline", "the last line does not end; end it")
    elif count > 2 and not file.lines[-2]:
        yield file.finding(count - 1, "final-newline", "empty lines at the end; remove them")
