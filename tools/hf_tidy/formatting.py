"""clang-format decides how code is laid out; this asks it."""

import re
import subprocess
from collections.abc import Iterator

from hf_tidy.tree import Finding, Tree

TOOL = "clang-format-19"
_COMPLAINT = re.compile(r"^(.+?):(\d+):\d+: (?:error|warning): code should be clang-formatted")


def check(tree: Tree) -> Iterator[Finding]:
    paths = [file.path for file in tree.cpp]
    if not paths:
        return
    try:
        answer = subprocess.run([TOOL, "--dry-run", "-Werror", "--style=file", *paths],
                                cwd=tree.root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        yield Finding(".clang-format", 1, "format", f"{TOOL} is not installed, so nothing was "
                      "checked; run tools/setup check")
        return
    lines: dict[str, set[int]] = {}
    for complaint in filter(None, map(_COMPLAINT.match, answer.stderr.splitlines())):
        lines.setdefault(complaint[1], set()).add(int(complaint[2]))
    for path, numbers in lines.items():
        yield Finding(path, min(numbers), "format", f"{len(numbers)} line(s) differ from what "
                      "clang-format writes; run make format")
    if answer.returncode != 0 and not lines:
        yield Finding(".clang-format", 1, "format", f"{TOOL} failed: {answer.stderr.strip()[:200]}")
