"""A core computes, a service waits: no clock, socket, thread, coroutine or log line in a core, and
no sleep in a test."""

import re
from collections.abc import Iterator

from hf_tidy.tree import File, Finding, Tree

SERVICE_MODULES = ("net", "rpc", "app", "api", "cli")
SERVICE_ENDINGS = ("_service", "_server", "_agent", "_handler", "_loader")
# In store, by stem: the backends wait, and the contract is run against backends.
STORE_SERVICES = re.compile(r"_store|_watch|_client|^etcd_|^store_contract|^replica_contract")
# In the modules that wait: what only decides, by how its path begins.
CORES_AMONG_SERVICES = ("src/rpc/pick_action", "src/rpc/pick_child", "src/rpc/pick_healthy",
                        "src/rpc/pick_table", "src/rpc/repeat")
BASE_SERVICES = ("src/base/log.h", "src/base/log.cc", "src/base/log_test.cc", "src/base/clock.cc")
# What single files and modules may do although they are cores, and why.
EXCEPTIONS = {
    "src/store/store.h": ("coroutine",),   # the seam: its operations are awaited
    "src/store/replica.h": ("coroutine",),  # the seam: its operations are awaited
    "src/cache/upstream.h": ("coroutine",),  # the seam: its operations are awaited
    "src/tunnel/stream_dialer.h": ("coroutine",),  # the seam: its operation is awaited
    "src/cache/published_test.cc": ("thread",),  # what it tests is for many threads
    "src/metrics/": ("mutex", "thread"),   # counts come from every thread; its test uses two
}

# Kind of waiting: what it looks like in code, which headers bring it, what to do instead.
WAITING = {
    "clock": (r"\b(?:steady_clock|high_resolution_clock)::now\b|\bsystem_clock\b|\bgettimeofday\b|"
              r"\bclock_gettime\b|(?:\bstd::|(?<![\w:.>])(?:::)?)time\((?:nullptr|NULL|0|&)",
              r"ctime|sys/time\.h", "take a Time with each input"),
    "sleep": (r"\bsleep_(?:for|until)\b|\bu?sleep\(|\bnanosleep\b", r"$^",
              "offer next_deadline() and on_tick(Time)"),
    "socket": (r"\bsockaddr\w*|(?<![\w.>])(?:socket|recv|send|bind|listen|accept|connect)\(\w+, |"
               r"\btcp::|\budp::", r"sys/socket\.h|netdb\.h|poll\.h|sys/epoll\.h",
               "take bytes, return bytes and events"),
    "thread": (r"\bstd::j?thread\b|\bpthread_\w+|\bstd::async\b", r"thread|future|pthread\.h",
               "let the service own the loop"),
    "mutex": (r"\bstd::(?:\w+_)?mutex\b|\b(?:lock_guard|unique_lock|scoped_lock|shared_lock)\b|"
              r"\bcondition_variable\w*|\babsl::Mutex\w*", r"(?:shared_)?mutex|condition_variable|"
              r"absl/synchronization/.*", "an object belongs to one loop; post values to it"),
    "coroutine": (r"\bco_(?:await|return|yield)\b|\bCO_TRY(?:_OK)?\b|\basio\b|\bawaitable\b",
                  r"boost/asio.*|coroutine", "return what to do next; the service awaits"),
    "chance": (r"\brandom_device\b|(?<![\w.>])s?rand\(", r"$^", "take an Rng with its seed"),
    "logging": (r"\blog::(?:debug|info|warn|error|configure)\(|\bspdlog\b",
                r"base/log\.h|spdlog/.*", "return it; the layer that stops an error logs it"),
}
SLEEP = re.compile(r"\bsleep_(?:for|until)\b|(?<![\w.>])u?sleep\(|\bnanosleep\b")


def check(tree: Tree) -> Iterator[Finding]:
    for file in tree.cpp:
        if is_core(file):
            yield from _check_core(file)
        elif file.is_test and not file.path.startswith("tests/support/"):
            yield from _check_sleeps(file)


def is_core(file: File) -> bool:
    if file.path in BASE_SERVICES or file.subject.endswith(SERVICE_ENDINGS):
        return False
    if file.module is None or file.module in SERVICE_MODULES:
        return file.path.startswith(CORES_AMONG_SERVICES)
    return not (file.module == "store" and STORE_SERVICES.search(file.subject))


def _check_core(file: File) -> Iterator[Finding]:
    allowed = {kind for start, kinds in EXCEPTIONS.items() if file.path.startswith(start)
               for kind in kinds}
    for kind, (pattern, headers, instead) in WAITING.items():
        if kind in allowed:
            continue
        places = sorted(_found(file, re.compile(pattern), re.compile(headers)))
        if places:
            line, found = places[0]
            more = f" and {len(places) - 1} more" if len(places) > 1 else ""
            yield file.finding(line, "core", f"{found.strip()}{more} ({kind}) in a core: "
                               f"{instead}, or name the file as a service: "
                               f"*{', *'.join(SERVICE_ENDINGS)}")


def _found(file: File, pattern: re.Pattern, headers: re.Pattern) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file.source.code_lines, 1):
        if match := pattern.search(line):
            yield number, match[0]
    for include in file.source.includes:
        if headers.fullmatch(include.path):
            yield include.line, f"#include {include.path}"


def _check_sleeps(file: File) -> Iterator[Finding]:
    for number, line in enumerate(file.source.code_lines, 1):
        if match := SLEEP.search(line):
            yield file.finding(number, "sleep", f"{match[0].rstrip('(')} in a test: wait for the "
                               "condition with a deadline (tests/support), or use a ManualClock")
