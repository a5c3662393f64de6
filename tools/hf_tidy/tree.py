"""The files under a root, and what their paths say about them: module, test, header."""

import dataclasses
import functools
import os
import pathlib
import subprocess

from hf_tidy import source

# Not ours to judge: inputs for fuzz targets are foreign bytes on purpose.
FOREIGN = ("fuzz/corpus/",)
SKIPPED_WHEN_WALKING = {".git", "build", ".cache", "__pycache__", "node_modules"}


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.what}"


class File:
    """One file. `path` is relative to the root, with forward slashes."""

    def __init__(self, root: pathlib.Path, path: str):
        self.path = path
        self.absolute = root / path
        self.parts = tuple(path.split("/"))
        self.name = self.parts[-1]
        self.stem = self.name.split(".")[0]

    @functools.cached_property
    def text(self) -> str | None:
        """None if it is not text."""
        data = self.absolute.read_bytes()
        if b"\0" in data:
            return None
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return None

    @functools.cached_property
    def lines(self) -> list[str]:
        return (self.text or "").split("\n")

    @functools.cached_property
    def source(self) -> source.Source:
        return source.Source(self.text or "")

    @property
    def is_header(self) -> bool:
        return self.name.endswith(".h")

    @property
    def is_cpp(self) -> bool:
        return self.name.endswith((".h", ".cc"))

    @property
    def is_test(self) -> bool:
        return self.parts[0] == "tests" or self.stem.endswith("_test")

    @property
    def module(self) -> str | None:
        """The folder in src/ it belongs to."""
        return self.parts[1] if self.parts[0] == "src" and len(self.parts) > 2 else None

    @property
    def subject(self) -> str:
        """The stem of what it is or tests: `pair` for pair.h, pair.cc and pair_test.cc."""
        return self.stem.removesuffix("_test")

    @property
    def is_executable(self) -> bool:
        return os.access(self.absolute, os.X_OK)

    def finding(self, line: int, rule: str, what: str) -> Finding:
        return Finding(self.path, line, rule, what)


class Tree:
    def __init__(self, root: pathlib.Path):
        self.root = root
        self.files = [File(root, path) for path in sorted(_listed(root))
                      if not path.startswith(FOREIGN) and (root / path).is_file()]
        self.by_path = {file.path: file for file in self.files}

    @property
    def cpp(self) -> list[File]:
        return [file for file in self.files if file.is_cpp]

    def own_header(self, file: File) -> File | None:
        """The header a .cc or its test stands beside; None for a header."""
        if file.is_header:
            return None
        return self.by_path.get("/".join(file.parts[:-1] + (file.subject + ".h",)))

    def relative(self, name: str) -> str:
        path = os.path.relpath(os.path.abspath(name), self.root)
        if path in self.by_path:
            return path
        if name in self.by_path:
            return name
        raise LookupError(f"{name} is no file of this tree; give paths as git lists them")


def _listed(root: pathlib.Path) -> list[str]:
    """Tracked files and those that would be: what git does not ignore, or all without git."""
    try:
        answer = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=root,
                                capture_output=True, check=True)
        return list({os.fsdecode(name) for name in answer.stdout.split(b"\0") if name})
    except (OSError, subprocess.CalledProcessError):
        return _walked(root)


def _walked(root: pathlib.Path) -> list[str]:
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_WHEN_WALKING]
        found += [(pathlib.Path(folder) / name).relative_to(root).as_posix() for name in names]
    return found
