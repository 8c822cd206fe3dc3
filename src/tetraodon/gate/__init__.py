"""The one way from counts to the public: count, charge, draw noise, keep it, write, settle; and go on after a crash.

`ReleaseTransaction` is the way, `Terms` what is charged for, `Permit` what noise for data is drawn with.
"""

from tetraodon.gate.output_folder import OutputFolder
from tetraodon.gate.release_transaction import (
    COMPLETE,
    Charge,
    Permit,
    ReleaseTransaction,
    Terms,
    require_not_dearer,
    without_ledger,
)

__all__ = [
    "COMPLETE",
    "Charge",
    "OutputFolder",
    "Permit",
    "ReleaseTransaction",
    "Terms",
    "require_not_dearer",
    "without_ledger",
]
