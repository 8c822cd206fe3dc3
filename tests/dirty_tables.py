"""Two tables as a newcomer brings them: a labour survey and a panel, made up after the summary figures of real ones.

The survey is like SLID (Canada, 1994: 7,425 people, wages of 44% missing), the panel like Males (545 men in each of
eight years, where they lived unknown for 29% of the rows). Nobody's record is in here. They are as dirty as those: a
first column without a name, `NA` for what is missing, blanks around words, days as a German office writes them.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

SURVEYED = 7_425
MEN, YEARS = 545, range(1980, 1988)


def labour_survey(path: Path, seed: int = 1994) -> dict[str, Any]:
    """Write the survey, and tell its columns, `None` where a value is missing."""
    random = np.random.default_rng(seed)
    sex = random.choice(["Female", "Male"], SURVEYED, p=[0.5226, 0.4774])
    language = random.choice(["English", "French", "Other", "NA"], SURVEYED, p=[0.7698, 0.0669, 0.1470, 0.0163])
    age = np.clip(np.round(16 + 79 * random.beta(1.3, 2.3, SURVEYED)), 16, 95).astype(int)
    education = np.clip(np.round(random.normal(12.5, 3.36, SURVEYED), 1), 0, 20)
    hourly = np.clip(random.lognormal(np.where(sex == "Male", 2.72, 2.53), 0.5, SURVEYED), 2.3, 49.92)
    columns: dict[str, list[Any]] = {
        "wages": _with_gaps(np.round(hourly, 2), 0.4415, random),
        "education": _with_gaps(education, 0.0335, random),
        "age": age.tolist(),
        "sex": sex.tolist(),
        "language": [None if word == "NA" else str(word) for word in language],
        "interviewed": [f"{day:02d}.01.2026" for day in random.integers(1, 32, SURVEYED)],
    }
    blanks = random.random(SURVEYED) < 0.05
    spelt = columns | {
        "language": [f" {w} " if w and b else w for w, b in zip(columns["language"], blanks, strict=True)]
    }
    _write(path, spelt)
    return columns


def panel(path: Path, seed: int = 1980) -> dict[str, Any]:
    """Write the panel: eight rows for each man."""
    random = np.random.default_rng(seed)
    level, places = random.normal(1.4, 0.4, MEN), ["south", "northern_central", "north_east", "rural_area"]
    home = random.choice(places, MEN, p=[0.43, 0.31, 0.23, 0.03])
    rows = [(man, year) for man in range(MEN) for year in YEARS]
    columns: dict[str, list[Any]] = {
        "nr": [1000 + 7 * man for man, _ in rows],
        "year": [year for _, year in rows],
        "union": ["yes" if random.random() < 0.244 else "no" for _ in rows],
        "wage": [round(float(level[m] + 0.06 * (y - 1980) + random.normal(0, 0.35)), 4) for m, y in rows],
        "residence": _with_gaps(np.array([home[man] for man, _ in rows]), 0.2856, random),
    }
    _write(path, columns)
    return columns


def _with_gaps(values: Any, share: float, random: np.random.Generator) -> list[Any]:
    return [
        None if gap else value for value, gap in zip(values.tolist(), random.random(len(values)) < share, strict=True)
    ]


def _write(path: Path, columns: dict[str, list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["", *columns])
        for number, row in enumerate(zip(*columns.values(), strict=True), 1):
            writer.writerow([number, *("NA" if value is None else value for value in row)])
