"""Two workers of Kafka Connect in distributed mode, as one group: started, asked, ended."""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

from processes import SideFailed, Watched
from sides import CONNECT_JVM
from streams import BOUND

START_LIMIT_S = 300
ASK_LIMIT_S = 5
LOOK_S = 0.25
REPLICATED = ("config", "offset", "status")
SOURCE = "FaultSink.java"


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def compile_sink(source_folder, kafka_libs, folder):
    """The folder of classes to add to a worker's class path. Requires: javac."""
    if shutil.which("javac") is None:
        raise SideFailed("javac is not there: Kafka Connect's faulty sink cannot be compiled")
    classes = folder / "classes"
    services = classes / "META-INF/services"
    services.mkdir(parents=True)
    (services / "org.apache.kafka.connect.sink.SinkConnector").write_text("FaultSink\n")
    made = subprocess.run(["javac", "-cp", kafka_libs / "*", "-d", classes, source_folder / SOURCE],
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise SideFailed(f"javac {SOURCE}: {made.stderr}")
    return classes


class ConnectWorker:
    """One JVM. `settings` are lines of its worker configuration beside what it needs. Its group and
    the topics of that are named after `folder`: a group of an earlier scene would bring its
    connectors back, the one whose record kills included."""

    def __init__(self, kafka_libs, classes, bootstrap, folder, name, settings):
        group = f"beside-{folder.name}"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.worker_id = f"127.0.0.1:{self.port}"
        converter = "org.apache.kafka.connect.storage.StringConverter"
        lines = [f"bootstrap.servers={bootstrap}", f"listeners={self.url}",
                 f"key.converter={converter}", f"value.converter={converter}",
                 f"group.id={group}", "plugin.discovery=service_load"]
        for topic in REPLICATED:
            lines += [f"{topic}.storage.topic={group}-{topic}",
                      f"{topic}.storage.replication.factor=1"]
        properties = folder / f"{name}.properties"
        properties.write_text("\n".join([*lines, *settings]) + "\n")
        command = [*BOUND, "java", *CONNECT_JVM, "-cp", f"{kafka_libs / '*'}:{classes}"]
        command += ["org.apache.kafka.connect.cli.ConnectDistributed", properties]
        self.process = Watched(command, folder / f"{name}.log", silent=True)

    def ask(self, method, path, body=None):
        """What it answers, parsed. Raises OSError (also for HTTP's errors)."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=ASK_LIMIT_S) as answer:
            return json.loads(answer.read() or b"null")

    def leader_url(self):
        """Of the group, as its log last named it."""
        found = re.findall(r"leaderUrl='([^']+)'",
                           self.process.log.read_text(errors="replace"))
        return found[-1].rstrip("/") if found else None


class ConnectCluster:
    """Two workers. Ask any of them that lives."""

    def __init__(self, kafka_libs, classes, bootstrap, folder, settings=()):
        self.workers = []
        self._stack = contextlib.ExitStack()
        try:
            for name in ("connect-1", "connect-2"):
                worker = ConnectWorker(kafka_libs, classes, bootstrap, folder, name, settings)
                self._stack.enter_context(worker.process)
                self.workers.append(worker)
            for worker in self.workers:
                self._await(lambda worker=worker: worker.ask("GET", "/connectors") is not None,
                            "REST")
        except BaseException:
            self._stack.close()
            raise

    def living(self):
        return [worker for worker in self.workers if worker.process.is_running()]

    def add(self, name, config):
        self._await(lambda: self.workers[0].ask("PUT", f"/connectors/{name}/config", config), name)

    def status(self, name):
        """Of the connector's only task, and who runs it; from any worker that answers."""
        for worker in self.living():
            with contextlib.suppress(OSError, ValueError, IndexError, KeyError):
                task = worker.ask("GET", f"/connectors/{name}/status")["tasks"][0]
                return task["state"], task["worker_id"]
        return "no answer", None

    def await_running(self, names):
        for name in names:
            self._await(lambda name=name: self.status(name)[0] == "RUNNING", name)

    def _await(self, holds, what):
        give_up = time.monotonic() + START_LIMIT_S
        while True:
            with contextlib.suppress(OSError, ValueError):
                if holds():
                    return
            ended = [each.process for each in self.workers if not each.process.is_running()]
            if ended or time.monotonic() > give_up:
                worker = (ended or [self.workers[0].process])[0]
                raise SideFailed(f"Kafka Connect: {what}: not in time: {worker.tail()}")
            time.sleep(LOOK_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()


def file_connector(topic, file):
    return {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "topics": topic, "tasks.max": "1", "file": str(file)}


def fault_connector(topic, file, more=None):
    return {"connector.class": "FaultSink", "topics": topic, "tasks.max": "1", "file": str(file),
            **(more or {})}
