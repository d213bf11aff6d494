"""Assembles the sources of the documentation site, and checks the links of the site that is built.

The pages that docs/SUMMARY.md lists are copied with their paths in the repository, so that links
between them stay valid. A file outside the book to which a page links is copied too; source code
gets the ending `.txt`, which every browser shows. A folder becomes the list of its files.

usage: assemble.py assemble DIRECTORY | assemble.py check DIRECTORY
"""

from __future__ import annotations

import html.parser
import posixpath
import re
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUMMARY = "docs/SUMMARY.md"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^\s*(```|~~~)")
SHOWN = {".csv", ".json", ".png", ".svg", ".txt"}


def main() -> int:
    """Run the command that is named."""
    command, directory = sys.argv[1], Path(sys.argv[2])
    if command == "assemble":
        assemble(directory)
        return 0
    broken = list(broken_links(directory))
    print("\n".join(broken), file=sys.stderr)
    return 1 if broken else 0


def assemble(book: Path) -> None:
    """Write the configuration and the pages of the book into a new folder."""
    shutil.rmtree(book, ignore_errors=True)
    (book / "src").mkdir(parents=True)
    for name in ("book.toml", "book.css"):
        shutil.copy(ROOT / "docs/book" / name, book)
    summary = (ROOT / SUMMARY).read_text(encoding="utf-8")
    pages = {resolve(SUMMARY, target) for _, target, _ in LINK.findall(summary)}
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard").split("\n")
    listed = LINK.sub(lambda m: m[1] + as_index(resolve(SUMMARY, m[2])) + m[3], summary)
    (book / "src/SUMMARY.md").write_text(listed, encoding="utf-8")
    for page in sorted(pages):
        text = with_links(page, pages, tracked, book)
        place = book / "src" / as_index(page)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def with_links(page: str, pages: set[str], tracked: list[str], book: Path) -> str:
    """Return the text of a page, its links valid in the book."""

    def link(match: re.Match[str]) -> str:
        path, mark, heading = match[2].partition("#")
        if not path or "://" in match[2] or path.startswith("mailto:"):
            return match[0]
        target = resolve(page, path)
        if target in pages:
            there, anchor = as_index(target), mark + heading
        else:
            there, anchor = copy(target, tracked, book), ""
        place = posixpath.relpath(there, posixpath.dirname(as_index(page)) or ".")
        return match[1] + place + anchor + match[3]

    lines, fenced = [], False
    for line in (ROOT / page).read_text(encoding="utf-8").split("\n"):
        fenced ^= FENCE.match(line) is not None
        lines.append(line if fenced else LINK.sub(link, line))
    return "\n".join(lines)


def copy(target: str, tracked: list[str], book: Path) -> str:
    """Copy a file or the list of a folder's files into the book; return its path there."""
    source = ROOT / target
    if source.is_dir():
        text = "\n".join(file for file in tracked if file.startswith(f"{target}/"))
        return write_text(book, f"{target}/files.txt", text + "\n")
    if source.suffix in SHOWN:
        place = book / "src" / target
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place)
        return target
    return write_text(book, f"{target.removesuffix('.md')}.txt", source.read_text(encoding="utf-8"))


def write_text(book: Path, target: str, text: str) -> str:
    """Write a text with a byte order mark, by which browsers know its encoding."""
    place = book / "src" / target
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8-sig")
    return target


def resolve(page: str, path: str) -> str:
    """Return the path in the repository to which a link of a page leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))


def as_index(page: str) -> str:
    """Return the path of a page in the book: a folder's README is its index."""
    folder, name = posixpath.split(page)
    return posixpath.join(folder, "index.md") if name == "README.md" else page


def run(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


class Page(html.parser.HTMLParser):
    """The ids and the links of a page of the site."""

    def __init__(self, path: Path) -> None:
        """Parse the page."""
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep ids and links."""
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif value and (name, tag) in {("href", "a"), ("src", "img")}:
                self.links.append(value)


def broken_links(site: Path) -> list[str]:
    """Return the links of a built site that lead nowhere."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        if path.name in {"404.html", "toc.html"}:
            continue
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if not target.exists():
                broken.append(f"{path.relative_to(site.resolve())}: {link} is not there")
            elif url.fragment and target in pages:
                if urllib.parse.unquote(url.fragment) not in pages[target].ids:
                    broken.append(f"{path.relative_to(site.resolve())}: {link}: no such heading")
    return broken


if __name__ == "__main__":
    sys.exit(main())
