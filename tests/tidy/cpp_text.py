"""C++ text with the eyes of a rule: code without comments and literals, and where functions stand.

No parser: a scanner that knows comments, strings, raw strings, digit separators and braces. It is
right for code formatted as ours is; a rule that needs more belongs into the compiler.
"""

import re
from dataclasses import dataclass

RAW_STRING = re.compile(r'(?:u8|[uUL])?R"([^\s()\\]{0,16})\(')
IDENTIFIER_END = re.compile(r"[A-Za-z0-9_]$")
CONTAINER = re.compile(
    r"(template\s*<.*>\s*)?(inline\s+)?"
    r"(namespace|class|struct|union|enum|extern)\b[^(]*(:[^:].*)?",
    re.DOTALL,
)
ACCESS_LABEL = re.compile(r"^\s*(public|protected|private)\s*:")
# "Ring(int size) : size_" before a brace: the brace holds a member's first value.
MEMBER_VALUE = re.compile(r"\)\s*(noexcept\s*)?:[^:].*[\w>]$|^,(.*\W)?[\w:<>]+$", re.DOTALL)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def blank(text):
    """The same text with spaces for everything but line feeds."""
    return re.sub(r"[^\n]", " ", text)


def code_of(text):
    """`text` with comments and the contents of literals blanked; lines and columns are kept."""
    out = []
    position = 0
    while position < len(text):
        end, keep = _next_token(text, position)
        piece = text[position:end]
        out.append(piece if keep else blank(piece))
        position = end
    return "".join(out)


def _next_token(text, position):
    """(end, whether it is code) of the comment, literal or character that starts at `position`."""
    two = text[position : position + 2]
    if two == "//":
        return _end_of(text, "\n", position, 0), False
    if two == "/*":
        return _end_of(text, "*/", position + 2, 2), False
    before = text[position - 1 : position]
    raw = None if IDENTIFIER_END.match(before) else RAW_STRING.match(text, position)
    if raw:
        return _end_of(text, ")" + raw.group(1) + '"', raw.end(), len(raw.group(1)) + 2), False
    character = text[position]
    if character == '"' or (character == "'" and not before.isalnum()):
        return _end_of_quoted(text, position), False
    return position + 1, True


def _end_of(text, mark, start, length):
    found = text.find(mark, start)
    return len(text) if found < 0 else found + length


def _end_of_quoted(text, position):
    quote = text[position]
    at = position + 1
    while at < len(text) and text[at] != quote and text[at] != "\n":
        at += 2 if text[at] == "\\" else 1
    return min(at + 1, len(text))


def line_of(text, position):
    return text.count("\n", 0, position) + 1


@dataclass
class Function:
    line: int  # of the opening brace
    length: int  # lines from the opening to the closing brace
    header: str  # what stands before the brace, for the finding's text


def functions_of(code):
    """The bodies of functions (lambdas count with the function around them) in code_of() text."""
    code = PREPROCESSOR.sub(lambda found: blank(found.group()), code)
    stack = []  # (kind, position, header) of each open brace
    functions = []
    header_start = 0
    after_member = False
    for brace in re.finditer(r"[{};]", code):
        position = brace.start()
        header = ACCESS_LABEL.sub("", code[header_start:position]).strip()
        header_start = position + 1
        if brace.group() == "{":
            inner = any(kind in ("body", "values") for kind, _, _ in stack)
            kind = "inner" if inner else _kind_of(header, after_member)
            stack.append((kind, position, header))
        elif brace.group() == "}" and stack:
            kind, opened, header = stack.pop()
            after_member = kind == "member"
            if kind == "body":
                first, last = line_of(code, opened), line_of(code, position)
                functions.append(Function(first, last - first + 1, " ".join(header.split())[-60:]))
    return functions


def _kind_of(header, after_member):
    """What the brace after `header` opens."""
    if MEMBER_VALUE.search(header):
        return "member"
    if after_member and (not header or header.startswith(",")):
        return "body"
    if re.search(r"(=|\breturn|[(,])\s*$", header):
        return "values"
    if not header or CONTAINER.fullmatch(header):
        return "container"
    return "body" if "(" in header and not re.search(r"=[^=()]*$", header) else "values"


def words_of(identifier):
    """The lower-case words of a snake_case, PascalCase or kPascalCase identifier."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", identifier)
    spaced = re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", spaced)
    return [word.lower() for word in spaced.split("_") if word]
