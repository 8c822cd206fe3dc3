"""What values count as that should not be in the table, in sentences."""

from __future__ import annotations

from tetraodon.domain import Attribute
from tetraodon.policy.policy import Policy


def stand_in_sentences(policy: Policy) -> tuple[str, ...]:
    """How missing values and those outside the declared ones are read; a view refuses the latter."""
    only_view = policy.adversary is not None and not policy.items
    told = tuple(_stand_in(attribute, refused=only_view) for attribute in policy.domain)
    if policy.adversary is None or only_view:
        return told
    return (
        "This is how a release reads them. For a view, a missing value counts as below too, but a table with a value "
        "that is not listed, or beyond the ends, is refused.",
        *told,
    )


def _stand_in(attribute: Attribute, *, refused: bool) -> str:
    missing = attribute.text(attribute.missing)
    if refused:
        what = "beyond the ends" if attribute.other is None else "that is not listed"
        return f"{attribute.name}: a missing value counts as {missing}; a table with a value {what} is refused."
    if attribute.other is None:
        return (
            f"{attribute.name}: a missing value counts as {missing}; a value beyond the ends counts as the nearer end."
        )
    other = attribute.text(attribute.other)
    if attribute.other == attribute.missing:
        return f"{attribute.name}: a missing value, and one that is not listed, count as {missing}."
    return f"{attribute.name}: a missing value counts as {missing}; one that is not listed counts as {other}."
