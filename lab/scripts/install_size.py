"""Print what each base dependency adds to an installation: its files, and those of packages that only it needs.

Run it in an environment that holds logiclens: `python -m lab.scripts.install_size.py`. Sizes are of the files as installed,
without compiled bytecode.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def required(name: str) -> set[str]:
    """Return the packages that a package needs itself, without its extras."""
    needs = (Requirement(text) for text in distribution(name).requires or [])
    return {
        canonicalize_name(need.name) for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})
    }


def closure(names: Iterable[str]) -> set[str]:
    """Return the packages and all that they need, as far as they are installed."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        try:
            needs = required(name)
        except PackageNotFoundError:
            continue
        if name not in found:
            found.add(name)
            waiting.extend(needs)
    return found


def megabytes(names: Iterable[str]) -> float:
    """Return the size of the installed files of some packages."""
    files = [file for name in names for file in distribution(name).files or [] if file.suffix != ".pyc"]
    return sum(path.stat().st_size for file in files if (path := file.locate()).is_file()) / 1e6


def main() -> None:
    """Print one line per base dependency, largest first, and the sum."""
    base = required("logiclens")
    whole = closure(base)
    added = {name: whole - closure(base - {name}) for name in base}
    print(f"{'dependency':<16}{'adds MB':>9}  with")
    for name in sorted(base, key=lambda name: -megabytes(added[name])):
        print(f"{name:<16}{megabytes(added[name]):>9.1f}  {', '.join(sorted(added[name] - {name}))}".rstrip())
    print(f"{'all':<16}{megabytes(whole):>9.1f}  {len(whole)} packages; those that several need are in the sum only")


if __name__ == "__main__":
    main()
