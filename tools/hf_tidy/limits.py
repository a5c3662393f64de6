"""Sizes a reader can hold: lines of a file and a function, columns, parameters, nesting."""

import re
from collections.abc import Iterator

from hf_tidy import heads
from hf_tidy.blocks import Block, Kind, Statement, Unbalanced, parse
from hf_tidy.tree import File, Finding, Tree

HEADER_LINES, SOURCE_LINES, TEST_LINES = 300, 400, 600
COLUMNS = 100
FUNCTION_LINES, PARAMETERS, NESTING = 60, 5, 3


def check(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if file.is_cpp or file.name.endswith(".proto"):
            yield from _check_columns(file)
        if file.is_cpp:
            yield from _check_file_length(file)
            yield from _check_functions(file)


def _check_columns(file: File) -> Iterator[Finding]:
    for number, line in enumerate(file.lines, 1):
        if len(line) > COLUMNS and not line.startswith("#include"):
            yield file.finding(number, "columns", f"{len(line)} characters, at most {COLUMNS}; "
                               "break the line, or the string in it")


def _check_file_length(file: File) -> Iterator[Finding]:
    kind, limit = ("test", TEST_LINES) if file.is_test else \
        ("header", HEADER_LINES) if file.is_header else ("source", SOURCE_LINES)
    count = len(file.lines) - 1
    if count > limit:
        yield file.finding(limit + 1, "file-length", f"{count} lines, a {kind} has at most {limit};"
                           " split it by idea, not into parts")


def _check_functions(file: File) -> Iterator[Finding]:
    try:
        blocks, statements = parse(file.source.code)
    except Unbalanced as error:
        yield file.finding(error.line, "braces", "tidy cannot pair the brackets from here, so it "
                           "cannot measure functions; keep both branches of an #if balanced")
        return
    for block in blocks:
        yield from _check_block(file, block)
    for statement in statements:
        yield from _check_declaration(file, statement)


def _check_block(file: File, block: Block) -> Iterator[Finding]:
    count = block.last_line - block.first_line + 1
    if block.kind is Kind.FUNCTION and count > FUNCTION_LINES:
        yield file.finding(block.first_line, "function-length", f"{count} lines, at most "
                           f"{FUNCTION_LINES}; give its parts names of their own")
    if block.kind is Kind.FUNCTION:
        yield from _check_parameters(file, block.first_line, block.head)
    if block.kind is Kind.CONTROL and block.nesting > NESTING:
        yield file.finding(block.first_line, "nesting", f"{block.nesting} blocks deep, at most "
                           f"{NESTING}; return early, or make the inner part a function")


def _check_declaration(file: File, statement: Statement) -> Iterator[Finding]:
    # Only members: outside of a class, `Type name(a, b)` may as well be a variable.
    if statement.where is Kind.TYPE:
        yield from _check_parameters(file, statement.line, statement.head)


def _check_parameters(file: File, line: int, head: str) -> Iterator[Finding]:
    found = heads.parameters(heads.without_labels(head))
    is_macro = found and re.fullmatch(r"[A-Z][A-Z0-9_]+", found[0])
    if found and found[1] > PARAMETERS and not is_macro:
        yield file.finding(line, "parameters", f"{found[0]} has {found[1]}, at most {PARAMETERS}; "
                           "use an options struct")
