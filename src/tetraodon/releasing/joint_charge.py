"""What a release is charged when others came before it, and how that is known ([KM12] section 8).

Where losses add up, a release costs its own loss. Where they do not, the loss of all releases together is computed from
what each of them measured, and the new one is charged the difference. Where that cannot be done, it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from tetraodon.certificate.against_attackers import adds_up, certify_release
from tetraodon.certificate.certificate import Certificate
from tetraodon.errors import Refused, TetraodonError
from tetraodon.gate import Charge
from tetraodon.ledger import Account, Entry
from tetraodon.ledger.entry import ADDS_UP, JOINTLY
from tetraodon.policy.load import load_policy
from tetraodon.releasing.charge import charge_of
from tetraodon.releasing.plan import Plan
from tetraodon.releasing.reprice import entry_measurements


def charge_for(
    plan: Plan, certificate: Certificate, account: Account, entries: Callable[[], Sequence[Entry]]
) -> Charge:
    """The charge of a release whose certificate under the governing policy is given.

    Post  with those of all earlier releases it sums to no less than the loss of all of them together, for whoever the
          governing policy calls an attacker.
    """
    governing = load_policy(account.policy)
    if adds_up(governing.attackers):
        return Charge(charge_of(certificate), ADDS_UP)
    measured = [m for item in plan for m in item.measurements]
    for entry in entries():
        try:
            measured += entry_measurements(entry, governing)
        except TetraodonError as error:
            raise Refused(
                f"how this release composes with entry {entry.id} of the ledger is not known, and losses do not add up "
                "under the governing policy",
                fix="release it from new data with a ledger account of their own",
                where=account.dataset,
            ) from error
    together = certify_release(governing, measured)
    return Charge(max(Fraction(together.epsilon) - account.charged, Fraction(0)), JOINTLY, account.charged)
