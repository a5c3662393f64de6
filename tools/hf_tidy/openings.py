"""The first lines say what a file is for."""

import re
from collections.abc import Iterator

from hf_tidy.tree import File, Finding, Tree


def check(tree: Tree) -> Iterator[Finding]:
    for file in tree.cpp:
        opens_with_comment = file.lines[0].startswith("//")
        if file.is_header:
            yield from _check_header(file, opens_with_comment)
        elif not opens_with_comment and not _includes_own_header_first(tree, file):
            yield file.finding(1, "opening", "begin with one to five comment lines that say what "
                               "it is for, or with the include of its own header, which does")


def _check_header(file: File, opens_with_comment: bool) -> Iterator[Finding]:
    if not opens_with_comment:
        yield file.finding(1, "opening", "begin with one to five // lines: what it is, why it "
                           "exists, what it does not do")
    if not re.search(r"^#pragma once$", file.source.uncommented, re.MULTILINE):
        yield file.finding(1, "pragma-once", "no #pragma once; put it after the opening comment")


def _includes_own_header_first(tree: Tree, file: File) -> bool:
    header = tree.own_header(file)
    return header is not None and file.lines[0].startswith("#include") and \
        f"/{header.path}".endswith(f"/{file.source.includes[0].path}")
