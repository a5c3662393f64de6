"""Words that mean trouble wherever they stand, and state that belongs to nobody."""

import re
from collections.abc import Iterator

from hf_tidy import heads
from hf_tidy.blocks import BODIES, Kind, Statement, Unbalanced, parse
from hf_tidy.tree import File, Finding, Tree

# Tests and benchmarks run their loop to its end, which owns what runs on it.
MAY_DETACH = ("src/net/", "src/rpc/", "tests/", "bench/")
MAY_PRINT = ("src/cli/", "src/app/", "bench/", "tests/")
MAY_HOLD_STATE = ("src/base/log.cc",)  # the one logger of a process
PROMISES = re.compile(r"\b(TODO|FIXME)\b")
PROMISED_IN = (".h", ".cc", ".c", ".proto", ".cmake", "CMakeLists.txt", ".ts", ".tsx", ".css")

# gRPC hands its channels and credentials out this way.
_SHARED = re.compile(r"\bshared_ptr<(?!\s*const\b|\s*grpc::)")
_SHARED_REASON = re.compile(r"// tidy: shared\b\W*\w+")
_STORAGE = re.compile(r"^(?:(?:static|inline|thread_local|extern|constinit)\s+)+")
_NO_VARIABLE = re.compile(r"^(?:using|namespace|typedef|friend|template|class|struct|union|enum|"
                          r"static_assert|return|concept|export|extern template|asm)\b")


def check(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if file.name.endswith(PROMISED_IN):
            yield from _check_promises(file)
        if file.is_cpp:
            yield from _check_lines(file)
            yield from _check_state(file)


def _check_promises(file: File) -> Iterator[Finding]:
    for number, line in enumerate(file.lines, 1):
        if (match := PROMISES.search(line)) and not re.search(r"#\d+", line):
            yield file.finding(number, "todo", f"{match[0]} without an issue; write "
                               f"{match[0]}(#N), or do it now")


def _check_lines(file: File) -> Iterator[Finding]:
    for number, (code, line) in enumerate(zip(file.source.code_lines, file.lines), 1):
        if re.search(r"\bdetached\b", code) and not file.path.startswith(MAY_DETACH):
            yield file.finding(number, "detached", "a coroutine without an owner; use "
                               "TaskGroup::spawn and join it")
        if re.search(r"\bthrow\b", code):
            yield file.finding(number, "throw", "we throw nothing; return a Status, or HF_CHECK "
                               "what must hold")
        if _SHARED.search(code) and not _SHARED_REASON.search(line):
            yield file.finding(number, "shared-ptr", "shared_ptr to what can change; use "
                               "unique_ptr or shared_ptr<const T>, or end the line in "
                               "`// tidy: shared, REASON`")
        if re.search(r"\busing\s+namespace\s+std\s*;", code):
            yield file.finding(number, "using-std", "using namespace std; name what you use")
        if re.search(r"\bstd::cout\b", code) and not _may_print(file):
            yield file.finding(number, "cout", "std::cout is for cli, app, bench and tests; log, "
                               "or return the text")


def _may_print(file: File) -> bool:
    return file.is_test or file.path.startswith(MAY_PRINT)


def _check_state(file: File) -> Iterator[Finding]:
    if file.path in MAY_HOLD_STATE:
        return
    try:
        _, statements = parse(file.source.code)
    except Unbalanced:
        return  # reported with the limits
    for statement in statements:
        # A test's own function may keep a fixture for the whole suite.
        if _is_mutable_state(statement) and not (file.is_test and statement.where in BODIES):
            yield file.finding(statement.line, "global", "state that outlives its users: no "
                               "globals, no singletons; make it const, or a member of its user")


def _is_mutable_state(statement: Statement) -> bool:
    """Whether it declares a variable of static lifetime that can change."""
    head = heads.without_labels(statement.head)
    if _NO_VARIABLE.match(head) or re.search(r"\b(?:const|constexpr)\b", heads.flattened(head)):
        return False
    has_storage = bool(_STORAGE.match(head))
    if statement.where is Kind.NAMESPACE:
        return _is_variable(head)
    if statement.where is Kind.TYPE:
        return has_storage and _is_variable(head)
    # In a body, `static Type name(argument)` is a variable too: functions are not declared there.
    return statement.where in BODIES and head.startswith(("static ", "thread_local "))


def _is_variable(head: str) -> bool:
    """`Type name`, with or without an initialiser; not `Type name(...)`, maybe a function."""
    declared = re.split(r"(?<![=!<>])=(?!=)|\{", _STORAGE.sub("", heads.flattened(head)))[0].strip()
    return bool(re.fullmatch(r"[\w:]+[\w:\s*&]*[\s*&]\w+(?:\[[^\]]*\])*", declared))
