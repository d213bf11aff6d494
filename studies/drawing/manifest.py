"""A table of a study in a file, with a manifest beside it that says where its numbers come from.

docs/reference/manifest.md describes the manifest; the writer in Rust is
crates/experiment/src/manifest, and both are held to tests/manifests/vectors.json. A table is
announced before the run: one that may not be written is refused there, not hours later.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = 1
PUBLISHED = "studies/"
"""The folder whose tables are published: only from sources that a commit holds."""
WRITTEN = (".csv", ".json", ".svg", ".md")
"""What studies write there themselves: a file of these is no source of a number."""
FRESH = "/.fresh"
"""The folder in a study's where tables lie until all of them are whole (studies/prelude.sh)."""
ABSOLUTE = re.compile(r"""(?P<mark>^|[\s"'`=,;:(<>|~]|(?:^|\s)-[A-Za-z])(?P<path>/[^/\s])""")
REST = re.compile(r"""[^\s"'`,;:)<>|]*""")

Json = object
Seed = int | Sequence[int] | None


class ManifestError(Exception):
    """A table may not be written where it was to be. Nothing was written."""


def exit_code(program: str, make: Callable[[], None], also: type[Exception] = ManifestError) -> int:
    """Make tables; return the exit code of the program, which says in a line what it could not."""
    try:
        make()
    except (ManifestError, OSError, subprocess.SubprocessError, also) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
    return 0


def text_of(command: Sequence[str]) -> str:
    """Return what a program prints; nothing if it prints none or cannot be started."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def first_line(command: Sequence[str]) -> str:
    """Return the first line that a program prints, its version mostly; `unknown` without one."""
    return " ".join(next(iter(text_of(command).splitlines()), "unknown").split())


def is_published(folder: Path) -> bool:
    """Return whether tables in a folder are published."""
    return f"{folder.resolve()}/".startswith(f"{ROOT}/{PUBLISHED}")


def is_written(file: str) -> bool:
    """Return whether a file of the repository is written by studies."""
    return file.startswith(PUBLISHED) and file.endswith(WRITTEN)


def sources() -> tuple[str | None, str | None]:
    """Return the commit of the sources, and why nothing can be published from them, if so."""
    git = ["git", "-C", str(ROOT)]
    commit = text_of([*git, "rev-parse", "--verify", "HEAD"]).strip()
    if not commit:
        return None, "no commit is known: git finds no repository here"
    changed = text_of([*git, "diff", "--name-only", "-z", "HEAD"]).split("\0")
    changed = [file for file in changed if file and not is_written(file)]
    if not changed:
        return commit, None
    named = ", ".join(changed[:3]) + (", ..." if len(changed) > 3 else "")
    count = "1 file differs" if len(changed) == 1 else f"{len(changed)} files differ"
    return commit, f"{count} from the commit: {named}"


def study_of(file: str) -> str | None:
    """Return the folder of the study that has a table of this name, if one has."""
    found = sorted(ROOT.glob(f"studies/*/{file}"))
    return found[0].parent.relative_to(ROOT).as_posix() if len(found) == 1 else None


def normalised(command: str, root: Path | None, output: Path, study: str | None) -> str:
    """Return a command without the paths of a machine.

    A path in the repository is given from its root, one in the output folder as if that were the
    study's, and of any other its last name is left.
    """

    def place(path: str) -> str:
        folders = [(str(root), "."), (str(output), study)] if root else [(str(output), study)]
        for folder, name in folders:
            if name is not None and (path == folder or path.startswith(f"{folder}/")):
                rest = path[len(folder) + 1 :]
                return f"{name}/{rest}" if rest and name != "." else rest or name
        return path.rpartition("/")[2]

    done, at = "", 0
    while found := ABSOLUTE.search(command, at):
        begin = found.start("path")
        rest = REST.match(command, begin)
        assert rest is not None  # it matches the empty text
        done += command[at:begin].removesuffix("~") + place(rest.group().rstrip("/"))
        at = rest.end()
    return (done + command[at:]).replace(FRESH, "")


def command_line() -> str:
    """Return the command line of this process, as if it were given in the root."""
    words = [str(Path(sys.argv[0]).resolve()), *sys.argv[1:]]
    line = " ".join(["python", *map(shlex.quote, words)])
    here = Path.cwd()
    if here != ROOT and ROOT in here.parents:
        return f"cd {here.relative_to(ROOT)} && {line}"
    return line


def machine() -> dict[str, Json]:
    """Return what this machine is."""

    def field(file: str, name: str) -> str | None:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except OSError:
            return None
        found = re.search(rf"^{name}\s*: *(.+)$", text, re.MULTILINE)
        return found.group(1) if found else None

    memory = field("/proc/meminfo", "MemTotal")
    return {
        "processor": field("/proc/cpuinfo", "model name"),
        "architecture": platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_mib": int(memory.split()[0]) // 1024 if memory else None,
        "kernel": platform.release(),
    }


def versions() -> dict[str, str]:
    """Return the versions of this repository, of Python, and of NumPy if it is used."""
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    found = {
        "tidings": cargo["workspace"]["package"]["version"],
        "python": platform.python_version(),
    }
    if "numpy" in sys.modules:
        found["numpy"] = sys.modules["numpy"].__version__
    return found


def digest(content: bytes) -> str:
    """Return a SHA-256 as manifests have it."""
    return hashlib.sha256(content).hexdigest()


def given(file: Path, source: str) -> dict[str, str]:
    """Return a file that a run reads and that is not of the repository, as `inputs` name it."""
    return {"name": file.name, "sha256": digest(file.read_bytes()), "source": source}


class Table:
    """A table that is about to be made, or to be gone on with."""

    def __init__(
        self,
        file: Path,
        *,
        command: str | None = None,
        seed: Seed = None,
        goes_on: bool = False,
    ) -> None:
        """Prepare the table; `command` makes it again, as the running command line does if None.

        `goes_on`: the runs that a manifest already names stay, and this one is added. Raises
        ManifestError where the table would be published and its sources are of no commit.
        """
        self.file = file.resolve()
        folder = self.file.parent
        commit, trial = sources()
        if trial and is_published(folder):
            raise ManifestError(
                f"{file}: a table is published from a commit only, and {trial}; commit first, "
                "or try it in another folder, such as target/trial"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.manifest_file.with_suffix(".part").touch()
            self.manifest_file.with_suffix(".part").unlink()
        except OSError as error:
            raise ManifestError(f"{folder}: {error.strerror}") from error
        self.before = runs_of(self.file, self.manifest_file) if goes_on else []
        self.run: dict[str, Json] = {
            "command": self.normalised(command or command_line()),
            "seed": list(seed) if isinstance(seed, Sequence) else seed,
            "commit": commit,
            **({"trial": trial} if trial else {}),
            "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "machine": machine(),
        }
        self.began = time.monotonic()

    def normalised(self, command: str) -> str:
        """Return a command without the paths of this machine."""
        return normalised(command, ROOT, self.file.parent, study_of(self.file.name))

    @property
    def manifest_file(self) -> Path:
        """The manifest's file, beside the table."""
        return self.file.with_suffix(".manifest.json")

    def write_rows(
        self, heading: Sequence[str], rows: Iterable[Sequence[object]], **said: object
    ) -> None:
        """Write the table as CSV, and its manifest; what `record` takes."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(heading)
        for row in rows:
            if len(row) != len(heading):
                names = ", ".join(heading)
                raise ValueError(f"a row of {len(row)} values below the columns {names}: {row}")
            writer.writerow(row)
        self.write(text.getvalue(), **said)

    def write(self, text: str, **said: object) -> None:
        """Write the table and its manifest; what `record` takes."""
        replace(self.file, text.encode())
        self.record(**said)  # type: ignore[arg-type]

    def record(
        self,
        *,
        facts: Mapping[str, Json] | None = None,
        added: Mapping[str, str] | None = None,
        inputs: Iterable[Mapping[str, str]] = (),
        wall_s: float | None = None,
    ) -> None:
        """Write the manifest of the table as it lies there.

        `facts` are the table's own, `added` the versions of further programs, `inputs` files of
        elsewhere by `given`; `wall_s` where the run took longer than this process.
        """
        run = {
            **self.run,
            "versions": {**versions(), **(added or {})},
            "wall_s": round(time.monotonic() - self.began if wall_s is None else wall_s, 3),
        }
        if read := [dict(one) for one in inputs]:
            run["inputs"] = read
        whole: dict[str, Json] = {
            "schema": SCHEMA,
            "table_sha256": digest(self.file.read_bytes()),
            "runs": [*self.before, run],
        }
        if facts:
            whole["facts"] = dict(facts)
        replace(self.manifest_file, (json.dumps(whole, indent=2) + "\n").encode())


def runs_of(table: Path, manifest: Path) -> list[Json]:
    """Return the runs that made what there is of a table."""
    if not table.exists():
        return []
    try:
        runs = json.loads(manifest.read_text(encoding="utf-8"))["runs"]
    except (OSError, ValueError, KeyError) as error:
        raise ManifestError(
            f"{table}: no manifest names the runs that made it ({error!r}); remove it to begin"
        ) from error
    return list(runs)


def replace(file: Path, content: bytes) -> None:
    """Write a file so that it is never there by half."""
    passing = file.with_name(f".{file.name}.part")
    passing.write_bytes(content)
    passing.replace(file)
