"""Rules about words and calls: the glossary (style.md 7), what may not stand in a file of ours, and
how processes are made."""

import re

import cpp_text

IDENTIFIER = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]*\b")

# Word in an identifier or a file name -> what to say instead.
BANNED_WORDS = {
    "chunk": "slice, batch or block",
    "chunks": "slices, batches or blocks",
    "shard": "partition or lane",
    "shards": "partitions or lanes",
    "slave": "worker",
    "slaves": "workers",
    "master": "host",
    "manager": "the thing it does",
    "helper": "the thing it does",
    "helpers": "what they do",
    "util": "the concept's name",
    "utils": "the concept's name",
    "utility": "the concept's name",
    "impl": "the concept's name",
    "child": "worker",
    "children": "workers",
    "blacklist": "what it refuses",
    "whitelist": "what it allows",
}
# Also in these folders, where the other meaning cannot be meant.
BANNED_IN = {
    "consumer": (["host/slicer", "host/supervisor", "ipc"], "worker"),
    "consumers": (["host/slicer", "host/supervisor", "ipc"], "workers"),
    "unit": (["host"], "slice, or what it counts"),
    "units": (["host"], "slices, or what it counts"),
    "messages": (["host/slicer", "host/supervisor", "ipc", "host/worker"], "records"),
}
# Names of others, in code that talks to them.
ALLOWED_IDENTIFIERS = {"RUSAGE_CHILDREN", "SIGCHLD", "WEXITED", "extra_data"}  # boost::json::error
ALLOWED_PREFIXES = ("rd_kafka_", "RD_KAFKA_", "sqlite3_", "SQLITE_", "BOOST_", "CATCH_")

# Pieces are joined here so that this file does not catch itself.
FOREIGN_TEXT = [
    re.compile(pattern)
    for pattern in (
        r"(?<![\w.])/" r"(work|root|home/\w+|Users/\w+)/",
        r"\b(deb|security|snapshot)\.debian" r"\.org\b",
        r"\brepo1?\.maven(\.apache)?" r"\.org\b",
        r"\b(registry\.npmjs|proxy\.golang|files\.pythonhosted|static\.crates)" r"\.(org|io)\b",
        r"\b(pypi" r"\.org|index\.crates" r"\.io)\b",
    )
]

PROCESS_CALL = re.compile(r"(?<![\w.>])(?:::|std::)?(fork|vfork|system|popen)\s*\(")
TEST_NAME = re.compile(r'^(?:TEMPLATE_)?TEST_CASE\(\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)
SLEEP_CALL = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")

# Where nothing tells when to look again: file -> why.
SLEEPS_ALLOWED = {
    "host/kafka/topic_admin.cpp": "Kafka tells nobody when a new topic has its leaders",
    "host/state/directory_lock.cpp": "flock has no timeout, and a holder that dies tells nobody",
    "tests/unit/state/crash_test.cpp": "the moment of a kill is meant to be anywhere in a commit",
}


def banned_words(file):
    if file.is_cpp or file.suffix == ".py":
        for word, instead in _banned_of(file, file.name.split(".")[0]):
            yield 1, f"file name says {word}; say {instead}"
    if not file.is_cpp:
        return
    reported = set()
    for found in IDENTIFIER.finditer(_without_includes(file.code)):
        identifier = found.group()
        if identifier in reported or identifier in ALLOWED_IDENTIFIERS:
            continue
        if identifier.startswith(ALLOWED_PREFIXES):
            continue
        for word, instead in _banned_of(file, identifier):
            reported.add(identifier)
            yield cpp_text.line_of(file.code, found.start()), f"{identifier}: {word}; say {instead}"


def _banned_of(file, identifier):
    words = cpp_text.words_of(identifier)
    for word in words:
        if word in BANNED_WORDS:
            yield word, BANNED_WORDS[word]
        elif word in BANNED_IN and file.under(*BANNED_IN[word][0]):
            yield word, BANNED_IN[word][1]
    if len(words) > 1 and words[-1] == "data" and words[0] != "user":
        yield "data at its end", "what the data are"


def _without_includes(code):
    return re.sub(
        r"^[ \t]*#[ \t]*include[^\n]*",
        lambda found: cpp_text.blank(found.group()),
        code,
        flags=re.MULTILINE,
    )


def foreign_text(file):
    """No path of somebody's machine and no registry's host: a clone builds anywhere."""
    for number, line in enumerate(file.lines, 1):
        for pattern in FOREIGN_TEXT:
            found = pattern.search(line)
            if found:
                yield number, f"{found.group()}: no machine's path and no registry's host in a file"


def process_calls(file):
    """Workers are made by posix_spawn: fork copies the host's page tables (70 ms at 1 GB) and is
    unsafe beside librdkafka's threads."""
    if not file.is_cpp or not file.under("host", "ipc"):
        return
    for found in PROCESS_CALL.finditer(file.code):
        yield cpp_text.line_of(file.code, found.start()), f"{found.group(1)}(): use posix_spawn"


def test_names(file):
    """ctest starts each case by its name: Catch reads a leading dash as an option, * and ~ as
    patterns; CMake divides at a semicolon. Such a case would not run under its name."""
    for found in TEST_NAME.finditer(file.text if file.is_cpp else ""):
        if re.search(r"^[-~]|[;*]|\\\\|^\s|\s$", found.group(1)):
            yield cpp_text.line_of(file.text, found.start()), (
                f'"{found.group(1)}": no dash or tilde at the beginning, no ; * or backslash'
            )


def sleeps(file):
    """A test that sleeps is slow when it passes and flaky when it does not: wait for the event."""
    if not file.is_cpp or not file.under("tests/unit", "tests/sim", "host"):
        return
    if file.path in SLEEPS_ALLOWED:
        return
    for found in SLEEP_CALL.finditer(file.code):
        yield cpp_text.line_of(file.code, found.start()), f"{found.group(1)}(): wait for the event"
