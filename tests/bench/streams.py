"""Records at a steady pace into one topic, and when their lines come out of a sink's file."""

import pathlib
import subprocess
import threading
import time

from processes import SideFailed, Watched

TICK_S = 0.2
LOOK_S = 0.02
COMMAND_LIMIT_S = 60
# Its process may not outlive whoever started it, however that ends.
BOUND = ("setpriv", "--pdeathsig", "KILL")


def new_topic(bin_folder, bootstrap, topic, log):
    command = [bin_folder / "bench_produce", "--bootstrap", bootstrap, "--topic", topic]
    with Watched([*command, "--records", 0, "--partitions", 1], log) as produce:
        produce.wait(COMMAND_LIMIT_S)


class Ticker:
    """A record every 0.2 s, and those that say() adds. Kafka's console producer, so that no side
    brings its own."""

    def __init__(self, kafka_libs, bootstrap, topic, log):
        command = [*BOUND, "java", "-Xmx128M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["-cp", str(kafka_libs / "*"), "org.apache.kafka.tools.ConsoleProducer"]
        command += ["--bootstrap-server", bootstrap, "--topic", topic]
        command += ["--command-property", "linger.ms=0"]
        self._lock = threading.Lock()
        self._ended = threading.Event()
        with pathlib.Path(log).open("wb") as errors:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=errors,
                                             stderr=errors)
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._thread.start()

    def _tick(self):
        number = 0
        while not self._ended.wait(TICK_S):
            number += 1
            try:
                self.say(f"tick {number}")
            except (BrokenPipeError, ValueError):
                return

    def say(self, value):
        with self._lock:
            self._process.stdin.write(value.encode() + b"\n")
            self._process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
        self._process.kill()
        self._process.wait()


class Arrivals:
    """When lines were added to `file`: looked at every 20 ms, by the monotonic clock. A line that
    comes again counts again."""

    def __init__(self, file):
        self.file = pathlib.Path(file)
        self.at_s = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        read = 0
        while not self._ended.wait(LOOK_S):
            try:
                with self.file.open("rb") as lines:
                    lines.seek(read)
                    new = lines.read()
            except FileNotFoundError:
                continue
            read += len(new)
            self.at_s += [time.monotonic()] * new.count(b"\n")

    def await_more(self, limit_s, what):
        """Returns when lines come that were not there at the call."""
        seen, give_up = len(self.at_s), time.monotonic() + limit_s
        while len(self.at_s) == seen:
            if time.monotonic() > give_up:
                raise SideFailed(f"{what}: no record in {limit_s} s")
            time.sleep(LOOK_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
