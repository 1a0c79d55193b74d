"""What members of a consumer group say, and whether a group may behave so.

A member, in whatever language, prints lines that begin with the time in milliseconds since 1970:

    TIME assigned TOPIC:PARTITION...      it owns these, too
    TIME revoked TOPIC:PARTITION...       it gives these up; printed when nothing is done with them any more
    TIME lost TOPIC:PARTITION...          it was told that they had been taken from it
    TIME read TOPIC:PARTITION FIRST LAST  records with these offsets, both inclusive
    TIME committed TOPIC:PARTITION NEXT   the coordinator has acknowledged this offset
    TIME note ANYTHING                    for who reads the log; once a second, so that silence shows

All run on one machine, so that times can be compared: whoever gives a partition up says so before the coordinator hears
of it, and whoever gets it says so afterwards. Only who was silent for a session has lost what it had without a word of it:
on a busy machine a process may get no time for so long.
"""
import os


class Log:
    """What one member has printed so far, and what it owns."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        self.owned, self.events = set(), []
        self.died = None  # in milliseconds, when it was killed
        self.session_ms = None  # None: no silence is an excuse
        self.at, self.rest = 0, b""

    def update(self):
        if not os.path.exists(self.path):
            return
        with open(self.path, "rb") as file:
            file.seek(self.at)
            new = file.read()
        self.at += len(new)
        *lines, self.rest = (self.rest + new).split(b"\n")
        for line in lines:
            words = line.decode(errors="replace").split()
            if len(words) < 2 or not words[0].isdigit():
                continue  # a client's own chatter
            time, word, rest = int(words[0]), words[1], words[2:]
            self.events.append((time, word, rest))
            if word == "assigned":
                self.owned |= set(rest)
            elif word in ("revoked", "lost"):
                self.owned -= set(rest)

    def silent(self, begin, end):
        """Whether it said nothing for about a session that ended between these times."""
        times = [time for time, _, _ in self.events]
        return self.session_ms is not None and any(
            after >= begin and min(after, end) - before >= 0.8 * self.session_ms
            for before, after in zip(times, times[1:] + [end]) if before < end)


def intervals(logs):
    """Partition to (begin, end, member, how it ended) of each ownership, in order of their begin."""
    found = {}
    for log in logs:
        open_since = {}

        def close(partition, end, how):
            if partition in open_since:
                found.setdefault(partition, []).append((open_since.pop(partition), end, log.name, how))

        for time, word, rest in log.events:
            for partition in rest if word in ("assigned", "revoked", "lost") else ():
                if word == "assigned":
                    open_since.setdefault(partition, time)
                else:
                    close(partition, time, word)
        last = log.events[-1][0] if log.events else 0
        for partition in list(open_since):
            close(partition, log.died or last, "killed" if log.died else "end")
    return {partition: sorted(spans) for partition, spans in found.items()}


def two_owners(logs):
    """Each time that a member got a partition while another had it."""
    by_name = {log.name: log for log in logs}
    return [f"{partition}: {a[2]} had it {a[0]}..{a[1]} ({a[3]}), {b[2]} from {b[0]}"
            for partition, spans in sorted(intervals(logs).items())
            for i, a in enumerate(spans) for b in spans[i + 1:]
            if a[2] != b[2] and b[0] < a[1] and not by_name[a[2]].silent(b[0], b[0])]


def losses(logs):
    return [f"{log.name} at {time}: {' '.join(rest)}" for log in logs for time, word, rest in log.events
            if word == "lost" and not log.silent(time - 3 * (log.session_ms or 0), time)]


def went_back(logs):
    """Each time that a partition's new owner began before what had been committed, and how many new owners there were."""
    committed = sorted((time, rest[0], int(rest[1])) for log in logs for time, word, rest in log.events if word == "committed")
    wrong, handovers = [], 0
    for log in logs:
        fresh = {}  # partition: when it was assigned, until the first record is read
        for time, word, rest in log.events:
            if word == "assigned":
                fresh.update(dict.fromkeys(rest, time))
            elif word == "read" and rest[0] in fresh:
                since = fresh.pop(rest[0])
                before = [offset for at, partition, offset in committed if partition == rest[0] and at < since]
                handovers += bool(before)
                if before and int(rest[1]) < max(before):
                    wrong.append(f"{log.name} read {rest[0]} from {rest[1]} on at {time}, though {max(before)} was committed")
    return wrong, handovers


def history(logs, partition, offset):
    """What was said of a partition about the time when records behind this offset were read."""
    lines = sorted((time, log.name, word, rest) for log in logs for time, word, rest in log.events if partition in rest)
    at = next((i for i, (_, _, word, rest) in enumerate(lines) if word == "read" and int(rest[1]) > offset), len(lines))
    return [" ".join(map(str, (time, name, word, *(rest if word in ("read", "committed") else [partition]))))
            for time, name, word, rest in lines[max(0, at - 12):at + 3]]


def unread(logs, ends):
    """Offsets that nobody has read, as partition: (first, end), of partitions that end at `ends`."""
    ranges = {}
    for log in logs:
        for _, word, rest in log.events:
            if word == "read":
                ranges.setdefault(rest[0], []).append((int(rest[1]), int(rest[2]) + 1))
    missing = {}
    for partition, end in ends.items():
        at = 0
        for first, behind in sorted(ranges.get(partition, [])):
            if first > at:
                break
            at = max(at, behind)
        if at < end:
            missing[partition] = (at, end)
    return missing
