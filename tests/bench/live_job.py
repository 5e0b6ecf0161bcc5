"""A persistent job under measurement from outside: the real `sluice run` with the stamp sink, whose
stamps say by CLOCK_MONOTONIC what was processed when and by whom (stamp_sink.cpp)."""

import collections
import json
import os
import pathlib
import re
import signal
import struct
import time

from processes import SideFailed, Watched, processes_below

STAMP = struct.Struct("<Qqqiiii")
PROCESSED, HANGS = 0, 1
LOOK_S = 0.002
START_LIMIT_S = 30
RESUME_LIMIT_S = 20
STOP_LIMIT_S = 60
SETTLE_S = 0.2  # from a worker's process to its READY, with room
RECENT_NS = 300_000_000

Stamp = collections.namedtuple("Stamp", "at_ns first last pid partition records kind")


def workers_of(host_pid):
    """{slot: pid} of the workers that live now, by their titles."""
    found = {}
    for pid in processes_below(host_pid)[1:]:
        try:
            title = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        named = re.fullmatch(r"sluice-worker: .*/(\d+)", title)
        if named:
            found[int(named.group(1))] = pid
    return found


def toml_of(keys):
    """Keys and values as a job file; json's strings and numbers are TOML's."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


class LiveJob:
    """Started in `with`, killed at its end unless stop() was called."""

    def __init__(self, sides, name, topics, keys, stamps=True):
        sides.runs += 1
        self.name = f"bench-{name}-{os.getpid()}-{sides.runs}"
        self.stamp_file = sides.scratch / f"{self.name}.stamps"
        self.hang_file = sides.scratch / f"{self.name}.hang"
        sink = {"connector.class": "null"}
        if stamps:
            sink = {"connector.class": "stamp", "stamps": str(self.stamp_file),
                    "hang.file": str(self.hang_file)}
        job = sides.folder / f"{self.name}.toml"
        job.write_text(toml_of({"name": self.name, "mode": "persistent", "topics": topics,
                                **sink, **keys}))
        command = [sides.bin / "sluice", "run", job, "--bootstrap-servers", sides.bootstrap]
        command += ["--plugin-path", sides.bin.parent / "bench_plugins", "--json"]
        command += ["--state-dir", sides.folder / f"{self.name}.state"]
        self.host = Watched(command, sides.folder / f"{self.name}.log")
        self._read = 0
        self._seen = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.host.__exit__()
        self.stamp_file.unlink(missing_ok=True)
        self.hang_file.unlink(missing_ok=True)

    def workers(self):
        return workers_of(self.host.pid)

    def stamps(self):
        """All stamps so far, as they were written."""
        if self.stamp_file.exists():
            with self.stamp_file.open("rb") as file:
                file.seek(self._read)
                fresh = file.read()
            fresh = fresh[:len(fresh) - len(fresh) % STAMP.size]
            self._read += len(fresh)
            self._seen += [Stamp(*each) for each in STAMP.iter_unpack(fresh)]
        return self._seen

    def owners(self):
        """{partition: pid} by the stamps of the last moment."""
        since_ns = time.monotonic_ns() - RECENT_NS
        return {each.partition: each.pid for each in self.stamps()[-2000:] if each.at_ns > since_ns}

    def wait_for(self, what, is_there, limit_s=RESUME_LIMIT_S):
        give_up = time.monotonic() + limit_s
        while not is_there():
            if time.monotonic() > give_up:
                raise SideFailed(f"{self.name}: not in {limit_s} s: {what}: {self.host.tail()}")
            if not self.host.is_running():
                raise SideFailed(f"{self.name}: ended: {self.host.tail()}")
            time.sleep(LOOK_S)

    def await_running(self, workers, partitions):
        """All processes up, and every partition at work."""
        self.wait_for(f"{workers} workers", lambda: len(self.workers()) == workers, START_LIMIT_S)
        self.wait_for(f"{partitions} partitions at work",
                      lambda: len({each.partition for each in self.stamps()}) >= partitions)
        self.await_workers(workers)

    def await_workers(self, count):
        self.wait_for(f"{count} workers", lambda: len(self.workers()) == count)
        time.sleep(SETTLE_S)

    def first_elsewhere_ns(self, partitions, dead_pid, since_ns):
        """When each of `partitions` had its first record from another process after `since_ns`;
        waits for it."""
        found, start = {}, max(0, len(self.stamps()) - 5000)

        def look():
            nonlocal start
            seen = self.stamps()
            for each in seen[start:]:
                if each.kind == PROCESSED and each.at_ns > since_ns and each.pid != dead_pid:
                    found.setdefault(each.partition, each.at_ns)
            start = len(seen)
            return partitions <= found.keys()

        self.wait_for(f"{len(partitions)} partitions of a dead worker go on", look)
        return {partition: found[partition] for partition in partitions}

    def stop(self):
        """Drains; what the job says of itself at its end."""
        os.kill(self.host.pid, signal.SIGTERM)
        return json.loads(self.host.wait(STOP_LIMIT_S).strip().splitlines()[-1])


def progress_of(stamps, begin_ns, end_ns):
    """Records that were processed for the first time in that span, and the holes: ranges of a
    partition that no stamp covers although a later one is there. Requires: offsets without gaps."""
    reached, ranges, records = {}, collections.defaultdict(list), 0
    for each in sorted(stamps):
        if each.kind != PROCESSED:
            continue
        ranges[each.partition].append((each.first, each.last + 1))
        known = reached.get(each.partition, 0)
        if each.last + 1 > known:
            reached[each.partition] = each.last + 1
            if begin_ns <= each.at_ns < end_ns:
                records += each.last + 1 - max(known, each.first)
    holes = []
    for partition, spans in ranges.items():
        covered = 0
        for first, end in sorted(spans):
            if first > covered:
                holes.append((partition, covered, first))
            covered = max(covered, end)
    return records, holes, reached
