"""Sources that one target compiles together (hf_sources) share no name in anonymous namespaces: two
functions of one name and other parameters would compile, and one be called for the other."""

import re
from collections.abc import Iterator

from hf_tidy.tree import File, Finding, Tree

TARGET = re.compile(r"^hf_(?:module|support|tests|program)\((.*?)\)$", re.MULTILINE | re.DOTALL)
ANONYMOUS = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"^(?!return|TEST|INSTANTIATE|HF_)[A-Za-z_][\w:<>,*& ]*[ &*>]([a-z_]\w*)\(",
                      re.MULTILINE)


def check(tree: Tree) -> Iterator[Finding]:
    for cmake in tree.files:
        if cmake.name == "CMakeLists.txt" and cmake.parts[0] in ("src", "tests"):
            for target in TARGET.findall(re.sub(r"#[^\n]*", "", cmake.text or "")):
                yield from _check_target(tree, "/".join(cmake.parts[:-1]), target)


def _check_target(tree: Tree, folder: str, target: str) -> Iterator[Finding]:
    separate = re.search(r"SEPARATE((?:\s+\S+\.cc)*)", target)
    apart = separate[1].split() if separate else []
    first: dict[tuple[str, str], File] = {}
    for name in re.findall(r"\S+\.cc", target.replace(separate[0] if separate else "", "")):
        file = tree.by_path.get(f"{folder}/{name}")
        if file is None or name in apart:
            continue
        for space, function, line in _functions(file):
            other = first.setdefault((space, function), file)
            if other is not file:
                yield file.finding(line, "unity", f"{function}() is also in the anonymous namespace "
                                   f"of {other.name}, compiled together; share it or rename one")


def _functions(file: File) -> Iterator[tuple[str, str, int]]:
    text = file.source.uncommented
    space = re.search(r"^namespace ([\w:]+) \{$", text, re.MULTILINE)
    for block in ANONYMOUS.finditer(file.text or ""):
        seen = set()
        for function in FUNCTION.finditer(block[1]):
            if function[1] not in seen:
                seen.add(function[1])
                at = block.start(1) + function.start()
                yield space[1] if space else "", function[1], (file.text or "").count("\n", 0, at) + 1
