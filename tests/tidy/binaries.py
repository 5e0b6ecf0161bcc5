#!/usr/bin/env python3
"""What the shipped programs may ask of the system's libraries (architecture.md "Processes").

usage: binaries.py BIN_DIR
The host loads no plugin, so it does not even import dlopen; and it makes processes by posix_spawn
only. Looks at the dynamic symbols that a program imports itself, by nm, not at its libraries'.
"""

import os
import re
import subprocess
import sys

MAKES_PROCESSES = {"fork", "vfork", "_Fork", "system", "popen"}
LOADS_CODE = {"dlopen", "dlmopen"}
BANNED_IMPORTS = {"sluice": MAKES_PROCESSES | LOADS_CODE, "sluice-worker": MAKES_PROCESSES}


def imports_of(listing):
    """The names in the output of nm -D --undefined-only, without their versions."""
    return set(re.findall(r"^\s+[Uw] ([^@\s]+)", listing, re.MULTILINE))


def main(arguments):
    bad = 0
    for program, banned in BANNED_IMPORTS.items():
        path = os.path.join(arguments[1], program)
        command = ["nm", "-D", "--undefined-only", path]
        imports = imports_of(
            subprocess.run(command, capture_output=True, check=True).stdout.decode()
        )
        if "write" not in imports and "read" not in imports:
            print(f"{program}: nm shows neither read nor write; this check has gone blind")
            bad += 1
        for name in sorted(imports & banned):
            print(f"{program} imports {name}")
            bad += 1
    print(f"binaries: {len(BANNED_IMPORTS)} programs, {bad} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
