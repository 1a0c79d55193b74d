#!/usr/bin/python3
"""Sends the same requests to Apache Kafka 4.4.0 and to Tailrace and compares the decoded answers field by field.

usage: run.py --programs DIR [--jars DIR] [--verbose] [SCENARIO...] | --update-docs

A scenario (scenarios_*.py) is a function that asks one broker; it is run for each of the two, fresh nodes both. What is
by its nature different (ids, hosts, ports, the present time, sizes of disks) is replaced before the comparison. A
difference that differences.json does not list with its reason is a failure, and so is one that it lists and that was not
seen (when all scenarios ran); docs/compatibility.md has their table. The last line is `N passed, N failed`; 77: the toolchain is
not there, or Kafka cannot be fetched.
"""
import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import brokers
import scenarios

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = f"{HERE}/../../docs/compatibility.md"
TABLE_HEAD = "| where Tailrace differs | why |\n|---|---|\n"
NOW_MIN_MS = 1_750_000_000_000  # scripts use older timestamps than this; newer ones are the present
ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"

HIDDEN = {
    "clusterId": "cluster", "host": "host", "port": "port", "brokerEpoch": "epoch", "logDir": "directory",
    "totalBytes": "bytes", "usableBytes": "bytes",
}

# Those that a coordinator makes up.
GIVEN_MEMBER_ID = re.compile(r".*-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[\w-]{22}", re.DOTALL)

# In what tools print.
ALWAYS_HIDDEN = (
    (r"TopicId: \S+", "TopicId: <id>"),
    (r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[.,]?\d*", "<now>"),
)


class Session:
    """What a scenario speaks with: one broker, and a record of what was asked and answered."""

    def __init__(self, scenario, broker, asker, versions):
        self.scenario, self.broker, self.asker, self.table = scenario, broker, asker, versions
        self.steps = []
        self.names = {}

    def versions(self, api):
        return self.table[api]

    def ask_broker(self, request):
        """Ends when what was asked for has taken effect, too: what comes next must see it."""
        answer = self.asker.ask({"to": self.broker.address, **request})
        self.broker.settle(self.asker)
        return answer

    def ask(self, api, body, version=None, note="", connection="main", **options):
        """One request in one version (the newest where none is given). Returns the answer as it came, {} without one."""
        version = self.versions(api)[-1] if version is None else version
        answer = self.ask_broker({"connection": f"{self.scenario}-{connection}", "api": api, "version": version, "body": body,
                                  **options})
        self.note(f"{api} v{version} {note}".strip(), answer)
        return answer.get("body") or {}

    def ask_all(self, api, body, note="", **options):
        """In every version; `body` may be a function of the version."""
        return [self.ask(api, body(version) if callable(body) else body, version, note, **options)
                for version in self.versions(api)]

    def begin(self, api, body, connection):
        """Asks what is answered only when others have asked, too; the answer is for `end`."""
        self.asker.ask({"to": self.broker.address, "connection": f"{self.scenario}-{connection}", "api": api,
                        "version": self.versions(api)[-1], "body": body, "later": True})

    def end(self, api, note, connection):
        version = self.versions(api)[-1]
        self.note(f"{api} v{version} {note}", self.ask_broker({"connection": f"{self.scenario}-{connection}", "api": api,
                                                               "version": version, "read": True}))

    def quietly(self, api, body, version=None, until=None, connection="quiet"):
        """To prepare something, or to wait for it: not compared. Asks again while `until` does not hold."""
        deadline = time.monotonic() + 30
        while True:
            answer = self.ask_broker({"connection": f"{self.scenario}-{connection}", "api": api,
                                      "version": self.versions(api)[-1] if version is None else version, "body": body})
            body_of = answer.get("body") or {}
            if until is None or until(body_of):
                if "memberId" in body_of:
                    self.plain(body_of)  # names it
                return body_of
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.scenario}: {self.broker.name} still answers {short(body_of)} to {api} {body}")
            time.sleep(0.05)

    def raw(self, frame, note, connection="raw", **options):
        """A frame as bytes, on a connection of its own."""
        where = {"connection": f"{self.scenario}-{connection}"}
        answer = self.ask_broker({**where, "raw": frame.hex(), **options})
        if "raw" in answer:
            port = f"{int(self.broker.address.split(':')[1]):08x}"
            answer = {"raw": answer["raw"][8:].replace(port, "<port>")}  # without the correlation id
        self.note(note, answer)
        self.ask_broker({**where, "hang_up": True})

    def tool(self, name, *arguments, sorted_lines=False, files=None, errors=False, hide=(), alone=False, without=None):
        """One of Kafka's tools; `files` are written to a directory that {dir} in the arguments names. What it printed is
        compared line by line, and on stderr too where `errors` is set; `hide`: patterns of what differs by its nature; `alone`: in a process of its own;
        `without`: a pattern of lines that are there by chance."""
        directory = tempfile.mkdtemp(prefix="tailrace-tool-")
        label = f"{name} {' '.join(arguments)}"
        try:
            for path, text in (files or {}).items():
                with open(f"{directory}/{path}", "w", encoding="utf-8") as file:
                    file.write(text)
            answer = self.ask_broker({"tool": f"org.apache.kafka.tools.{name}", "alone": alone,
                                      "arguments": [a.replace("{dir}", directory).replace("{broker}", self.broker.address)
                                                    for a in arguments]})
        finally:
            shutil.rmtree(directory)
        if answer["status"] < 0:
            raise SystemExit(f"{label} did not end, of {self.broker.name}")
        if not errors or answer["status"] == 0:
            del answer["errors"]  # warnings of logging libraries
        for lines in (key for key in ("lines", "errors") if key in answer):
            text = [self.plain(line.replace("\t", "  ")) for line in answer[lines] if not line.startswith("\tat ")]
            if without:
                text = [line for line in text if not re.search(without, line)]
            for pattern, replacement in (*ALWAYS_HIDDEN, *hide):
                text = [re.sub(pattern, replacement, line) for line in text]
            answer[lines] = dict(enumerate(sorted(text) if sorted_lines else text))
        self.steps.append((label, answer))

    def note(self, label, answer):
        self.steps.append((label, self.plain(answer)))

    def name(self, kind, value):
        names = self.names.setdefault(kind, {})
        return names.setdefault(value, f"<{kind} {len(names) + 1}>")

    def plain(self, value, field=""):
        """The value with what differs by its nature replaced, arrays of structures in an order of their own."""
        if isinstance(value, dict):
            return {key: self.plain(value[key], key) for key in sorted(value)}
        if isinstance(value, list):
            plain = [self.plain(each) for each in value]
            if plain and isinstance(plain[0], dict):
                plain.sort(key=lambda each: json.dumps(each, sort_keys=True))
            return plain
        if isinstance(value, str):
            if field in HIDDEN:
                return f"<{HIDDEN[field]}>"
            if field == "topicId" and value != ZERO_ID:
                self.name("id", value)
            if field in ("memberId", "leader") and GIVEN_MEMBER_ID.fullmatch(value):
                self.name("member", value)
            for names in (self.names.get("id", {}), self.names.get("member", {})):
                for own, name in names.items():
                    value = value.replace(own, name)
            return value.replace(self.broker.address, "<address>").replace(self.broker.address.split(":")[1], "<port>")
        if isinstance(value, int) and not isinstance(value, bool):
            if field in HIDDEN and value > 0:
                return f"<{HIDDEN[field]}>"
            if field == "throttleTimeMs" and value > 0:
                return "<time>"
            if field == "producerId" and value >= 0:
                return self.name("producer", value)
            if field == "sessionId" and value > 0:
                return self.name("session", value)
            if value > NOW_MIN_MS:
                return "<now>"
        return value


ABSENT = "nothing"


def differences(left, right, path=""):
    """[(path, left, right)] of two plain answers; elements of arrays go by what names them where something does."""
    if isinstance(left, dict) and isinstance(right, dict):
        return [row for key in sorted(left.keys() | right.keys())
                for row in differences(left.get(key, ABSENT), right.get(key, ABSENT), f"{path}.{key}" if path else key)]
    if isinstance(left, list) and isinstance(right, list):
        ours, theirs = by_name(left), by_name(right)
        return [row for name in sorted(ours.keys() | theirs.keys())
                for row in differences(ours.get(name, ABSENT), theirs.get(name, ABSENT), f"{path}[{name}]")]
    return [] if left == right and type(left) is type(right) else [(path, left, right)]


def by_name(elements):
    named = {}
    for each in elements:
        name, count = element_name(each), 1
        while (key := name if count == 1 else f"{name}#{count}") in named:
            count += 1
        named[key] = each
    return named


def element_name(element):
    if not isinstance(element, dict):
        return str(element)
    names = [str(element[key]) for key in ("apiKey", "name", "topicName", "topic", "resourceType", "resourceName", "entityType", "entityName",
                                           "key", "partitionIndex", "partition", "partitionId", "index", "brokerId", "nodeId",
                                           "batchIndex", "producerId", "groupId", "memberId") if element.get(key) is not None]
    parts = [element_name(each) for each in element.get("entity", [])]  # of quotas
    return "/".join(names + parts) or str(element.get("topicId", ""))


def compare(scenario, kafka, tailrace):
    """[(step, path, Kafka's value, ours)]"""
    nothing = ("no such step", ABSENT)
    return [(f"{scenario}: {left[0] if left != nothing else right[0]}", *row)
            for left, right in itertools.zip_longest(kafka, tailrace, fillvalue=nothing)
            for row in differences(left[1], right[1])]


class Known:
    """differences.json: [{"what", "reason": texts of docs/compatibility.md, "steps", "fields": patterns with * and ?}]"""

    def __init__(self):
        with open(f"{HERE}/differences.json", encoding="utf-8") as file:
            self.rows = json.load(file)
        self.seen = [False] * len(self.rows)
        for row in self.rows:
            row["patterns"] = [[self.pattern(text) for text in row[key]] for key in ("steps", "fields")]

    @staticmethod
    def pattern(text):
        return re.compile(re.escape(text).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)

    def covers(self, step, field):
        covered = False
        for i, row in enumerate(self.rows):
            steps, fields = row["patterns"]
            if any(p.fullmatch(step) for p in steps) and any(p.fullmatch(field) for p in fields):
                self.seen[i] = covered = True
        return covered

    def table(self):
        return "".join(f"| {row['what']} | {row['reason']} |\n" for row in self.rows)

    def check_docs(self):
        """docs/compatibility.md has the same table."""
        with open(DOCS, encoding="utf-8") as file:
            return self.table() in file.read()

    def write_docs(self):
        with open(DOCS, encoding="utf-8") as file:
            before, rest = file.read().split(TABLE_HEAD)
        after = rest[re.match(r"(\|.*\n)*", rest).end():]
        with open(DOCS, "w", encoding="utf-8") as file:
            file.write(before + TABLE_HEAD + self.table() + after)


def short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"


def advertised(asker, broker):
    """{api name: versions}"""
    keys = asker.ask({"to": broker.address, "connection": "versions", "api": "ApiVersions", "version": 0, "body": {}})
    return {row["apiKey"]: range(row["minVersion"], row["maxVersion"] + 1) for row in keys["body"]["apiKeys"]}


def table_of(asker, kafka, tailrace):
    """{api name: versions to try}: those of both brokers; Kafka's where Tailrace has none, so that this shows."""
    ours, theirs = advertised(asker, tailrace), advertised(asker, kafka)
    names = asker.ask({"names": True})
    both = {}
    for key, name in ((int(k), n) for k, n in names.items()):
        versions = theirs.get(key, range(0))
        both[name] = range(max(versions.start, ours[key].start), min(versions.stop, ours[key].stop)) if key in ours else versions
    return both


def find_jars():
    """The cache that tests/clients fills."""
    if not shutil.which("javac"):
        print("skipped: no javac")
        raise SystemExit(77)
    script = ('check=differential; . ./lib.sh; . java/lib.sh; kafka_jars 4.4.0; echo "$jars"')
    result = subprocess.run(["bash", "-c", script], cwd=f"{HERE}/../clients", capture_output=True, text=True, check=False)
    if result.returncode != 0:
        print(result.stdout.strip() or result.stderr.strip())
        raise SystemExit(result.returncode)
    return result.stdout.strip().splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", help="directory with tailrace and its services")
    parser.add_argument("--update-docs", action="store_true", help="write the table of docs/compatibility.md, and end")
    parser.add_argument("--jars", help="directory with Kafka 4.4.0's jars; fetched with Maven where none is given")
    parser.add_argument("--verbose", action="store_true", help="print every answer")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(scenarios.ALL)}; all by default")
    options = parser.parse_args()
    known = Known()
    if options.update_docs:
        known.write_docs()
        return 0
    if not options.programs:
        parser.error("--programs is needed")
    for name in options.scenarios:
        if name not in scenarios.ALL:
            parser.error(f"no scenario is named {name}")
    jars = options.jars or find_jars()
    names = options.scenarios or list(scenarios.ALL)
    directory = tempfile.mkdtemp(prefix="tailrace-differential-")
    started = []
    try:
        started.append(asker := brokers.Asker(jars, directory))
        started.append(kafka := brokers.Kafka(jars, directory))
        started.append(tailrace := brokers.Tailrace(os.path.abspath(options.programs), directory))
        versions = table_of(asker, kafka, tailrace)
        passed = failed = 0
        for name in names:
            sessions = [Session(name, broker, asker, versions) for broker in (kafka, tailrace)]
            for session in sessions:
                scenarios.ALL[name](session)
            if options.verbose:
                for label, answer in sessions[1].steps:
                    print(f"# {name}: {label}: {json.dumps(answer)}")
            different = compare(name, sessions[0].steps, sessions[1].steps)
            unknown = [row for row in different if not known.covers(row[0], row[1])]
            for step, path, expected, actual in unknown:
                print(f"  {step}: {path}: Kafka {short(expected)}, Tailrace {short(actual)}")
            print(f"{'not ok' if unknown else 'ok'} - {name}: {len(sessions[0].steps)} answers"
                  f"{f', {len(unknown)} fields differ' if unknown else ''}", flush=True)
            passed, failed = (passed, failed + 1) if unknown else (passed + 1, failed)
        if not options.scenarios:
            for row, seen in zip(known.rows, known.seen):
                if not seen:
                    failed += 1
                    print(f"not ok - a known difference is none any more: {row['what']}")
            if not known.check_docs():
                failed += 1
                print("not ok - docs/compatibility.md has another table of differences; run.py --update-docs writes it")
        print(f"{passed} passed, {failed} failed")
        return 1 if failed else 0
    finally:
        for each in reversed(started):
            each.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
