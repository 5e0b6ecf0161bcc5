"""Rules that need more than one file: every source is built, every folder explains itself."""

import re

# Folders whose subfolders each need a README.md; a mirror like tests/unit explains itself once.
PARENTS = ("", "host", "plugins", "tests")
# `spsc_ring.hpp` or `ipc/spsc_ring.hpp`; not `name.cpp`, which stands for any.
NAMED_FILE = re.compile(r"`((?!name\.|build/)[\w./-]*\w\.(?:cpp|hpp|h|c|sh|py|md|cmake|in))`")
LIBRARY_HEADERS = {"rdkafka.h", "sqlite3.h", "dlfcn.h", "sd-daemon.h"}
TOP_LEVEL_FOLDERS = {"host", "plugins", "ipc", "sdk", "tests", "etc", ".ci"}
TOP_LEVEL_FILES = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md"}


def sources_are_built(tree):
    """Every .cpp and .c is named in the CMakeLists.txt of its folder or of one above it."""
    lists = {file.folder: file.text for file in tree if file.name == "CMakeLists.txt"}
    for file in tree:
        if file.suffix in (".cpp", ".c") and not _is_named(file.path, lists):
            yield file.path, 1, "no CMakeLists.txt names this file, so nobody builds it"


def _is_named(path, lists):
    parts = path.split("/")
    for depth in range(len(parts) - 1, -1, -1):
        folder = "/".join(parts[:depth]) or "."
        name = re.escape("/".join(parts[depth:]))
        named = re.compile(r"(?<![\w./-])(\$\{\w+\}/)?" + name + r"(?![\w.-])")
        if named.search(lists.get(folder, "")):
            return True
    # plugins/CMakeLists.txt: bundled_plugin(NAME) builds NAME/NAME.cpp.
    name = parts[-1].removesuffix(".cpp")
    if parts[:-1] == ["plugins", name] and f"bundled_plugin({name}" in lists.get("plugins", ""):
        return True
    return False


def folders_have_readmes(tree):
    paths = {file.path for file in tree}
    folders = set()
    for path in paths:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            parent = "/".join(parts[: depth - 1])
            if parent in PARENTS and not parts[depth - 1].startswith("."):
                folders.add("/".join(parts[:depth]))
    for folder in sorted(folders):
        only_a_list = all(
            path == f"{folder}/CMakeLists.txt" for path in paths if path.startswith(folder + "/")
        )
        if f"{folder}/README.md" not in paths and not only_a_list:
            yield f"{folder}/README.md", 1, "missing: what it is, the one idea, the files"


def top_level_is_fixed(tree):
    for folder in sorted({file.path.split("/")[0] for file in tree if "/" in file.path}):
        if folder not in TOP_LEVEL_FOLDERS:
            yield folder, 1, f"no further top-level folder: {', '.join(sorted(TOP_LEVEL_FOLDERS))}"
    for file in tree:
        if "/" not in file.path and not file.path.startswith("."):
            if file.path not in TOP_LEVEL_FILES:
                allowed = ", ".join(sorted(TOP_LEVEL_FILES))
                yield file.path, 1, f"no further top-level file: {allowed}"


def readmes_name_what_exists(tree):
    """A file that a README.md names stands below its folder, or at that path from the root."""
    paths = {file.path for file in tree}
    for file in tree:
        if file.name != "README.md":
            continue
        below = "" if file.folder == "." else file.folder + "/"
        for number, line in enumerate(file.lines, 1):
            for name in NAMED_FILE.findall(line):
                known = name in LIBRARY_HEADERS or any(_is_at(path, name, below) for path in paths)
                if not known:
                    yield file.path, number, f"{name} is named here and does not exist"


def _is_at(path, name, below):
    return path == name or path.startswith(below) and path.endswith(("/" + name, below + name))
