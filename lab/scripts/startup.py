"""Time imports: the package, the rules alone, loaded rules that predict, and the command line.

    python -m lab.scripts.startup.py [--repeats 15]

Each runs in a fresh process and is compared with a process that does nothing; the difference is the cost of the
import. The goal for `import logiclens` is 0.15 s without heavy libraries: the last column names which of torch,
scikit-learn, pandas and scipy were loaded.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HEAVY = ("torch", "sklearn", "pandas", "scipy", "matplotlib")
LOADED = f"import sys; print('loaded:', ','.join(m for m in {HEAVY} if m in sys.modules))"


def programs(folder: Path) -> dict[str, str]:
    """Return the measured programs."""
    rows = "{c: [1.0] * 1000 for c in rules.columns}"
    return {
        "nothing (Python itself)": "",
        "import numpy": "import numpy",
        "import logiclens": "import logiclens",
        "from logiclens import RuleSet": "from logiclens import RuleSet",
        "rules loaded, 1,000 rows predicted": (
            f"from logiclens import RuleSet; rules = RuleSet.load({str(folder)!r}); rules.predict({rows})"
        ),
        "from logiclens import Booleaniser": "from logiclens import Booleaniser",
        "from logiclens import EntropyClassifier": "from logiclens import EntropyClassifier",
        "logiclens --version": (
            "import sys; sys.argv = ['logiclens', '--version']\nfrom logiclens.cli import main\n"
            "try:\n    main()\nexcept SystemExit:\n    pass"
        ),
    }


def measured(program: str) -> tuple[float, float, str]:
    """Return wall and CPU seconds of a fresh process, and the libraries it loaded."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", f"{program}\n{LOADED}"], capture_output=True, text=True, check=True)
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, done.stdout.strip().splitlines()[-1].removeprefix("loaded:").strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", help="keep every value")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = _model(Path(scratch) / "model")
        found: dict[str, list[tuple[float, float, str]]] = {name: [] for name in programs(folder)}
        for _ in range(asked.repeats):
            # In turns, so that other work on the machine affects all alike.
            for name, program in programs(folder).items():
                found[name].append(measured(program))
    base = float(np.median([cpu for _, cpu, _ in found["nothing (Python itself)"]]))
    print("| process | wall s, median (min-max) | CPU s above Python itself | loaded |")
    print("| --- | --- | --- | --- |")
    for name, runs in found.items():
        wall, cpu = np.array([run[0] for run in runs]), np.array([run[1] for run in runs])
        spread = f"{np.median(wall):.3f} ({wall.min():.3f}-{wall.max():.3f})"
        print(f"| {name} | {spread} | {np.median(cpu) - base:.3f} | {runs[0][2] or '-'} |")
    if asked.json:
        Path(asked.json).write_text(json.dumps(found))


def _model(folder: Path) -> Path:
    """Save a model to load."""
    import warnings

    from sklearn.datasets import load_breast_cancer

    from logiclens import EntropyClassifier

    bunch = load_breast_cancer(as_frame=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EntropyClassifier(exact=True, epochs=60).fit(bunch.data, bunch.target).save(folder)


if __name__ == "__main__":
    main()
