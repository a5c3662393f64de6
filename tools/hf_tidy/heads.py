"""Reads the text before a brace: is it a type, a function, a lambda, an `if`?"""

import re

_OPENING, _CLOSING = "([{", ")]}"
_CONTROL = re.compile(r"(?:else\s+)?(?:if\s+constexpr|if\s+consteval|if|for|while|switch|catch)\b")
_BARE_CONTROL = re.compile(r"(?:else|do|try)\b(?!\s+if\b)")
_AFTER_PARAMETERS = re.compile(r"(?<=[)\]])\s*(?:(?:mutable|noexcept|constexpr|static)\b\s*)*"
                               r"(?:->\s*[\w:<>,&*\s]+(?:\([^()]*\)[\w:<>,&*\s]*)?)?$")
_OPERATOR = re.compile(r"\boperator\s*(\(\s*\)|\[\s*\]|[^\w\s(]+|\w[\w:<>*& ]*)(?=\s*\()")


def without_attributes(head: str) -> str:
    return re.sub(r"\[\[[^\[\]]*\]\]", " ", head)


def without_labels(head: str) -> str:
    """Without `case x:` and `default:` in front."""
    label = re.compile(r"\s*(?:case\b(?:[^:]|::)*|default)\s*:(?!:)\s*")
    while match := label.match(head):
        head = head[match.end():]
    return head


def is_access_label(head: str) -> bool:
    return head.strip() in ("public:", "private:", "protected:")


def after_group(text: str, start: int) -> int:
    """The position after the bracket that closes the one at `start`; -1 if none does."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] in _OPENING:
            depth += 1
        elif text[at] in _CLOSING:
            depth -= 1
            if depth == 0:
                return at + 1
    return -1


def control_depth(head: str) -> int:
    """How many control statements a head opens, as 2 for `for (...) if (...)`; 0 if it is none."""
    head = without_labels(without_attributes(head)).strip()
    if match := _BARE_CONTROL.match(head):
        rest = head[match.end():].strip()
        return 1 if not rest else control_depth(rest)
    match = _CONTROL.match(head)
    if not match:
        return 0
    rest = head[match.end():].lstrip()
    if rest.startswith("("):
        end = after_group(rest, 0)
        rest = rest[end:].strip() if end > 0 else "?"
    if not rest:
        return 1
    inner = control_depth(rest)
    return 1 + inner if inner else 0


def is_lambda(head: str) -> bool:
    """Whether it ends in a lambda's introducer: `[...]`, `[...](...)`, with what may follow."""
    head = _AFTER_PARAMETERS.sub("", head.rstrip())
    if head.endswith("]"):
        return not re.search(r"\w$", head[:_group_start(head)])  # else an array: `buffer[4]{}`
    if not head.endswith(")"):
        return False
    before = re.sub(r"<[^()]*>$", "", head[:_group_start(head)].rstrip()).rstrip()
    return before.endswith("]") and not re.search(r"\boperator\s*\[\s*\]$", before)


def _group_start(text: str) -> int:
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] in _CLOSING) - (text[at] in _OPENING)
        if depth == 0:
            return at
    return 0


def flattened(head: str) -> str:
    """Without template arguments, a leading `template <...>` or bare MACRO; operators are words."""
    head = _OPERATOR.sub("operator_name", without_attributes(head))
    out, depth = [], 0
    for at, character in enumerate(head):
        if character == "<" and (depth or _opens_template(head[:at])):
            depth += 1
        elif character == ">" and depth and head[at - 1] != "-":
            depth -= 1
        elif depth == 0:
            out.append(character)
    text = re.sub(r"^\s*(?:(?:template|export|[A-Z][A-Z0-9_]+)\s+)*", "", "".join(out))
    return re.sub(r"\s+", " ", text).strip()


def _opens_template(before: str) -> bool:
    return bool(re.search(r"[\w]\s?$", before)) and not before.endswith("operator")


def is_type(head: str) -> bool:
    flat = flattened(head)
    return bool(re.match(r"(?:typedef )?(?:class|struct|union|enum)\b", flat)) and "=" not in flat \
        and not re.search(r"\w\s*\([^()]*\)\s*(?:const|noexcept|override|\s)*$",
                          re.sub(r"\balignas\s*\([^()]*\)", "", flat))


def is_function(head: str) -> bool:
    """Of a head outside of functions: whether a function's body follows."""
    flat = flattened(head)
    found = parameters(head)
    if found is None:
        return False
    after = flat[found[2]:]
    if re.match(r"(?:\s|const|noexcept(?:\s*\([^()]*\))?)*:(?!:)", after):
        return after.rstrip().endswith((")", "}", "..."))  # else a member's own braces: `a_{1}`
    return not re.search(r"(?<![=!<>])=(?!=)", after)


def parameters(head: str) -> tuple[str, int, int] | None:
    """A function's name, its number of parameters, and where its list ends in flattened(head)."""
    flat = flattened(head)
    match = re.match(r'(?:extern "\s*" )?([^()=]*?)([~\w:]+)\s*\(', flat)
    while match and match[2] in ("decltype", "alignas", "noexcept", "requires", "explicit",
                                 "__attribute__"):
        end = after_group(flat, match.end() - 1)
        flat = flat[:match.start(2)] + "_" * (end - match.start(2)) + flat[end:] if end > 0 else ""
        match = re.match(r"([^()=]*?)([~\w:]+)\s*\(", flat)
    if not match:
        return None
    end = after_group(flat, match.end() - 1)
    if end < 0:
        return None
    return match[2], _count(flat[match.end():end - 1]), end


def _count(inside: str) -> int:
    """Parameters in a list: its commas outside of brackets, and one."""
    if inside.strip() in ("", "void"):
        return 0
    depth = commas = 0
    for character in inside:
        depth += (character in _OPENING) - (character in _CLOSING)
        commas += character == "," and depth == 0
    return commas + 1
