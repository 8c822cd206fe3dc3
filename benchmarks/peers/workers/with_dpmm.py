"""dpmm: made-up records by AIM and by MST, with the Private-PGM that it brings along. Attributes come as codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from work import serve, timed

MODELS = {"AIM": AIMGM, "MST": MSTGM}


def synthetic(
    table: str, sizes: list[int], method: str, epsilon: float, delta: float, megabytes: float, repeats: int, out: str
) -> dict[str, Any]:
    """As many made-up records as there are. Its model may hold so many megabytes, which limits what AIM measures."""
    codes = np.load(table)
    names = [f"a{place}" for place in range(len(sizes))]
    frame, domain = pd.DataFrame(codes, columns=names), dict(zip(names, sizes, strict=True))

    def made() -> np.ndarray:
        model = MODELS[method](
            epsilon=epsilon, delta=delta, domain=domain, max_model_size=megabytes, random_state=None, n_jobs=1
        )
        model.fit(frame)
        return model.generate(len(codes))[names].to_numpy()

    tables, seconds = timed(made, repeats)
    np.save(out, np.array(tables).astype(np.int64))
    return {"seconds": seconds}


if __name__ == "__main__":
    serve("dpmm", {"synthetic": synthetic})
