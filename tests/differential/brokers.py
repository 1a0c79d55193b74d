"""The two brokers of a comparison, each a fresh single node on a free port, and how to speak with them."""
import json
import os
import selectors
import signal
import socket
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
START_S = 90
STOP_S = 60
NODE_ID = 1
# What both are told, so that a difference is one of behaviour.
SHARED_SETTINGS = {
    "num.partitions": "2",
    "log.retention.ms": "-1",  # the scripts' records are old
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    # Groups are as the scripts' members have made them, whenever one looks.
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.session.timeout.ms": "60000",
}


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def tail(log, lines=20):
    with open(log.name, encoding="utf-8", errors="replace") as file:
        return "".join(file.readlines()[-lines:])


class Kafka:
    name = "kafka"

    def __init__(self, jars, directory):
        port, controller_port = free_port(), free_port()
        self.address = f"127.0.0.1:{port}"
        self.directory = directory
        settings = {
            **SHARED_SETTINGS,
            "process.roles": "broker,controller",
            "node.id": NODE_ID,
            "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:{controller_port}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": f"{directory}/kafka",
        }
        path = f"{directory}/kafka.properties"
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{key}={value}\n" for key, value in settings.items())
        java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*"]
        subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", path], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.log = open(f"{directory}/kafka.log", "wb")
        self.process = subprocess.Popen([*java, "kafka.Kafka", path], stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log)
        deadline = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"Kafka did not start:\n{tail(self.log)}")
                time.sleep(0.1)

    def settle(self, asker):
        """Its answer to a change may come before the change."""
        asker.ask({"applied": str(self.process.pid)})

    def stop(self):
        # It has no state that anybody needs.
        self.process.kill()
        self.process.wait()
        self.log.close()


class Tailrace:
    name = "tailrace"

    def __init__(self, programs, directory):
        settings = {**SHARED_SETTINGS, "broker.id": NODE_ID}
        self.log = open(f"{directory}/tailrace.log", "wb")
        self.process = subprocess.Popen(
            [os.path.join(programs, "tailrace"), "up", "--data", f"{directory}/tailrace", "--listen", "127.0.0.1:0",
             *(part for key, value in settings.items() for part in ("--set", f"{key}={value}"))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            selector.select(START_S)
        line = self.process.stdout.readline().decode().strip()
        if not line.startswith("ready "):
            raise SystemExit(f"Tailrace said {line!r} instead of ready:\n{tail(self.log)}")
        self.address = line.removeprefix("ready ")

    def settle(self, asker):
        """An answer tells of what is."""

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class Asker:
    """Kafka's message classes in a process of their own (Ask.java)."""

    def __init__(self, jars, classes):
        subprocess.run(["javac", "-nowarn", "-cp", f"{jars}/*", "-d", classes, 
                        *(f"{HERE}/{name}.java" for name in ("Ask", "Tool", "Applied"))], check=True)
        self.log = open(f"{classes}/asker.log", "wb")
        self.process = subprocess.Popen(
            ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{classes}:{jars}/*", "Ask"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the asker ended at {request}:\n{tail(self.log)}")
        return json.loads(line)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()
