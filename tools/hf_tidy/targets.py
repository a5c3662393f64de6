"""The tree tells the truth: nothing lies in it that no build, test or person uses."""

import re
from collections.abc import Iterator

from hf_tidy.tree import File, Finding, Tree

BUILT = ("src", "tests", "fuzz", "bench", "sim")


def check(tree: Tree) -> Iterator[Finding]:
    named = _named_in_cmake(tree)
    included = _included(tree)
    for file in tree.files:
        if file.name.endswith(".cc") and file.parts[0] in BUILT and not _is_named(file, named):
            yield file.finding(1, "target", "no CMakeLists.txt of its folder or above names it; "
                               "add it to a target or delete it")
        if file.name.endswith(".proto") and not _is_named(file, named):
            yield file.finding(1, "target", "no CMakeLists.txt names it; add it to an hf_proto() "
                               "or delete it")
        if file.is_header and file.parts[0] in BUILT and not _is_included(file, included):
            yield file.finding(1, "target", "no file includes it; use it or delete it")
    yield from _check_tools(tree)
    yield from _check_readmes(tree)


def _named_in_cmake(tree: Tree) -> set[str]:
    """Paths that a CMakeLists.txt names; from the vocabulary in cmake/, names in any folder."""
    named = set()
    for file in tree.files:
        if file.name != "CMakeLists.txt" and not file.name.endswith(".cmake"):
            continue
        folder = "*" if file.name.endswith(".cmake") else "/".join(file.parts[:-1])
        for word in re.findall(r'[^\s()"]+', re.sub(r"#[^\n]*", "", file.text or "")):
            word = re.sub(r"^\$\{CMAKE_CURRENT_SOURCE_DIR\}/", "", word)
            named.add(f"{folder}/{word}".lstrip("/"))
    return named


def _is_named(file: File, named: set[str]) -> bool:
    return file.path in named or f"*/{file.name}" in named


def _included(tree: Tree) -> set[str]:
    """Every include as written, and as it reads from the folder of its file."""
    included = set()
    for file in tree.files:
        if not file.name.endswith((".h", ".cc", ".c")):
            continue
        for include in file.source.includes:
            included.add(include.path)
            included.add("/".join(file.parts[:-1] + (include.path,)))
    return included


def _is_included(file: File, included: set[str]) -> bool:
    return file.path in included or "/".join(file.parts[1:]) in included  # from src/ or tests/


def _check_tools(tree: Tree) -> Iterator[Finding]:
    tools = [file for file in tree.files if file.parts[0] == "tools"]
    places = tools + [tree.by_path[path] for path in ("Makefile", "CONTRIBUTING.md", ".ci/run")
                      if path in tree.by_path]
    places += [file for file in tree.files if file.parts[0] == "cmake"]
    for tool in tools:
        if not tool.is_executable:
            continue
        mention = re.compile(re.escape(tool.path) + r"(?![\w.-]*\w)")
        if not any(mention.search(place.text or "") for place in places if place is not tool):
            yield tool.finding(1, "target", f"nobody mentions {tool.path}: say in the Makefile, "
                               "CONTRIBUTING.md or the tool that calls it what it is for")


def _check_readmes(tree: Tree) -> Iterator[Finding]:
    with_code = {file.module for file in tree.cpp if file.module}
    for module in sorted(with_code):
        if f"src/{module}/README.md" not in tree.by_path:
            yield Finding(f"src/{module}/README.md", 1, "readme", "missing; write one page: "
                          "purpose, main types, a diagram, what the module must never do")
