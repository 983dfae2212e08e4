"""The files that belong to the project, for the tests of the house."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE_SUFFIXES = {".h", ".cc", ".py", ".sh", ".cmake"}


def project_files():
    """Paths relative to ROOT: what git tracks or would track; without git, all but build output."""
    try:
        listing = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True, text=True).stdout
        names = [name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
        names = [name for name in names if not name.startswith(("build/", ".git/", ".weft/"))]
    return sorted(pathlib.Path(name) for name in names if (ROOT / name).is_file())


def code_files():
    named = {"CMakeLists.txt", "weft", "run", "Dockerfile"}
    return [path for path in project_files()
            if path.suffix in CODE_SUFFIXES or path.name in named]


def cpp_files():
    return [path for path in project_files() if path.suffix in {".h", ".cc"}]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")
