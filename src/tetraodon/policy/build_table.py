"""From `secrets: {table: ...}` of a policy file to a secret of the whole table, and what is not priced beside one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from tetraodon.domain import Domain
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attackers import Chances, TableSecret, distribution
from tetraodon.policy.build import from_elsewhere
from tetraodon.policy.document import TABLE, PolicyDocument, Together
from tetraodon.policy.open_text import OpenText
from tetraodon.policy.policy import Item
from tetraodon.policy.source import Problems
from tetraodon.policy.table_secret import ChancesSection, TableSecretSection, cells_having, joint_chances

HERE = ("secrets", TABLE)
ALONE = "is not priced beside a secret of the whole table"


def take_table(data: dict[str, Any], problems: Problems) -> tuple[dict[str, Any], TableSecretSection | None]:
    """The data of a file without the secret of its whole table, and that, if there is one."""
    secrets, declared = data.get("secrets"), data.get("attributes") or ()
    names = (
        [part.get("name") for part in declared if isinstance(part, dict)] if isinstance(declared, list) else declared
    )
    if not isinstance(secrets, dict) or TABLE not in secrets or TABLE in names:
        return data, None
    rest = data | {"secrets": {name: secret for name, secret in secrets.items() if name != TABLE}}
    try:
        return rest, TableSecretSection.model_validate(secrets[TABLE])
    except ValidationError as error:
        problems.add_shape_errors(error, HERE)
        return rest, None


def build_table(
    section: TableSecretSection,
    document: PolicyDocument,
    domain: Domain,
    opened: Sequence[OpenText],
    problems: Problems,
) -> TableSecret:
    """The secret of the whole table. Stops with every problem of it, and with all that is not priced beside it.

    Why  records are wholly secret beside it, so that `secrets` may say that of attributes, and nothing else.
    """
    _check_alone(document, domain, opened, problems)
    chances = []
    for name in sorted(section.chances, key=lambda name: domain.places.get(name, -1)):
        with problems.at(*HERE, "chances", name):
            chances.append(_chances_of(name, section.chances[name], domain))
    problems.stop()
    with problems.at(*HERE):
        source = from_elsewhere(section.source, document)
        asked, drawn = section.share or section.chance, section.kind == "chance"
        secret = TableSecret(asked, section.within, section.records, tuple(chances), source, drawn)
    problems.stop()
    with problems.at(*HERE, section.kind):
        if not 0 < joint_chances(secret, domain)[cells_having(secret, domain)].sum() < 1:
            raise PolicyError("it holds for everybody, or for nobody", fix="check the condition and its chances")
    problems.stop()
    return secret


def _chances_of(name: str, section: ChancesSection, domain: Domain) -> Chances:
    given = [domain[other].name for other in section.given]
    if len({name, *given}) < len(given) + 1:
        raise PolicyError("`given` names an attribute twice, or the one it is about", fix="name each other one once")
    rows = tuple(distribution(row, name=f"row {n} of {name}") for n, row in enumerate(section.are, 1))
    wanted = math.prod(domain[other].size for other in given)
    if len(rows) != wanted or any(len(row) != domain[name].size for row in rows):
        raise PolicyError(
            f"there are not {domain[name].size} chances in each of {wanted} rows",
            fix="write one for each value, in the order of the values, and a row for each combination of those given",
        )
    return Chances(name, tuple(given), rows)


def _check_alone(document: PolicyDocument, domain: Domain, opened: Sequence[OpenText], problems: Problems) -> None:
    """Refuse whatever else a file may say that has no price beside it."""
    others = [name for name, secret in document.secrets.items() if secret.kind != "everything"]
    dependent = any(entry.kind != "independent" for entry in document.attackers)
    budget = document.budget
    said = {
        ("secrets", *others[:1]): bool(others) and "drop it: records are wholly secret beside it",
        ("together",): document.together != Together() and "drop it: records are wholly secret beside it",
        ("groups",): document.groups and "drop it: records are wholly secret beside it",
        ("individuals",): document.individuals and "use a table with one row for each person",
        ("presence",): document.presence != "public" and "write `presence: public`: a share is one of a known number",
        ("known",): document.known and "drop it if nothing exact was published; else there is no price yet",
        ("attackers",): dependent and "write [independent] if that is true of the records",
        ("adversary",): document.adversary and "publish a view from a policy and a data set of its own",
        ("population",): document.population and "leave it out, and release from one data set",
        ("attributes", *(column.name for column in opened[:1])): bool(opened) and "drop the columns of open text",
        ("budget", "delta"): (budget.delta or budget.rho) and "write {epsilon: 1, once: true}",
    }
    for place, fix in said.items():
        if fix:
            problems.add(place, Refused(f"`{place[0]}` of this kind {ALONE}", fix=str(fix)))
    if not budget.once:
        what = "what several releases tell of a whole table does not add up, so that there is one"
        problems.add(("budget",), Refused(what, fix="write {epsilon: 1, once: true}"))
    for attribute in domain:
        if attribute.separate:
            what = f"a missing value of {attribute.name} that stands apart {ALONE}"
            problems.add(("attributes", attribute.name), Refused(what, fix="write `missing:` one of the other values"))
    problems.stop()


def check_one_number(secret: TableSecret, items: Sequence[Item], domain: Domain, problems: Problems) -> None:
    """Refuse items other than one number about attributes whose chances are stated."""
    if len(items) > 1:
        what = "several items are not priced under a secret of the whole table: what they tell does not add up"
        problems.add(("release",), Refused(what, fix="ask for one count or total"))
    for number, item in enumerate(items):
        with problems.at("release", number):
            asked = item.query.linear(domain)
            if item.where or asked.by or asked.size(domain) != 1:
                raise Refused(f"this {ALONE}: one number is", fix="ask for a count with its condition, or for a total")
            if unsaid := [name for name in asked.names if name not in secret.names]:
                raise PolicyError(
                    f"the chances of {unsaid[0]} are not stated, so that nobody knows what it tells of the share",
                    fix=f"state them under `chances` of `secrets: {{{TABLE}: ...}}`",
                )
    problems.stop()
