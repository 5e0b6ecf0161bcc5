#!/usr/bin/env python3
"""The house rules of style.md 6.1, 6.2, 6.10, 6.13 and 7, as a ctest.

usage: tidy.py ROOT    prints path:line: rule: what is wrong; exits 1 if anything is
A rule is a function in one of the *_rules.py files; tidy_test.py shows for each that it catches a
bad example and lets a good one pass. Python's standard library only.
"""

import sys

import include_rules
import layout_rules
import source_tree
import tree_rules
import word_rules

FILE_RULES = [
    layout_rules.lengths,
    layout_rules.function_lengths,
    layout_rules.spaces,
    layout_rules.names,
    layout_rules.opening_comment,
    layout_rules.todo_numbers,
    include_rules.libraries,
    include_rules.directions,
    word_rules.banned_words,
    word_rules.foreign_text,
    word_rules.process_calls,
    word_rules.sleeps,
    word_rules.test_names,
]
TREE_RULES = [
    tree_rules.sources_are_built,
    tree_rules.folders_have_readmes,
    tree_rules.top_level_is_fixed,
    tree_rules.readmes_name_what_exists,
]


def findings(tree):
    for file in tree:
        for rule in FILE_RULES:
            for line, problem in rule(file):
                yield file.path, line, rule.__name__, problem
    for rule in TREE_RULES:
        for path, line, problem in rule(tree):
            yield path, line, rule.__name__, problem


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    tree = source_tree.read_tree(arguments[1])
    found = list(findings(tree))
    for path, line, rule, problem in found:
        print(f"{path}:{line}: {rule}: {problem}")
    print(f"tidy: {len(tree)} files, {len(found)} findings")
    return 1 if found or not tree else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
