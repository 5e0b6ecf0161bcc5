"""Rules about a file's outer form: lengths, spaces, names, opening comment (style.md 6.1, 6.2)."""

import re

import cpp_text

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
HEADER_COMMENT_LINES = range(3, 13)

# Long lines are the point of these: prose, a licence, and data that a program wrote.
ANY_WIDTH = (".md", ".json", ".xml", ".txt", "LICENSE")
# Names that tools prescribe.
PRESCRIBED_NAMES = {
    "CMakeLists.txt",
    "CMakePresets.json",
    "README.md",
    "LICENSE",
    "SluiceSDKConfig.cmake.in",
    "SluicePlugin.cmake",
}
SNAKE_CASE = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")
PASCAL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*\.[a-z]+")
SNAKE_OR_DASH = re.compile(r"\.?[a-z0-9_@-]+(\.[a-z0-9_-]+)*")


def lengths(file):
    if file.name.endswith(ANY_WIDTH):
        return
    if len(file.lines) - 1 > FILE_LINES_MAX:
        yield 1, (
            f"{len(file.lines) - 1} lines; {FILE_LINES_MAX} is the limit: find the missing"
            " concept"
        )
    for number, line in enumerate(file.lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns; {COLUMNS_MAX} is the limit"


def function_lengths(file):
    if not file.is_cpp:
        return
    for function in cpp_text.functions_of(file.code):
        if function.length > FUNCTION_LINES_MAX:
            yield function.line, (
                f"a function of {function.length} lines; {FUNCTION_LINES_MAX} is"
                f" the limit: {function.header}"
            )


def spaces(file):
    for number, line in enumerate(file.lines, 1):
        if line != line.rstrip() and not file.name == "LICENSE":
            yield number, "a space at the end of the line"
        if "\t" in line:
            yield number, "a tab; indent with spaces"
        if "\r" in line:
            yield number, "a carriage return; lines end with LF"
    if file.text and not file.text.endswith("\n"):
        yield len(file.lines), "no line feed at the end of the file"
    if file.text.endswith("\n\n"):
        yield len(file.lines), "an empty line at the end of the file"


def names(file):
    parts = file.path.split("/")
    strict = file.is_cpp or file.suffix == ".py"
    for part in parts[:-1]:
        if not SNAKE_OR_DASH.fullmatch(part):
            yield 1, f"folder {part}: snake_case, please"
    if parts[-1] in PRESCRIBED_NAMES:
        return
    if file.suffix == ".java":  # javac wants a public class in a file of its name
        if not PASCAL_CASE.fullmatch(parts[-1]):
            yield 1, f"file {parts[-1]}: PascalCase, please, as its class"
        return
    if not (SNAKE_CASE if strict else SNAKE_OR_DASH).fullmatch(parts[-1]):
        yield 1, f"file {parts[-1]}: snake_case, please"


def opening_comment(file):
    """A header opens with 3-12 lines: the problem, the idea, ownership, threads, what it is not.

    The C headers of the SDK open with the contract itself, of any length, and use include guards,
    because their reader may be an old C compiler.
    """
    if not file.is_header:
        return
    if file.suffix == ".h" and file.under("sdk", "tests/abi"):
        if not file.text.startswith("/*"):
            yield 1, "a C header opens with the comment that tells what it is"
        return
    end = 0
    while end < len(file.lines) and file.lines[end].startswith("//"):
        end += 1
    # A diagram (indented, as in ipc/layout.hpp) may be as long as it must.
    sentences = [line for line in file.lines[:end] if not line.startswith("//   ")]
    least = 1 if file.under("tests") else HEADER_COMMENT_LINES.start
    if not least <= len(sentences) < HEADER_COMMENT_LINES.stop:
        yield 1, (
            f"opens with {len(sentences)} comment lines; 3 to 12: the problem, the idea, ownership,"
            " threads, what it does not do"
        )
    if "#pragma once" not in file.lines:
        yield 1, "no #pragma once"


def todo_numbers(file):
    for number, line in enumerate(file.lines, 1):
        if re.search(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b(?!\(#\d+\))", line):
            yield number, "an open end without its issue: write it as TO" "DO(#number), or do it"
