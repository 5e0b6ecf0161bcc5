"""The files that tidy looks at: what git tracks or would add, or, in a tree without git, what is
there outside build folders."""

import os
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

import cpp_text

SKIPPED_FOLDERS = {".git", "build", "install", "__pycache__"}
CPP_SUFFIXES = (".cpp", ".hpp", ".h", ".c")
HEADER_SUFFIXES = (".hpp", ".h")


@dataclass
class SourceFile:
    path: str  # relative to the root, with slashes
    text: str

    @property
    def name(self):
        return PurePosixPath(self.path).name

    @property
    def folder(self):
        return str(PurePosixPath(self.path).parent)

    @property
    def suffix(self):
        return PurePosixPath(self.path).suffix

    @property
    def is_cpp(self):
        return self.suffix in CPP_SUFFIXES

    @property
    def is_header(self):
        return self.suffix in HEADER_SUFFIXES

    @cached_property
    def lines(self):
        return self.text.split("\n")

    @cached_property
    def code(self):
        return cpp_text.code_of(self.text)

    def under(self, *folders):
        """Whether the file is in one of the folders (or is one of the named files)."""
        return any(self.path == folder or self.path.startswith(folder + "/") for folder in folders)


def paths_of(root):
    try:
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            check=True,
        ).stdout.decode()
        paths = [path for path in listed.split("\0") if path]
    except (OSError, subprocess.CalledProcessError):
        paths = list(_walk(root))
    return sorted(path for path in set(paths) if os.path.isfile(os.path.join(root, path)))


def _walk(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def read_tree(root):
    """Every text file. A file that is not UTF-8 is binary test data and not ours to read."""
    tree = []
    for path in paths_of(root):
        with open(os.path.join(root, path), "rb") as file:
            content = file.read()
        try:
            tree.append(SourceFile(path, content.decode("utf-8")))
        except UnicodeDecodeError:
            continue
    return tree
