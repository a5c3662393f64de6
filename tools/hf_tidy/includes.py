"""Dependencies point down: which module may include which, and in what order a file includes."""

from collections.abc import Iterator

from hf_tidy.source import Include
from hf_tidy.tree import File, Finding, Tree

# Each module includes itself and these. The same table is in CONTRIBUTING.md.
MAY_INCLUDE = {
    "base": "",
    "metrics": "base",
    "resource": "base",
    "health": "base",
    "identity": "base resource",
    "config": "base resource",
    "net": "base metrics",
    "rpc": "base metrics net",
    "store": "base",
    "events": "base resource",
    "cache": "base metrics net resource events",
    "ha": "base metrics net rpc store",
    "tunnel": "base metrics net resource identity route",
    "ingress": "base metrics net resource identity tunnel",
    "probe": "base metrics net resource",
    "inject": "base metrics net probe",
    "route": "base resource",
    "track": "base metrics net resource route",
    "node": "base metrics net rpc resource events cache health identity route",
    "api": "base metrics net rpc resource health identity store events cache ha route",
    "web": "base metrics net resource health identity events cache api",
    "cli": "base net rpc resource identity config inject route",
}
MAY_INCLUDE["app"] = " ".join(MAY_INCLUDE)
# Files that reach further than their module: by how their path begins.
ALSO = {"src/store/etcd_": "rpc"}

# Who may use generated code, as modules or beginnings of paths.
_GRPC_USERS = ("rpc", "api", "ha", "node", "cli", "app", "src/store/etcd_")
_API_USERS = ("api", "ha", "node", "cli", "cache", "rpc", "events", "identity", "config", "web", "app", "tunnel",
              "ingress")
_RESOURCE_USERS = tuple(["resource"] + [module for module, others in MAY_INCLUDE.items()
                                        if "resource" in others.split()])


def check(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if file.module and file.module not in MAY_INCLUDE:
            yield file.finding(1, "module", f"src/{file.module} is not a module tidy knows; add it "
                               "to the table in tools/hf_tidy/includes.py and in CONTRIBUTING.md")
    for file in tree.cpp:
        if file.module in MAY_INCLUDE:
            for include in file.source.includes:
                yield from _check_include(tree, file, include)
        yield from _check_order(tree, file)


def _check_include(tree: Tree, file: File, include: Include) -> Iterator[Finding]:
    top = include.path.split("/")[0]
    if file.is_test and f"tests/{include.path}" in tree.by_path:
        return
    generated = include.path.endswith(".pb.h") and top in ("envoy", "holdfast", "etcd", "grpc")
    ours = generated or f"src/{include.path}" in tree.by_path
    if ours and not include.quoted:
        yield file.finding(include.line, "include", f'<{include.path}> is ours: write it "in '
                           'quotes"')
    if include.quoted and not ours:
        yield file.finding(include.line, "include", f'no src/{include.path}: write paths from src/ '
                           "in quotes, and what is not ours in <angle brackets>")
    elif generated:
        yield from _check_generated(file, include)
    elif ours and top != file.module and top not in _allowed(file):
        yield file.finding(include.line, "include", f"{file.module} may not include {top}, only "
                           f"{', '.join(_allowed(file)) or 'itself'}; move the code down, or let "
                           "app hand it over through an interface")


def _allowed(file: File) -> list[str]:
    also = [module for start, module in ALSO.items() if file.path.startswith(start)]
    return MAY_INCLUDE[file.module].split() + also


def _check_generated(file: File, include: Include) -> Iterator[Finding]:
    if include.path.endswith(".grpc.pb.h") or include.path.startswith("etcd/"):
        users = _GRPC_USERS
    elif include.path.endswith("/resource.pb.h"):
        users = _RESOURCE_USERS
    else:
        users = _API_USERS
    if file.module not in users and not file.path.startswith(users):
        yield file.finding(include.line, "include", f"{include.path} is only for "
                           f"{', '.join(users)}; take our own types instead")


def _check_order(tree: Tree, file: File) -> Iterator[Finding]:
    includes = file.source.includes
    header = tree.own_header(file)
    own = header.path.removeprefix("src/") if header else None
    if own and includes and not _names(includes[0], header):
        yield file.finding(includes[0].line, "include-order", f'include "{own}" first: it proves '
                           "that the header needs nothing before it")
    rest = [include for include in includes if header is None or not _names(include, header)]
    for before, after in zip(rest, rest[1:]):
        if before.quoted and not after.quoted:
            yield file.finding(after.line, "include-order", f"<{after.path}> comes before ours: "
                               "own header, then <...>, then \"...\"")


def _names(include: Include, header: File) -> bool:
    """Whether it includes that header, from src/ or from its own folder."""
    return include.quoted and f"/{header.path}".endswith(f"/{include.path}")
