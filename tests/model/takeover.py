"""Model of a journal in an object store, whose writer can be replaced at any time.

The journal is a sequence of objects, the segments 1, 2, 3, …, each made by a put that fails if the
object exists. A process becomes the writer ("leads") by making the next segment, the head of its
term. So the next put of the writer before it fails: it is fenced, whether it stood still, was cut
off, or has a slow clock. A heartbeat, an object of the term that the writer replaces every few
seconds, tells others when to try: after EXPIRE without a change. So until EXPIRE after the begin of
its last heartbeat a writer is certain that no other has begun, and may speak without a put. A
heartbeat that arrives later than that proves nothing, since another may have decided before: then
the writer makes a segment without events. A snapshot stands for all segments up to its number. They
are deleted then, but never a head: a fenced writer that wakes would make it again. A new writer
lists the journal after its head: a number that it found free may have been used and deleted before.

    python3 takeover.py --seeds 0-1999              # must print 0 violations
    python3 takeover.py --seeds 0-1999 --bug NAME   # must find one

A seed draws the processes, their speeds, and faults: requests that are late (they take effect after
others), answers that are lost, processes that stand still, wake, or end. Facts that are checked:

- An event that a writer has acknowledged is in the journal of every later writer, at its number.
- Two writers never acknowledge one number.
- A writer does not speak after another has begun.
- After the last fault, a process leads, writes and speaks.
"""

import argparse
import random
import sys

BUGS = {
    "overwrite": "a segment is written by a put without a condition",
    "assume_own": "a segment that exists is taken for one's own earlier try",
    "no_head": "a new writer begins without a segment of its own",
    "delete_heads": "the heads of terms are deleted, too",
    "delete_first": "segments are deleted before their snapshot is stored",
    "no_second_look": "a head is trusted although its number may have been deleted",
    "speak_always": "a writer speaks without being certain that it leads",
    "heartbeat_is_enough": "a late heartbeat makes the writer certain",
    "no_third_look": "the heartbeat is not read again after the journal was",
}
BEAT = 5  # ticks between heartbeats
EXPIRE = 15  # ticks without a change of the heartbeat after which others try
COMPACT = 6  # segments before a snapshot


class Violation(Exception):
    pass


class Store:
    """Objects. A request takes effect when it arrives, which may be late."""

    def __init__(self):
        self.objects = {}

    def make(self, name, value, condition=True):
        if condition and name in self.objects:
            return False
        self.objects[name] = value
        return True


class Process:
    """A generator of requests: yields (verb, name, value), gets the answer, or None if it is lost."""

    def __init__(self, name, world):
        self.name = name
        self.world = world
        self.steps = self.life()
        self.request = None
        self.answers = []  # that came while it stood still
        self.asleep_until = 0
        self.leads = False
        self.certain = 0  # that it leads, until then

    def life(self):
        while True:
            yield from self.wait_for_lead()
            yield from self.lead()
            self.leads = False

    # ---- opening

    def ask(self, verb, name=None, value=None):
        """Repeats a request until its answer comes. Returns (answer, tries)."""
        tries = 0
        while True:
            tries += 1
            answer = yield (verb, name, value)
            if answer is not None:
                return answer, tries

    def put_new(self, name, value):
        """Returns True if the object is this process's now."""
        if self.world.bug == "overwrite":
            yield from self.ask("put", name, value)
            return True
        made, _ = yield from self.ask("make", name, value)
        if made:
            return True
        if self.world.bug == "assume_own":
            return True
        there, _ = yield from self.ask("get", name)
        return there == ("found", value)

    def load(self):
        """Returns (events, next segment, term, heads), or None if the journal changed meanwhile."""
        names, _ = yield from self.ask("list")
        snapshots = sorted(n for kind, n in names if kind == "snapshot")
        events, number, term, heads = [], 0, 0, []
        if snapshots:
            number = snapshots[-1]
            got, _ = yield from self.ask("get", ("snapshot", number))
            if got[0] != "found":
                return None  # a later one has replaced it
            events, term, heads = list(got[1][0]), got[1][1], list(got[1][2])
        last = max((n for kind, n in names if kind == "segment"), default=0)
        while True:
            got, _ = yield from self.ask("get", ("segment", number + 1))
            if got[0] != "found":
                if number < last:
                    return None  # compacted meanwhile; else the journal is damaged
                return events, number + 1, term, heads
            number += 1
            _, its_term, more = got[1]
            if its_term > term:
                term = its_term
                heads.append(number)
            events += more

    def wait_for_lead(self):
        while True:
            loaded = yield from self.load()
            if loaded is None:
                self.world.count_reload(self)
                continue
            events, number, term, heads = loaded
            seen, since = None, self.world.now
            while True:
                beat, _ = yield from self.ask("get", ("beat", term))
                if beat != seen:
                    seen, since = beat, self.world.now
                if term == 0 or self.world.now - since >= EXPIRE:
                    break
            loaded = yield from self.load()
            if loaded is None or loaded[2] != term:
                continue
            events, number, term, heads = loaded
            if self.world.bug != "no_third_look":
                beat, _ = yield from self.ask("get", ("beat", term))
                if beat != seen:
                    continue
            self.certain = self.world.now + EXPIRE
            term += 1
            head = (self.name, term, [])
            if self.world.bug == "no_head":
                break
            mine = yield from self.put_new(("segment", number), head)
            if mine and self.world.bug != "no_second_look":
                # While it was loaded, the number may have been used and deleted.
                names, _ = yield from self.ask("list")
                mine = all(kind == "beat" or n <= number for kind, n in names) and not any(
                    kind == "snapshot" and n >= number for kind, n in names
                )
            if mine:
                heads = [*heads, number]
                number += 1
                break
        self.events, self.number, self.term, self.heads = events, number, term, heads
        self.world.begins(self)

    # ---- leading

    def lead(self):
        self.leads = True
        beaten = self.world.now - BEAT
        written = 0
        while True:
            if self.world.now - beaten >= BEAT:
                beaten = self.world.now
                yield from self.ask("put", ("beat", self.term), (self.name, beaten))
                if self.world.now >= self.certain and self.world.bug != "heartbeat_is_enough":
                    mine = yield from self.put_new(("segment", self.number), (self.name, self.term, []))
                    if not mine:
                        return  # fenced
                    self.number += 1
                self.certain = beaten + EXPIRE
            if self.world.now < self.certain or self.world.bug == "speak_always":
                self.world.speaks(self)
            if self.world.random.random() < 0.7:
                new = [self.world.new_event(self) for _ in range(self.world.random.randint(1, 3))]
                segment = (self.name, self.term, new)
                mine = yield from self.put_new(("segment", self.number), segment)
                if not mine:
                    return  # fenced
                self.number += 1
                self.events += new
                written += 1
                self.world.acknowledges(self)
            if written >= COMPACT:
                written = 0
                yield from self.compact()

    def compact(self):
        last = self.number - 1
        store = [("make", ("snapshot", last), (tuple(self.events), self.term, tuple(self.heads)))]
        names, _ = yield from self.ask("list")
        old = [
            ("remove", (kind, n), None)
            for kind, n in names
            if kind in ("segment", "snapshot")
            and n <= last
            and (kind, n) != ("snapshot", last)
            and (kind == "snapshot" or n not in self.heads or self.world.bug == "delete_heads")
        ]
        requests = old + store if self.world.bug == "delete_first" else store + old
        for verb, name, value in requests:
            yield from self.ask(verb, name, value)


class World:
    def __init__(self, seed, bug):
        self.random = random.Random(seed)
        self.bug = bug
        self.store = Store()
        self.now = 0
        self.numbers = 0
        self.acknowledged = []  # (writer, event), by number
        self.late = []  # (time, request): requests whose answers no process gets
        self.faults_end = self.random.randint(100, 600)
        self.lossy = self.random.choice([0, 0.02, 0.1])
        self.sleepy = self.random.choice([0, 0.01, 0.05])
        self.deadly = self.random.choice([0, 0.005, 0.02])
        self.made = 0
        self.processes = [self.new_process() for _ in range(self.random.randint(1, 3))]
        self.after_faults = 0
        self.term = 0  # the last that has begun
        self.spoken_after_faults = 0

    def new_process(self):
        self.made += 1
        return Process(f"p{self.made}", self)

    # ---- facts

    def new_event(self, process):
        self.numbers += 1
        return f"{process.name}-{self.numbers}"

    def begins(self, process):
        if process.term < self.term:
            return  # it stood still, and is fenced
        known = process.events[: len(self.acknowledged)]
        if known != self.acknowledged:
            raise Violation(f"{process.name} leads without events that were acknowledged")
        self.term = max(self.term, process.term)

    def speaks(self, process):
        if process.term < self.term:
            raise Violation(f"{process.name} speaks although another leads")
        if self.now > self.faults_end:
            self.spoken_after_faults += 1

    def acknowledges(self, process):
        known = self.acknowledged[: len(process.events)]
        if process.events[: len(known)] != known:
            raise Violation(f"{process.name} acknowledges a number again")
        if len(process.events) > len(self.acknowledged):
            self.acknowledged = list(process.events)
        if self.now > self.faults_end:
            self.after_faults += 1

    def count_reload(self, process):
        process.reloads = getattr(process, "reloads", 0) + 1
        if process.reloads > 2000:
            raise Violation(f"{process.name} finds no whole journal")

    # ---- time

    def effect(self, request):
        verb, name, value = request
        objects = self.store.objects
        if verb == "make":
            return self.store.make(name, value)
        if verb == "put":
            return self.store.make(name, value, condition=False)
        if verb == "get":
            return ("found", objects[name]) if name in objects else ("absent",)
        if verb == "list":
            return list(objects)
        objects.pop(name, None)  # remove
        return True

    def step(self, k):
        process = self.processes[k]
        if process.asleep_until > self.now:
            return
        faulty = self.now < self.faults_end
        if faulty and self.random.random() < self.deadly:
            if process.request is not None and self.random.random() < 0.5:
                self.late.append((self.now + self.random.randint(0, 60), process.request))
            self.processes[k] = self.new_process()
            return
        if faulty and self.random.random() < self.sleepy:
            process.asleep_until = self.now + self.random.randint(1, 80)
            return
        if process.answers:
            process.request = process.steps.send(process.answers.pop())
            return
        if process.request is None:
            process.request = next(process.steps)
            return
        request, process.request = process.request, None
        if faulty and self.random.random() < self.lossy:
            when = self.random.choice([None, 0, self.random.randint(1, 60)])
            if when is not None:  # it arrives, and its answer is lost
                self.late.append((self.now + when, request))
            process.request = process.steps.send(None)
            return
        answer = self.effect(request)
        if faulty and self.random.random() < self.sleepy:
            process.answers.append(answer)
            process.asleep_until = self.now + self.random.randint(1, 80)
            return
        process.request = process.steps.send(answer)

    def run(self):
        while self.now < self.faults_end + 400:
            self.now += 1
            due = [each for each in self.late if each[0] <= self.now]
            self.late = [each for each in self.late if each[0] > self.now]
            for _, request in due:
                self.effect(request)
            order = list(range(len(self.processes)))
            self.random.shuffle(order)
            for k in order:
                self.step(k)
        if not self.after_faults or not self.spoken_after_faults:
            raise Violation("no process writes and speaks after the last fault")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="0-999", help="first-last")
    parser.add_argument("--bug", choices=sorted(BUGS), help="plant this bug")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split("-"))
    violations = 0
    for seed in range(first, last + 1):
        try:
            World(seed, given.bug).run()
        except Violation as violation:
            violations += 1
            print(f"seed {seed}: {violation}")
            if given.bug:
                break
    print(f"{violations} violations")
    return 0 if (violations > 0) == bool(given.bug) else 1


if __name__ == "__main__":
    sys.exit(main())
