"""What each pair of braces in C++ is: a namespace, type, function, lambda, control-flow block or
initialiser. Told from the text before the brace, not by a grammar: enough to measure functions.

  void Foo::bar(int a) {       head "void Foo::bar(int a)"       Kind.FUNCTION
    for (int x : {1, 2}) {     head inside (...): ":"            Kind.INITIALISER
                               head "for (int x : {})"           Kind.CONTROL
      run([&] { ... });        head inside (...): "[&]"          Kind.LAMBDA
"""

import dataclasses
import enum
import re

from hf_tidy import heads


class Kind(enum.Enum):
    NAMESPACE = enum.auto()
    TYPE = enum.auto()
    FUNCTION = enum.auto()
    LAMBDA = enum.auto()
    CONTROL = enum.auto()
    BLOCK = enum.auto()  # braces that only group, as after `case x:`
    INITIALISER = enum.auto()


BODIES = {Kind.FUNCTION, Kind.LAMBDA, Kind.CONTROL, Kind.BLOCK}
_CONTINUES_ITS_STATEMENT = {Kind.LAMBDA, Kind.INITIALISER}


@dataclasses.dataclass
class Block:
    kind: Kind
    head: str
    first_line: int  # where its head begins
    last_line: int
    nesting: int     # control-flow blocks around and including it, up to its function or lambda


@dataclasses.dataclass
class Statement:
    """A declaration or expression that ends in `;`, and the kind of block it stands in."""
    where: Kind
    head: str
    line: int


class Unbalanced(Exception):
    """Braces or parentheses that do not pair; `line` is where it shows."""

    def __init__(self, line: int):
        super().__init__(line)
        self.line = line


@dataclasses.dataclass
class _Level:
    """Inside one pair of braces: the text of the present statement, and its open parentheses."""
    block: Block
    head: str = ""
    head_line: int = 0
    open_at: list[int] = dataclasses.field(default_factory=list)  # in head, of each open ( or [

    def reset(self) -> None:
        self.head, self.head_line, self.open_at = "", 0, []


class _Parser:
    def __init__(self) -> None:
        self.line = 1
        self.levels = [_Level(Block(Kind.NAMESPACE, "", 1, 1, 0))]
        self.blocks: list[Block] = []
        self.statements: list[Statement] = []

    def take(self, character: str) -> None:
        level = self.levels[-1]
        if character == "{":
            self._open(level)
        elif character == "}":
            self._close(level)
        elif character == ";" and not level.open_at:
            self.statements.append(Statement(level.block.kind, level.head.strip(),
                                             level.head_line or self.line))
            level.reset()
        else:
            self._extend(level, character)

    def _extend(self, level: _Level, character: str) -> None:
        if not level.head_line and not character.isspace():
            level.head_line = self.line
        if character in "([":
            level.open_at.append(len(level.head))
        elif character in ")]":
            if not level.open_at:
                raise Unbalanced(self.line)
            level.open_at.pop()
        level.head += character
        if character == "\n":
            self.line += 1
        if character == ":" and heads.is_access_label(level.head):
            level.reset()

    def _open(self, level: _Level) -> None:
        inside = level.head[level.open_at[-1] + 1:] if level.open_at else level.head
        kind = _kind(inside, level.block.kind, in_parentheses=bool(level.open_at))
        nesting = level.block.nesting if kind in (Kind.CONTROL, Kind.BLOCK) else 0
        if kind is Kind.CONTROL:
            nesting += heads.control_depth(inside)
        block = Block(kind, inside.strip(), level.head_line or self.line, self.line, nesting)
        self.blocks.append(block)
        self.levels.append(_Level(block))

    def _close(self, level: _Level) -> None:
        if len(self.levels) == 1 or level.open_at:
            raise Unbalanced(self.line)
        level.block.last_line = self.line
        self.levels.pop()
        if level.block.kind in _CONTINUES_ITS_STATEMENT:
            self.levels[-1].head += "{}"
        else:
            self.levels[-1].reset()


def parse(code: str) -> tuple[list[Block], list[Statement]]:
    """Of Source.code. Raises Unbalanced."""
    parser = _Parser()
    for character in code:
        parser.take(character)
    if len(parser.levels) > 1:
        raise Unbalanced(parser.levels[-1].block.first_line)
    return parser.blocks, parser.statements


def _kind(head: str, around: Kind, in_parentheses: bool) -> Kind:
    head = heads.without_attributes(head).strip()
    if heads.is_lambda(head):
        return Kind.LAMBDA
    if in_parentheses or around is Kind.INITIALISER:
        return Kind.INITIALISER
    head = heads.without_labels(head)
    if re.search(r'\bnamespace\s*[\w:]*$|^extern\s*"\s*"$', head):
        return Kind.NAMESPACE
    if heads.is_type(head):
        return Kind.TYPE
    if around in BODIES:
        if heads.control_depth(head):
            return Kind.CONTROL
        return Kind.INITIALISER if head else Kind.BLOCK
    return Kind.FUNCTION if heads.is_function(head) else Kind.INITIALISER
