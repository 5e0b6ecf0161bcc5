#!/usr/bin/env python3
"""What failed, from the JUnit files that etc/test.sh has ctest write: ends of outputs, then names.

    etc/failed_tests.py FILE...

etc/test.sh calls it last, because whoever reads a long log reads its end, and often has no more of
it: so the names are the last that is said. Prints nothing if every test passed. Always ends with 0:
the verdict is etc/test.sh's.
"""

import sys
import xml.etree.ElementTree as xml

LINES = 60  # of all outputs together; Catch2 says what failed in its last ones
LINES_MIN = 10  # of one output


def failed_cases(path):
    """(name, output) of each test in a ctest JUnit file that did not pass."""
    for case in xml.parse(path).getroot().iter("testcase"):
        if case.get("status") != "run":  # ctest: run, fail, notrun, disabled
            yield case.get("name"), case.findtext("system-out") or ""


def main(paths):
    failed = [(path, *case) for path in paths for case in failed_cases(path)]
    lines = max(LINES_MIN, LINES // max(1, len(failed)))
    for path, name, output in failed:
        print(f"output of {name} ({path}):")
        for line in output.rstrip().splitlines()[-lines:]:
            print(f"    {line}")
        print()
    for path, name, _ in failed:
        print(f"failed: {name} ({path})")


if __name__ == "__main__":
    main(sys.argv[1:])
