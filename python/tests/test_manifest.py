"""The manifests of tables: what the schema accepts, and what the writer of the studies writes."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastjsonschema  # type: ignore[import-untyped]
import pytest
from drawing import manifest

ROOT = Path(__file__).resolve().parents[2]
VECTORS = json.loads((ROOT / "tests/manifests/vectors.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def validate() -> Callable[[object], object]:
    """Return what raises unless a manifest is as the schema says."""
    schema = (ROOT / "docs/reference/manifest.schema.json").read_text(encoding="utf-8")
    compiled: Callable[[object], object] = fastjsonschema.compile(json.loads(schema))
    return compiled


def changed(case: dict[str, Any]) -> object:
    """Return the manifest of the vectors with one change."""
    whole = copy.deepcopy(VECTORS["manifest"])
    *path, last = (case.get("set") or case["remove"]).split("/")[1:]
    place = whole
    for name in path:
        place = place[int(name) if isinstance(place, list) else name]
    if "remove" in case:
        del place[last]
    else:
        place[last] = case["to"]
    return whole


def names(cases: list[dict[str, Any]]) -> list[str]:
    """Return what each case is called."""
    return [case["what"] for case in cases]


@pytest.mark.parametrize("case", VECTORS["accepted"], ids=names(VECTORS["accepted"]))
def test_the_schema_accepts(case: dict[str, Any], validate: Callable[[object], object]) -> None:
    """What the vectors accept is valid by the schema."""
    validate(VECTORS["manifest"])
    validate(changed(case))


@pytest.mark.parametrize("case", VECTORS["refused"], ids=names(VECTORS["refused"]))
def test_the_schema_refuses(case: dict[str, Any], validate: Callable[[object], object]) -> None:
    """What they refuse is not."""
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validate(changed(case))


@pytest.mark.parametrize("case", VECTORS["commands"], ids=names(VECTORS["commands"]))
def test_commands_name_no_path_of_a_machine(case: dict[str, Any]) -> None:
    """A command loses its absolute paths, each as the vectors say."""
    root = Path(case["root"]) if case["root"] else None
    given = (case["given"], root, Path(case["output"]), case["study"])
    assert manifest.normalised(*given) == case["command"]
    assert not manifest.ABSOLUTE.search(case["command"])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with one study, its table and a program, all committed."""
    root = tmp_path / "tidings"
    (root / "studies/ages").mkdir(parents=True)
    (root / "Cargo.toml").write_text('[workspace.package]\nversion = "0.1.0"\n')
    for name in ("ages.csv", "run", "README.md"):
        (root / "studies/ages" / name).write_text("one\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "all"]):
        subprocess.run(["git", "-C", str(root), *words], check=True)
    return root


def test_a_table_and_its_manifest(
    repository: Path, validate: Callable[[object], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both appear together, as the schema says, and leave nothing else."""
    monkeypatch.setattr(manifest, "ROOT", repository)
    folder = repository / "studies/ages"
    command = f"tidings sim ages --output {folder}"
    table = manifest.Table(folder / "ages.csv", command=command, seed=range(1, 3))
    table.write("a,b\n1,2\n", facts={"runs": 2}, added={"cc": "cc 12"})
    assert (folder / "ages.csv").read_text() == "a,b\n1,2\n"
    whole = json.loads((folder / "ages.manifest.json").read_text())
    validate(whole)
    assert whole["table_sha256"] == manifest.digest(b"a,b\n1,2\n")
    (run,) = whole["runs"]
    assert run["command"] == "tidings sim ages --output studies/ages"
    assert (run["seed"], run["versions"]["cc"], whole["facts"]) == ([1, 2], "cc 12", {"runs": 2})
    assert "trial" not in run
    assert len(list(folder.iterdir())) == 4, "nothing else is left"

    # What studies write is no source: the next table of the same run is not refused for it.
    (folder / "README.md").write_text("drawn\n")
    again = manifest.Table(folder / "ages.csv", command="x", goes_on=True)
    again.record()
    assert len(json.loads((folder / "ages.manifest.json").read_text())["runs"]) == 2


def test_a_published_table_is_refused_before_the_run(
    repository: Path, validate: Callable[[object], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sources of no commit are found before the run; elsewhere the table is marked as a trial."""
    monkeypatch.setattr(manifest, "ROOT", repository)
    (repository / "studies/ages/run").write_text("changed\n")
    with pytest.raises(manifest.ManifestError, match="1 file differs from the commit: studies/"):
        manifest.Table(repository / "studies/ages/ages.csv", command="x")
    trial = manifest.Table(repository / "target/trial/ages.csv", command="x")
    trial.write("a\n")
    whole = json.loads((repository / "target/trial/ages.manifest.json").read_text())
    validate(whole)
    assert whole["runs"][0]["trial"] == "1 file differs from the commit: studies/ages/run"
    # To go on with lines that no manifest speaks of would lend them this one's commit.
    (repository / "target/trial/ages.manifest.json").unlink()
    with pytest.raises(manifest.ManifestError, match="no manifest names"):
        manifest.Table(repository / "target/trial/ages.csv", command="x", goes_on=True)


def test_without_a_repository_a_table_is_a_trial(
    tmp_path: Path, validate: Callable[[object], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has no repository gets a table all the same, but none to publish."""
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "0.1.0"\n')
    monkeypatch.setattr(manifest, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    manifest.Table(tmp_path / "out/a.csv", command="x").write("a\n")
    whole = json.loads((tmp_path / "out/a.manifest.json").read_text())
    validate(whole)
    assert whole["runs"][0]["commit"] is None
    assert whole["runs"][0]["trial"].startswith("no commit is known")
    with pytest.raises(manifest.ManifestError, match="/proc/none: No such file"):
        manifest.Table(Path("/proc/none/a.csv"), command="x")


def test_a_study_refuses_changed_sources_before_it_measures(repository: Path) -> None:
    """Its `run` names them; `--trial` measures all the same, into a folder of its own."""
    prelude = (ROOT / "studies/prelude.sh").read_text(encoding="utf-8")
    (repository / "studies/prelude.sh").write_text(prelude)
    run = repository / "studies/ages/run"
    lines = (
        "# How old?",
        '. "$(dirname "$0")/../prelude.sh"',
        'measure() { echo new >"$FRESH/ages.csv"; }',
        'study "$@"',
    )
    run.write_text("\n".join(lines) + "\n")

    def measured(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "studies/ages/run", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=repository)

    refused = measured()
    assert refused.returncode == 1
    assert "studies/ages/run: tables are published from a commit only" in refused.stderr
    assert (repository / "studies/ages/ages.csv").read_text() == "one\n"
    assert measured("--trial").returncode == 0
    assert (repository / "target/trial/ages/ages.csv").read_text() == "new\n"
    assert (repository / "studies/ages/ages.csv").read_text() == "one\n"

    identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    for words in (["add", "studies"], [*identity, "commit", "-qm", "all"]):
        subprocess.run(["git", "-C", str(repository), *words], check=True)
    (repository / "studies/ages/README.md").write_text("drawn\n")
    assert measured().returncode == 0
    assert (repository / "studies/ages/ages.csv").read_text() == "new\n"
