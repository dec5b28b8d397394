"""What the benches share that run two nodes on this machine: namespaces, runs, figures of records, counted instructions."""

import argparse
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("bench_run", str(ROOT / "bench" / "run"))
sys.dont_write_bytecode = True
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
loader.exec_module(bench)
Row, NotRun, interleaved, median = bench.Row, bench.NotRun, bench.interleaved, bench.median

HERE, THERE = "10.77.213.1", "10.77.213.2"
# Instructions are counted in two runs of this length (s), with a packet each of these; what runs by the clock falls out.
COUNTED_SECONDS, COUNTED_INTERVALS = 15, ("5ms", "500us")


class Network:
    """Two namespaces and a veth pair between them."""

    def __init__(self):
        self.names = [f"punctual-bench-{side}-{os.getpid()}" for side in "ab"]
        self.links = ["pvb0", "pvb1"]

    def __enter__(self):
        try:
            for name in self.names:
                self.ip("netns", "add", name)
            one, two = self.names
            self.ip("link", "add", self.links[0], "netns", one, "type", "veth", "peer", "name", self.links[1], "netns", two)
            for name, link, address in zip(self.names, self.links, (HERE, THERE)):
                self.ip("-n", name, "addr", "add", f"{address}/24", "dev", link)
                self.ip("-n", name, "link", "set", link, "up")
                self.ip("-n", name, "link", "set", "lo", "up")
        except NotRun:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    @staticmethod
    def ip(*words):
        done = bench.run(["ip", *words], 10)
        if done.returncode != 0:
            raise NotRun(f"ip {' '.join(words)}: {bench.last_complaint(done)}")

    def at(self, side, *command):
        return ["ip", "netns", "exec", self.names[side], *map(str, command)]


def series(record, name):
    found = [one for one in record["series"] if one["name"] == name]
    if not found:
        raise NotRun(f"the record has no series {name}")
    return found[0]


def quantile(one, part):
    """A quantile of a series' histogram (ns): the upper end of its bin."""
    histogram = one["histogram"]
    for name, value in (histogram.get("quantiles_ns") or {}).items():
        if name == part:
            return value
    raise NotRun(f"the record has no {part} of {one['name']}")


def with_names(program):
    """The same program with the names of its functions, as cargo has built it: what is delivered has none."""
    built = [path for path in ROOT.glob("target/*/release/punctual") if path.stat().st_mtime <= os.stat(program).st_mtime + 60]
    if not built or Path(program) != (ROOT / "target" / "release" / "punctual").resolve():
        return str(program)
    return str(max(built, key=lambda path: path.stat().st_mtime))


OF_INTERVALS = ("collect::Collector::close_intervals_before",)
# What makes and reads records; none of these is called by what is done for each packet.
OF_RECORDS = ("record::run::Record::to_json", "record::run::Record::from_json")
# glibc clears and copies large blocks with one instruction that valgrind counts, and carries out, byte by byte.
COUNTED_AS_ONE = "glibc.cpu.x86_rep_stosb_threshold=1000000000:glibc.cpu.x86_rep_movsb_threshold=1000000000"


def without_types(function):
    """A function's name without the types that it is made for, in either mangling: <a::B<C>>::d is a::B::d."""
    before = None
    while before != function:
        before, function = function, re.sub(r"(?<=\w)(?:::)?<[^<>]*>", "", function)
    return function.replace("<", "").replace(">", "")


def counted_by(counts, groups):
    """All instructions that callgrind has counted, those of each group of functions with all that they call, and the functions of the
    groups that it has named."""
    annotated = bench.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(counts)], 120).stdout
    whole, parts, found = None, [0 for _ in groups], set()
    for line in annotated.splitlines():
        row = re.match(r"\s*([\d,]+)\s*\([\d. %]+\)\s+(.*?)(?: \[.*)?$", line)
        if not row:
            continue
        instructions, function = int(row[1].replace(",", "")), without_types(row[2])
        if function == "PROGRAM TOTALS":
            whole = instructions
        for place, names in enumerate(groups):
            if of := next((name for name in names if function.endswith(name)), None):
                parts[place] += instructions
                found.add(of)
    if whole is None:
        raise NotRun("valgrind gave no counts")
    return whole, parts, found


def counted(counts, for_packets, at_least):
    """The instructions of what is done for each packet, those of records, and the rest; at least so many of the functions have to be
    there."""
    groups = [for_packets, OF_INTERVALS, OF_RECORDS]
    whole, (packets, intervals, records), found = counted_by(counts, groups)
    if len(found) < at_least:
        wanted = ", ".join(name for names in groups for name in names)
        raise NotRun(f"callgrind named {', '.join(sorted(found)) or 'none'} of {wanted}")
    return {"packets": packets - intervals, "records": records, "rest": whole - packets + intervals - records}


def for_each(few, many, short, long, what):
    """What each packet costs: the difference of two runs by the difference of their packets."""
    each = {part: (long[part] - short[part]) / (many - few) for part in long}
    if min(each.values()) <= 0:
        raise NotRun(f"{what}: the run with many packets took no more instructions than that with few")
    return each


class Understood(Exception):
    """A command line that was only looked at."""


class Nodes:
    """Two nodes of one machine, of which one listens."""

    def __init__(self, punctual, pairs, network, folder):
        self.punctual, self.pairs, self.network, self.folder = str(punctual), pairs, network, folder
        self.token, self.out = folder / "token", folder / "run.json"
        # Whether command lines are only looked at.
        self.only_looks = False

    def understood(self, *commands):
        """Whether the program knows all words of its command lines: it reads them before it prints its help."""
        for command in commands:
            done = bench.run([*map(str, command), "--help"], 10)
            if done.returncode != 0:
                raise NotRun(f"{' '.join(map(str, command[1:]))}: {bench.last_complaint(done)}")
        raise Understood

    def listen(self, *words, program=None):
        program = program or self.punctual
        return [program, "listen", "--on", THERE, "--token-file", self.token, "--once", "--anyway", *words]

    def both(self, listen, send, seconds, wraps=((), ()), meanwhile=None):
        """The record of a run of so many seconds, what `meanwhile` came to, and what the sending node said; each side may be wrapped
        in another program."""
        if self.only_looks:
            self.understood(listen, send)
        for old in (self.token, self.out):
            old.unlink(missing_ok=True)
        listening = subprocess.Popen(
            self.network.at(1, *wraps[0], *listen), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            until = time.monotonic() + 20
            while not self.token.exists():
                if listening.poll() is not None or time.monotonic() > until:
                    raise NotRun(f"punctual listen: {listening.stderr.read().strip()[-200:]}")
                time.sleep(0.02)
            stdout = subprocess.DEVNULL if self.out in send else subprocess.PIPE
            sending = subprocess.Popen(self.network.at(0, *wraps[1], *send), stdout=stdout, stderr=subprocess.PIPE, text=True)
            result = meanwhile(sending, listening) if meanwhile else None
            try:
                printed, said = sending.communicate(timeout=seconds * 20 + 60)
            except subprocess.TimeoutExpired:
                sending.kill()
                raise NotRun(f"punctual {' '.join(map(str, send[1:3]))} did not end") from None
            if printed:
                self.out.write_text(printed)
            if not self.out.exists():
                raise NotRun(f"punctual {' '.join(map(str, send[1:3]))}: {said.strip()[-200:]}")
            try:
                listening.wait(timeout=20)
            except subprocess.TimeoutExpired:
                pass
        finally:
            if listening.poll() is None:
                listening.kill()
            listening.wait()
            listening.stderr.close()
        return json.loads(self.out.read_text()), result, said

    def callgrind(self):
        """What a side is wrapped in so that its instructions are counted, after the counts of earlier runs were removed. No count is
        written down meanwhile, since that takes valgrind seconds, after which the partner gives the connection up."""
        if not self.only_looks and not shutil.which("callgrind_annotate"):
            raise NotRun("valgrind is missing")
        for old in self.folder.glob("callgrind*"):
            old.unlink()
        wrap = ["env", f"GLIBC_TUNABLES={COUNTED_AS_ONE}", "valgrind", "--tool=callgrind", "--fair-sched=yes"]
        return [*wrap, f"--callgrind-out-file={self.folder}/callgrind.%p"]

    def counts(self):
        """The counts of each program that ran so, with its command line."""
        for part in self.folder.glob("callgrind.*"):
            command = re.search(r"^cmd: (.*)$", part.read_text(errors="replace"), re.M)
            if command:
                yield part, command[1]

    def wakeup_median(self, *words, seconds):
        """The median lateness of a thread that sleeps to a timetable (ns), each millisecond."""
        words = [self.punctual, "measure", "wakeup", "--interval", "1ms", "--duration", f"{seconds}s", "--json", "--anyway", *words]
        if self.only_looks:
            self.understood(words)
        return quantile(bench.record_of(bench.run(words, 30))["series"][0], "p50")


def check(name, sections, only_where_installed, options, of):
    """Each section up to its first run."""
    with tempfile.TemporaryDirectory(prefix="punctual-bench-") as folder:
        nodes = of(options.punctual.resolve(), 1, None, Path(folder))
        nodes.only_looks = True
        looked = 0
        for section in options.sections or [section for section in sections if section not in only_where_installed]:
            try:
                getattr(nodes, section)()
            except Understood:
                looked += 1
            except NotRun as why:
                sys.exit(f"{name}: {section}: {why}")
    print(f"{looked} sections understood")


def main(name, about, sections, of, only_where_installed=()):
    """Runs sections of a kind of nodes, and prints their rows."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"which of: {', '.join(sections)} [all]")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write every number to this file")
    parser.add_argument("--pairs", type=int, default=8, help="pairs of runs [8]")
    parser.add_argument("--punctual", type=Path, default=ROOT / "target" / "release" / "punctual", help="another build")
    parser.add_argument("--check", action="store_true", help="measure nothing: look whether the program understands what it is told")
    options = parser.parse_args()
    unknown = [section for section in options.sections if section not in sections]
    if unknown:
        parser.error(f"unknown section '{unknown[0]}': {', '.join(sections)}")
    if options.pairs < 1:
        parser.error("at least one pair is needed")
    if not options.punctual.exists():
        parser.error(f"there is no {options.punctual}: make build makes it")
    if options.check:
        return check(name, sections, only_where_installed, options, of)
    # Its namespaces go with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    machine = bench.Machine()
    rows = []
    folder = Path(tempfile.mkdtemp(prefix="punctual-bench-"))
    try:
        with Network() as network:
            nodes = of(options.punctual.resolve(), options.pairs, network, folder)
            for section in options.sections or sections:
                try:
                    rows += getattr(nodes, section)()
                except NotRun as why:
                    rows.append(Row.not_run(section, "", why))
    except NotRun as why:
        rows.append(Row.not_run("network", "", why))
    except KeyboardInterrupt:
        bench.print_progress("stopped")
        sys.exit(130)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    bench.print_table(rows)
    print()
    ended = machine.ended()
    for line in bench.machine_lines(ended, "any"):
        print(line)
    if options.json:
        options.json.write_text(json.dumps({"machine": ended, "rows": [row.as_json() for row in rows]}, indent=2) + "\n")
    sys.exit(1 if any(row.why and not row.optional for row in rows) else 0)
