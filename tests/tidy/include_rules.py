"""Who may include whom (style.md 6.10, architecture.md "Folders"). CMake's targets make most wrong
includes fail to compile; this says it before, names the rule, and covers system headers."""

import re

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)

C_STANDARD = set("""assert ctype errno fenv float inttypes limits locale math setjmp signal stdalign
    stdarg stdatomic stdbool stddef stdint stdio stdlib string time uchar wchar""".split())
# A header of the operating system: <unistd.h>, <sys/mman.h>; no library of others is named so.
SYSTEM = re.compile(
    r"(sys|linux|arpa|net|netinet)/[a-z0-9_]+\.h|(cpuid|dirent|elf|execinfo|fcntl|"
    r"fnmatch|glob|link|netdb|poll|pthread|pwd|regex|sched|spawn|syslog|termios|"
    r"ucontext|unistd|immintrin|nmmintrin|x86intrin)\.h"
)
C_STANDARD_HEADER = re.compile(r"(%s)\.h" % "|".join(sorted(C_STANDARD)))
CPP_STANDARD_HEADER = re.compile(r"[a-z_0-9]+")  # <vector>: no dot, no slash

# Who alone includes a library's header. tests/ may include anything.
ONLY_IN = [
    (r"librdkafka/.*|rdkafka.*\.h", ["host/kafka", "plugins"]),
    (r"dlfcn\.h", ["host/worker"]),
    (r"systemd/.*", ["host/service", "host/log"]),
    (r"toml\+\+/.*|toml\.hpp", ["host/config"]),
    (r"sqlite3\.h", ["host/state"]),
    (r"rocksdb/.*", ["host/keyed_state"]),
    (r"spdlog/.*|fmt/.*", ["host/log"]),
    (r"boost/beast.*", ["host/rest", "host/cli"]),
    (r"boost/asio.*", ["host/job", "host/cli", "host/rest", "host/service", "host/metrics"]),
    (r"boost/program_options.*", ["host/cli", "host/main.cpp", "host/worker"]),
    (r"boost/interprocess/.*", ["ipc"]),
]

# Folder of host/ -> the other folders of host/ that it may include; every one may include base.
# The cores are poor on purpose: what is not in their row cannot happen in them.
HOST_EDGES = {
    "base": [],
    "log": [],
    "config": [],
    "state": [],
    "kafka": ["log"],
    "dead_letter": ["kafka"],
    "slicer": ["state/offset_list.hpp", "state/rows.hpp"],
    "supervisor": ["log", "slicer/accusation.hpp", "slicer/topic_partition.hpp"],
    "worker": ["config/placeholders.hpp", "dead_letter", "kafka", "log"],
    "plugin_catalog": ["config", "log", "supervisor", "worker/sha256.hpp"],
    "job": ["config", "kafka", "log", "plugin_catalog", "slicer", "state", "supervisor", "worker"],
    "cli": [
        "config",
        "job",
        "kafka",
        "log",
        "plugin_catalog",
        "rest",
        "slicer",
        "state",
        "supervisor",
    ],
    "rest": ["job", "kafka", "log", "slicer", "state", "supervisor"],
    "main.cpp": ["cli", "log"],
}


def includes_of(file):
    """(line, name) of each include. Commented ones do not count: their line is blank in `code`."""
    code_lines = file.code.split("\n")
    for found in INCLUDE.finditer(file.text):
        line = file.text.count("\n", 0, found.start(0)) + 1
        if "include" in code_lines[line - 1]:
            yield line, found.group(1) or found.group(2)


def libraries(file):
    """A library is included only where architecture.md says."""
    if not file.is_cpp or file.under("tests"):
        return
    for line, name in includes_of(file):
        for pattern, folders in ONLY_IN:
            if re.fullmatch(pattern, name) and not file.under(*folders):
                yield line, f"<{name}> belongs into {', '.join(folders)} only"


def directions(file):
    """ipc and the SDK stand alone, plugins know the SDK only, and nothing includes the host."""
    if not file.is_cpp or file.under("tests"):
        return
    for line, name in includes_of(file):
        problem = _direction_problem(file, name)
        if problem:
            yield line, f"includes {name}: {problem}"


def _direction_problem(file, name):
    if name.startswith("host/") and not file.under("host"):
        return "nothing outside host/ and tests/ includes the host"
    if file.under("ipc"):
        allowed = name.startswith(("ipc/", "boost/interprocess/", "boost/system/"))
        return "" if allowed or _is_system(name) else "ipc/ is built on std and Interprocess alone"
    if file.under("sdk") and file.suffix == ".h":
        own = re.fullmatch(r"sluice/(abi|ext/\w+)\.h", name)
        allowed = own or C_STANDARD_HEADER.fullmatch(name)
        return "" if allowed else "the C ABI includes C's own headers alone"
    if file.under("sdk"):
        # Its test kit and its templates' tests also use a test framework, in their .cpp files.
        sibling = "/" not in name and name.endswith(".hpp")
        allowed = sibling or name.startswith(("sluice/", "catch2/"))
        return "" if allowed or _is_system(name) else "the SDK is built on std alone"
    if file.under("plugins") and name.startswith(("ipc/", "boost/")):
        return "a plugin sees the SDK and its own client library, as a third party's does"
    return _host_problem(file, name) if file.under("host") else ""


def _host_problem(file, name):
    if name.startswith("sluice/"):
        return "" if name.endswith(".h") else "the host sees the C ABI only (names would meet)"
    if not name.startswith("host/"):
        return ""
    own = file.path.split("/")[1]
    target = name.split("/")[1]
    if target in (own, "base"):
        return ""
    if own not in HOST_EDGES:
        return f"host/{own} has no row in tests/tidy/include_rules.py yet"
    allowed = HOST_EDGES[own]
    if target in allowed or name.removeprefix("host/") in allowed:
        return ""
    return f"host/{own} may include: {', '.join(['base', *allowed])}"


def _is_system(name):
    return bool(
        CPP_STANDARD_HEADER.fullmatch(name)
        or C_STANDARD_HEADER.fullmatch(name)
        or SYSTEM.fullmatch(name)
    )
