"""Trials of the server that take longer than tests may.

    python -m scripts.server_trials kills --number 300   kill jobs (SIGKILL) at any time, resume, and look what stands
    python -m scripts.server_trials times --number 500   when answers are told about two neighbouring tables
    python -m scripts.server_trials full --number 30     jobs on a disk that is full at any point, and has room later
    python -m scripts.server_trials load --minutes 10    fifty analysts plan and ask at once, for more than there is
    python -m scripts.server_trials load --fresh         the same, and no plan is asked twice
    python -m scripts.server_trials load --heavy 15      the same beside 15 analysts whose plans take long
    python -m scripts.server_trials outages --number 26  workers are killed and Postgres is stopped, --rounds times

Everything happens on this machine, in a temporary folder, and ends with a line of JSON; `load` with a table.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

from scripts.server_trials.jobs import INSIDE, full, kills, on_a_full_disk, times
from scripts.server_trials.load import load
from scripts.server_trials.outages import outages
from scripts.server_trials.trial import ANALYSTS, Trial


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trial", choices=["kills", "times", "full", "load", "outages"])
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--heavy", type=int, default=0)
    chosen = parser.parse_args()
    match chosen.trial:
        case "full" if INSIDE in os.environ:
            found = on_a_full_disk(Path(os.environ[INSIDE]), chosen.number)
        case "full":
            found = full(chosen.number)
        case "times":
            found = times(chosen.number, chosen.processes)
        case "outages":
            with tempfile.TemporaryDirectory() as place:
                found = outages(Path(place), chosen.number, chosen.rounds)
        case _:
            with tempfile.TemporaryDirectory() as place:
                trial = Trial(Path(place), ANALYSTS + chosen.heavy if chosen.trial == "load" else 1)
                if chosen.trial == "load":
                    kind = {"fresh": chosen.fresh, "heavy": chosen.heavy}
                    print(load(trial, 60 * chosen.minutes, chosen.rate, Path(place), **kind))
                    return
                found = kills(trial, chosen.number)
                trial.context.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
