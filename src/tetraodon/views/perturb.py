"""A table whose secret values were replaced by chance, record by record: published, charged, and asked."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.direct_losses import certify_replacement
from tetraodon.domain import Attribute, Domain
from tetraodon.engine import Counts
from tetraodon.engine.open_table import Source
from tetraodon.errors import QueryError, Refused, ReleaseError
from tetraodon.exact.rational import Number, decimal_text, rational, stated_number
from tetraodon.gate import OutputFolder, Permit, ReleaseTransaction, Terms
from tetraodon.inference.estimate import CONFIDENCE, Estimate
from tetraodon.ledger import Ledger, document_hash, opened
from tetraodon.policy.attribute_graph import Public
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.load import AnyPolicy, load_policy, stated_policy
from tetraodon.policy.policy import Policy
from tetraodon.query.condition.read import truth_table
from tetraodon.releases.counting import check_not_empty, open_policy_table, whole_table
from tetraodon.releases.pricing import check_same_data, governing_policy
from tetraodon.untrusted_files import plain_file, read_json
from tetraodon.views.estimate import level
from tetraodon.views.perturbation import Loss, Perturbation, fall_of, geometric, perturbation
from tetraodon.views.side_tables import Sandbox
from tetraodon.views.tuple_files import TUPLES, cells_of, require_numbered, take_drawn, write_view

MANIFEST = "perturbed.json"
CELLS = 50_000


def perturb(
    policy: AnyPolicy,
    table: Source,
    *,
    epsilon: Number,
    loss: Loss | None = None,
    ledger: Ledger | str | os.PathLike[str],
    out: str | os.PathLike[str] = "perturbed",
    force: bool = False,
    resume: bool = False,
    allow_dearer: bool = False,
) -> Perturbed:
    """Publish every record with its secret values replaced by chance, charging the ledger first.

    Values that the policy calls public are shown as they are. `epsilon` is shared evenly among the attributes that a
    step of the policy's graph can change at once. The number of records is shown, so presence must be public. With
    `resume`, a table that was charged and not finished is finished, with the same rows if they were drawn. What the
    governing policy makes dearer than `epsilon` is refused unless `allow_dearer` says otherwise.
    """
    policy = load_policy(policy)
    table = whole_table(policy, table, "a perturbed table")
    matrices = matrices_of(policy, rational(epsilon, name="epsilon"), loss)
    asked = Fraction(certificate_of(policy, matrices).epsilon)
    manifest = {
        "policy": dict(policy.document),
        "epsilon": str(asked),
        "matrices": {name: matrix_document(one) for name, one in matrices.items()},
    }
    plan = {"perturbation": {name: decimal_text(one.loss) for name, one in matrices.items()}}
    place = OutputFolder.of(Path(out), MANIFEST)
    again = {"force": force, "resume": resume, "allow_dearer": allow_dearer}
    with opened(ledger) as book:
        governing = governing_policy(book.account(policy.account))
        check_same_data(policy, governing)
        with ReleaseTransaction(book, policy.account, request=document_hash(manifest), place=place, **again) as way:
            if not way.complete:
                if way.drawn is None:
                    terms = Terms(certificate_of(governing, matrices), asked, policy.document, plan)
                    way.check_price(terms)
                    with way.counting(), open_policy_table(policy, table, governing) as engine:
                        counts = engine.counts([policy.domain.names])[0]
                        check_not_empty(governing, [counts])
                    permit = way.spend(terms)
                    way.keep(lambda folder: _draw(folder, policy.domain, matrices, counts, permit))
                way.finish(lambda folder, _: _fill(folder, way.drawn, manifest))
    return load_perturbed(place.path)


def _draw(folder: Path, domain: Domain, matrices: Mapping[str, Perturbation], counts: Counts, permit: Permit) -> None:
    """Replace the values of every record, and write what is shown."""
    codes, coins = np.repeat(counts.codes, counts.counts, axis=0), permit.coins
    shown = np.stack([one.draw(codes[:, place], coins=coins) for place, one in enumerate(matrices.values())], axis=1)
    cells = np.sort(cells_of(domain, shown))  # in the order drawn, the rows would tell the true order
    write_view(folder, domain, [cells])


def _fill(folder: Path, drawn: Path | None, manifest: Mapping[str, Any]) -> str:
    assert drawn is not None
    take_drawn(drawn, folder)
    text = json.dumps(manifest, indent=1)
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return sha256(text.encode()).hexdigest()


def matrices_of(policy: Policy, epsilon: Fraction, loss: Loss | None = None) -> dict[str, Perturbation]:
    """The matrix of every attribute, so that a record loses at most epsilon along an edge."""
    require_numbered(policy.domain)
    each = epsilon / min(policy.graph.at_most, len(policy.graph.factors))
    found = {}
    for attribute in policy.domain:
        graph = policy.graph.factor_of(attribute.name).graph
        if isinstance(graph, JointGraph):
            raise Refused(
                "attributes that are measured together cannot be replaced one by one",
                fix="give each attribute a graph of its own",
                where=attribute.name,
            )
        found[attribute.name] = perturbation(attribute, graph, each, None if isinstance(graph, Public) else loss)
    return found


def certificate_of(policy: Policy, matrices: Mapping[str, Perturbation]) -> Certificate:
    """What replacing values by these matrices loses under a policy. Refused where it is infinite."""
    certificate = certify_replacement(policy, {name: one.matrix for name, one in matrices.items()})
    if not certificate.finite:
        raise Refused(
            "the governing policy protects what this table would tell for certain",
            fix="perturb under the governing policy",
            where=policy.dataset,
        )
    return certificate


@dataclass(frozen=True)
class Perturbed:
    """A table of records with replaced values, and the matrices they were replaced by."""

    domain: Domain
    matrices: Mapping[str, Perturbation]
    rows: Path

    @cached_property
    def _sandbox(self) -> Sandbox:
        sandbox = Sandbox(self.domain)
        sandbox.hold(self.rows)
        return sandbox

    def ask(self, condition: str, *, confidence: Number = CONFIDENCE) -> Estimate:
        """The unbiased estimate of how many records satisfy a condition, with Hoeffding's interval.

        Why  every record adds a number of its own to the estimate, independent of the others and between two bounds.
        """
        sure = level(confidence)
        names, holds = truth_table(condition, self.domain)
        places = tuple(self.domain.position(name) for name in names)
        weights: NDArray[Any] = holds.astype(int).astype(object).reshape([self.domain.shape[p] for p in places])
        if weights.size > CELLS:
            raise QueryError("the condition looks at too many cells", fix="name fewer or coarser attributes in it")
        for axis, name in enumerate(names):
            inverse = np.array(self.matrices[name].inverse, object)
            weights = np.moveaxis(np.tensordot(inverse, weights, axes=(1, axis)), 0, axis)
        shown = self._sandbox.counts(None, places)
        records = int(shown.sum())
        value = Fraction((shown * weights).sum())
        reach = float(max(weights.flat) - min(weights.flat)) * math.sqrt(records * math.log(2 / float(1 - sure)) / 2)
        low, high = max(0.0, float(value) - reach), min(float(records), float(value) + reach)
        return Estimate(float(value), low, high, sure)


def load_perturbed(path: str | os.PathLike[str]) -> Perturbed:
    """A folder of `perturb`, read back."""
    folder = Path(path)
    try:
        manifest = read_json(plain_file(folder, MANIFEST))
        policy = stated_policy(manifest["policy"])
        matrices = {
            a.name: _read(a, policy.graph.factor_of(a.name).graph, manifest["matrices"][a.name]) for a in policy.domain
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError):
        raise ReleaseError("the perturbed table cannot be read", fix="ask for a new copy", where=str(folder)) from None
    return Perturbed(policy.domain, matrices, folder / TUPLES)


def matrix_document(made: Perturbation) -> dict[str, Any]:
    """A matrix as JSON: by its one number if it is geometric, or written out."""
    fall = fall_of(made.matrix)
    if fall is not None:
        return {"geometric": str(fall)}
    return {"rows": [[str(p) for p in row] for row in made.matrix]}


def _read(attribute: Attribute, graph: Any, document: Mapping[str, Any]) -> Perturbation:
    if "geometric" in document:
        return Perturbation(attribute, graph, geometric(stated_number(document["geometric"]), attribute.size))
    return Perturbation(attribute, graph, [[stated_number(p) for p in row] for row in document["rows"]])
