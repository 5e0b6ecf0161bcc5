"""Processes under measurement: started, watched in /proc while they run, reaped with their CPU."""

import json
import os
import pathlib
import select
import signal
import subprocess
import threading
import time

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SAMPLE_S = 0.05
LOOK_AGAIN_S = 0.2
IDLE_WANTED = 0.85
IDLE_WINDOW_S = 0.5


class SideFailed(Exception):
    """A side of a bar could not be measured; the others go on."""


def cpu_s(pid):
    """User and system time of one living process, its reaped ones not included."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def cpu_of_threads_s(pid):
    """The same of the threads that live now, in nanoseconds and not in ticks of 10 ms."""
    total_ns = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total_ns += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total_ns / 1e9


def rss_bytes(pid):
    """Resident memory; 0 if it is gone."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    except (FileNotFoundError, ProcessLookupError):
        return 0


def processes_below(pid):
    """`pid` and everything it has started that still lives."""
    found = [pid]
    for each in found:
        try:
            for task in pathlib.Path(f"/proc/{each}/task").iterdir():
                found += [int(text) for text in (task / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


class Watched:
    """A process whose tree's resident memory is looked at every 50 ms; its stderr (with `silent`
    stdout too) goes into `log`. As a context manager it is killed at the end if it still runs."""

    def __init__(self, command, log, silent=False):
        self.command = [str(part) for part in command]
        self.log = pathlib.Path(log)
        self.rss_peak_bytes = 0
        self.rss_peak_parts = []
        self.started_s = time.monotonic()
        with self.log.open("wb") as errors:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=errors if silent else subprocess.PIPE,
                stderr=errors,
                bufsize=0,
            )
        self.pid = self.process.pid
        self.usage = None
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def _sample(self):
        while not self._ended.wait(SAMPLE_S):
            parts = [rss_bytes(pid) for pid in processes_below(self.pid)]
            if sum(parts) > self.rss_peak_bytes:
                self.rss_peak_bytes, self.rss_peak_parts = sum(parts), parts

    def wait(self, limit_s):
        """What it printed. Raises SideFailed if it fails or is not over in time."""
        timer = threading.Timer(limit_s, self.kill)
        timer.start()
        out = self.process.stdout.read().decode()
        code = self._reap()
        timer.cancel()
        if code != 0:
            raise SideFailed(f"{' '.join(self.command[:3])}... ended with {code}: {self.tail()}")
        return out

    def lines(self, limit_s, goes_on):
        """Its lines as they come, until it ends, `limit_s` have passed or goes_on() says no."""
        give_up = time.monotonic() + limit_s
        while goes_on() and time.monotonic() < give_up:
            ready, _, _ = select.select([self.process.stdout], [], [], LOOK_AGAIN_S)
            if ready:
                line = self.process.stdout.readline().decode()
                if not line:
                    return
                yield line

    def is_running(self):
        """Looks without reaping: the CPU time of the process comes with that."""
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return self.usage is None and os.waitid(os.P_PID, self.pid, look) is None

    def _reap(self):
        if self.usage is None:
            _, status, self.usage = os.wait4(self.pid, 0)
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self._ended.set()
            self._sampler.join()
        return self.process.returncode

    def kill(self):
        if self.usage is None:
            os.kill(self.pid, signal.SIGKILL)

    def tail(self):
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return " | ".join(lines[-3:]) or "nothing on stderr"

    def cpu_total_s(self):
        """Requires: reaped. Of all its life, and of every process below it that it has reaped."""
        return self.usage.ru_utime + self.usage.ru_stime

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self._reap()


def run_json(commands, folder, limit_s):
    """Starts all commands at once; for each the parsed last line of its output and its Watched."""
    running = []
    try:
        for index, command in enumerate(commands):
            running.append(Watched(command, folder / f"side-{index}.log"))
        return [(json.loads(each.wait(limit_s).strip().splitlines()[-1]), each) for each in running]
    except (ValueError, IndexError) as wrong:
        raise SideFailed(f"{commands[0][0]}: no line of JSON: {wrong}") from wrong
    finally:
        for each in running:
            each.__exit__()


def idle_share():
    """Of all cores, over half a second."""

    def look():
        first_line = pathlib.Path("/proc/stat").read_text().split("\n")[0]
        ticks = [int(text) for text in first_line.split()[1:9]]
        return ticks[3] + ticks[4], sum(ticks)

    idle, total = look()
    time.sleep(IDLE_WINDOW_S)
    idle_after, total_after = look()
    return (idle_after - idle) / max(1, total_after - total)


def await_idle(limit_s):
    """Waits for idle cores, at most so long; the idle share it ended with."""
    give_up = time.monotonic() + limit_s
    while True:
        share = idle_share()
        if share >= IDLE_WANTED or time.monotonic() > give_up:
            return share
