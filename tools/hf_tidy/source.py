"""C++ text without what only looks like code: comments, literals, directives.

Line numbers and columns stay as they are: what is taken out becomes spaces."""

import dataclasses
import functools
import re

_TOKEN = re.compile(
    r"""(?P<raw>(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^ ()\\\t\n]{0,16})\(.*?\)(?P=mark)")
      | (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<number>(?<!\w)[0-9](?:'?[0-9a-zA-Z_.])*)
      | (?P<character>'(?:\\.|[^'\\\n])+')""", re.DOTALL | re.VERBOSE)
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w*)")
_INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]')


@dataclasses.dataclass(frozen=True)
class Include:
    line: int
    path: str
    quoted: bool


class Source:
    def __init__(self, text: str):
        self.text = text

    @functools.cached_property
    def uncommented(self) -> str:
        """Without comments; strings are as written."""
        return _TOKEN.sub(lambda match: _blank(match[0]) if match["comment"] else match[0],
                          self.text)

    @functools.cached_property
    def code(self) -> str:
        """Without comments, directives and the insides of literals. Of an #if, the first branch."""
        return _without_directives(_TOKEN.sub(_without_literal, self.text))

    @functools.cached_property
    def code_lines(self) -> list[str]:
        return self.code.split("\n")

    @functools.cached_property
    def includes(self) -> list[Include]:
        found = []
        for number, line in enumerate(self.uncommented.split("\n"), 1):
            if match := _INCLUDE.match(line):
                found.append(Include(number, match[2], match[1] == '"'))
        return found


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _without_literal(match: re.Match) -> str:
    if match["number"]:
        return match[0].replace("'", "0")
    if match["comment"]:
        return _blank(match[0])
    quote = match[0][-1]
    return quote + _blank(match[0][1:-1]) + quote


def _without_directives(text: str) -> str:
    kept = []
    branches = []  # of each open #if: whether its present branch is the first
    continued = False
    for line in text.split("\n"):
        directive = _DIRECTIVE.match(line)
        if not continued and directive:
            _follow(directive[1], branches)
        hidden = continued or directive or not all(branches)
        continued = bool(continued or directive) and line.endswith("\\")
        kept.append(_blank(line) if hidden else line)
    return "\n".join(kept)


def _follow(directive: str, branches: list[bool]) -> None:
    if directive in ("if", "ifdef", "ifndef"):
        branches.append(True)
    elif directive in ("else", "elif", "elifdef", "elifndef") and branches:
        branches[-1] = False
    elif directive == "endif" and branches:
        branches.pop()
