"""A policy file, a short policy as a dict, and everything that can be wrong with them."""

from __future__ import annotations

FILE = """\
tetraodon: 1                               # the first line
dataset: household-survey-2026
title: Capital losses of survey respondents
individuals: one row each
presence: public
attributes:
  age:          {integer: [17, 90]}
  sex:          [Female, Male]
  capital_loss: {integer: [0, 4356], unit: USD}
secrets:
  capital_loss: {within: 100}
  age:          {within: 5}
  sex:          public
together: one attribute at a time
known: []
attackers: [independent]
budget: {epsilon: 1}
table: {separator: ";", decimal: ",", encoding: latin-1}
release:
  - {name: losses, cdf: capital_loss, share: 3}
  - {name: ages,   histogram: [age, sex], share: 1}
"""


def small(**changes: object) -> dict[str, object]:
    """A short valid policy, changed."""
    return {
        "dataset": "d",
        "presence": "public",
        "attributes": {
            "x": {"integer": [0, 9]},
            "y": {"real": [0, 1], "step": "0.1"},
            "c": ["a", "b", "c"],
            "o": {"ordered": ["low", "middle", "high"]},
            "d": {"date": ["2020-01-01", "2020-12-31"]},
            "t": "boolean",
        },
        "budget": {"epsilon": 1},
        **changes,
    }


WRONG = [
    # in the file, what is changed into what, the line, and words of the message
    ("presence:", "presense:", 5, "'presense' is not known here. Fix: did you mean 'presence'?"),
    ("age:          {within", "agee:          {within", 12, "no attribute 'agee'. Fix: did you mean 'age'?"),
    ("{integer: [17, 90]}", "{integr: [17, 90]}", 7, "did you mean 'integer'?"),
    ("{integer: [17, 90]}", "{integer: [90, 17]}", 7, "is empty"),
    ("{integer: [17, 90]}", "{integer: [17]}", 7, "two ends are expected"),
    ("{integer: [17, 90]}", "{integer: 17}", 7, "a list is expected"),
    ("{integer: [17, 90]}", "{integer: [17.5, 90]}", 7, "not a whole number"),
    ("{integer: [17, 90]}", "{integer: [17, 1e99]}", 7, "more than 10^18 values"),
    ("{integer: [17, 90]}", "{real: [17, 90]}", 7, "needs a grid"),
    ("{integer: [17, 90]}", "{real: [17, 90], step: 0}", 7, "not positive"),
    ("{integer: [17, 90]}", "{real: [17, 90], step: 0.3}", 7, "whole number of steps"),
    ("{integer: [17, 90]}", "{integer: [17, 90], step: 2}", 7, "only real attributes have a step"),
    ("{integer: [17, 90]}", "{integer: [17, 90], date: [a, b]}", 7, "both `integer` and `date`"),
    ("{integer: [17, 90]}", "{unit: years}", 7, "does not say which kind"),
    ("{integer: [17, 90]}", "{integer: [17, 90], missing: 16}", 7, "'16' is not a value of age"),
    ("{integer: [17, 90]}", "whole numbers", 7, "'whole numbers' is not understood"),
    ("{integer: [17, 90]}", "{date: [2020-02-30, 2021-01-01]}", 7, "'2020-02-30' is not a day"),
    ("{integer: [17, 90]}", "{boolean: false}", 7, "says nothing"),
    ("{integer: [17, 90]}", "{integer: [17, 90], name: old}", 7, "the name is not the key"),
    ("{integer: [17, 90]}", "{integer: [CONFIRM, CONFIRM]}", 7, "CONFIRM still stands here"),
    ("[Female, Male]", "[]", 8, "empty"),
    ("[Female, Male]", "", 8, "a map of keys and values is expected"),
    ("[Female, Male]", "[Female, [Male]]", 8, "a single value is expected"),
    ("[Female, Male]", "[Female, Male, Male]", 8, "listed twice"),
    ("[Female, Male]", "{categories: [Female, Male], other: Mael}", 8, "did you mean 'Male'?"),
    ("{within: 5}", "{within: -5}", 12, "`within` is below zero"),
    ("{within: 5}", "{within: 0}", 12, "or `public` if no two values need protection"),
    ("{within: 5}", "{within: 0.99}", 12, "reaches no other value"),
    ("{within: 5}", "{within: .nan}", 12, "not a finite number"),
    ("{within: 5}", "{within: [5]}", 12, "a list is not a finite number"),
    ("{within: 5}", "{}", 12, "does not say which kind"),
    ("{within: 5}", "{everything: false}", 12, "says nothing"),
    ("{within: 5}", "{blocks: [[17, 30], [30, 90]]}", 12, "two blocks of age overlap at 30"),
    ("{within: 5}", "{blocks: [[17, 30], [32, 90]]}", 12, "leave 31 out"),
    ("{within: 5}", "{blocks: [[17, 20, 90]]}", 12, "is not a range"),
    ("{within: 5}", "{blocks: [[90, 17]]}", 12, "is not a range"),
    ("{within: 5}", "{blocks: [[]]}", 12, "is empty"),
    ("{within: 5}", "{blocks: 3}", 12, "a list is expected"),
    ("{within: 5}", "{blocks: [17, 90]}", 12, "a list is expected"),
    ("{within: 5}", "{pairs: [[17, 91]]}", 12, "'91' is not a value of age. Fix: use values from 17 to 90"),
    ("{within: 5}", "{pairs: [[17, 17.5]]}", 12, "'17.5' is not a value of age"),
    ("{within: 5}", "{pairs: [[17]]}", 12, "does not have two values"),
    ("{within: 5}", "{pairs: [[17, 17]]}", 12, "to itself"),
    ("{within: 5}", "{pairs: []}", 12, "is empty"),
    ("sex:          public", "sex: {within: 1}", 13, "have no order"),
    ("sex:          public", "sex: pubic", 13, "write everything or public"),
    ("sex:          public", "sex: {pairs: [[Female, Mael]]}", 13, "did you mean 'Male'?"),
    ("sex:          public", "sex: {blocks: [[Female, Female], [Male]]}", 13, "lists a value twice"),
    ("known: []", "groups: {by: sex, rules: {Mael: none}}", 15, "did you mean 'Male'?"),
    ("known: []", "groups: {by: sexx, rules: {Male: none}}", 15, "did you mean 'sex'?"),
    ("known: []", "groups: {by: age, rules: {'17': none}}", 15, "age is a secret, so that it cannot say whose"),
    ("known: []", "groups: {rules: {Male: none}}", 15, "`by` is missing"),
    ("known: []", "groups: {by: sex}", 15, "`rules` is missing"),
    ("known: []", "groups: {by: sex, rules: {Male: nothing}}", 15, "write none; or"),
    ("known: []", "groups: {by: sex, rules: {Male: {}}}", 15, "this rule says nothing"),
    ("known: []", "groups: {by: sex, rules: {Male: {secret: {}}}}", 15, "did you mean 'secrets'?"),
    ("known: []", "groups: {by: sex, rules: {Male: {none: true, secrets: {age: public}}}}", 15, "write none alone"),
    ("known: []", "groups: {by: sex, rules: {Male: {secrets: {aeg: public}}}}", 15, "did you mean 'age'?"),
    ("known: []", "groups: {by: sex, rules: {Male: {secrets: {age: {withn: 3}}}}}", 15, "did you mean 'within'?"),
    ("known: []", "groups: {by: sex, rules: {Male: {secrets: {age: {within: 0}}}}}", 15, "reaches no other value"),
    ("known: []", "groups: {by: sex, rules: {Male: {secrets: {sex: everything}}}}", 15, "Fix: drop sex here"),
    ("known: []", "groups: {by: sex, rules: {Male: {together: {at most: 0}}}}", 15, "below one"),
    (
        "known: []",
        "groups: {by: sex, rules: {Male: {together: {metric: l1, over: [sex, age], within: 2}}}}",
        15,
        "Fix: drop sex from `over`",
    ),
    ("one attribute at a time", "one at a time", 14, "is not understood"),
    ("one attribute at a time", "{at most: 0}", 14, "below one"),
    ("one attribute at a time", "{at most: 1.5}", 14, "not a whole number"),
    ("one attribute at a time", "{metric: l3, over: [age], within: 1}", 14, "'l3' is not understood"),
    ("one attribute at a time", "{metric: l1, over: [age, sex], within: 1}", 14, "sex is not a number"),
    ("one attribute at a time", "{metric: l1, over: [age], within: 1}", 12, "measured by `together` already"),
    ("one attribute at a time", "{metric: l1, over: [age, age], within: 1}", 14, "named twice"),
    ("one attribute at a time", "{metric: l1, over: [aeg], within: 1}", 14, "did you mean 'age'?"),
    ("one attribute at a time", "{metric: l1, over: [age]}", 14, "needs `over` and `within`"),
    ("one attribute at a time", "{over: [age], within: 3}", 14, "the metric is missing"),
    ("one attribute at a time", "{metric: l1, over: [age], within: 1, at most: 1}", 14, "cannot be combined"),
    ("one attribute at a time", "{metric: l1, over: [age], within: -1}", 14, "not positive"),
    ("one attribute at a time", "{metric: great circle km, over: [age], within: 1}", 14, "needs two attributes"),
    ("one row each", "two rows each", 4, "is not understood"),
    ("one row each", "{key: id}", 4, "does not say how many rows of a person"),
    ("one row each", "{key: id, at most: none}", 4, "not a finite number"),
    ("one row each", "{key: id, at most: 0 rows}", 4, "between 1 and"),
    ("presence: public", "presence: hidden", 5, "write one of: public, secret"),
    ("{epsilon: 1}", "{epsilon: 0}", 17, "epsilon is not positive"),
    ("{epsilon: 1}", "{epsilon: -1}", 17, "epsilon is not positive"),
    ("{epsilon: 1}", "{epsilon: NaN}", 17, "not a finite number"),
    ("{epsilon: 1}", "{epsilon: .inf}", 17, "not a finite number"),
    ("{epsilon: 1}", "{epsilon: 1e999999999}", 17, "not a finite number"),
    ("{epsilon: 1}", "{epsilon: 1/0}", 17, "not a finite number"),
    ("{epsilon: 1}", "{epsilon: one}", 17, "not a finite number"),
    ("{epsilon: 1}", "{epsilon: }", 17, "nothing is not a finite number"),
    ("{epsilon: 1}", "{rho: 0}", 17, "rho is not positive"),
    ("{epsilon: 1}", "{rho: 1e9}", 17, "rho is out of all proportion"),
    ("{epsilon: 1}", "{epsilon: 1, rho: 1}", 17, "both `epsilon` and `rho`"),
    ("{epsilon: 1}", "{epsilon: 1, delta: 0.1}", 17, "delta is not a small probability"),
    ("{epsilon: 1}", "{epsilon: 1, delta: -1}", 17, "delta is not a small probability"),
    ("{epsilon: 1}", "1", 17, "a map of keys and values is expected"),
    ("{epsilon: 1}", "{}", 17, "does not say which kind"),
    ("{epsilon: 1}", "", 17, "`budget` is missing"),
    ("dataset: household-survey-2026", "dataset: ''", 2, "where text is expected"),
    ("dataset: household-survey-2026", 'dataset: "a\\nb"', 2, "unprintable"),
    ("dataset: household-survey-2026", "", 1, "`dataset` is missing"),
    ("tetraodon: 1", "tetraodon: 2", 1, "Fix: upgrade tetraodon"),
    ("tetraodon: 1", "tetraodon: 0", 1, "no such version"),
    ('separator: ";"', "separator: ';;'", 18, "not one character"),
    ('separator: ";"', "separator: ','", 18, "not one character"),
    ("latin-1", "klingon", 18, "no such encoding"),
    ('decimal: ","', "decimal: ;", 18, "is not understood"),
    ("share: 3", "share: 0", 20, "share is not positive"),
    ("share: 3", "share: -2", 20, "share is not positive"),
    ("cdf: capital_loss", "cdf: capital_los", 20, "did you mean 'capital_loss'?"),
    ("cdf: capital_loss", "cdf: sex", 20, "have no order"),
    ("cdf: capital_loss", "cdf: [sex]", 20, "a list stands where text is expected"),
    ("cdf: capital_loss", "cfd: capital_loss", 20, "did you mean 'cdf'?"),
    ("cdf: capital_loss", "cdf: age, mean: age", 20, "both `cdf` and `mean`"),
    ("cdf: capital_loss", "mean: sex", 20, "is not a number"),
    ("cdf: capital_loss", "cdf: age, bins: {age: 10}", 20, "`bins` means nothing for `cdf`"),
    ("cdf: capital_loss", "cdf: age, by: age", 20, "used twice"),
    ("cdf: capital_loss", "quantiles: age, at: [1.5]", 20, "between 0 and 1"),
    ("cdf: capital_loss", "ranges: {age: []}", 20, "list of ranges is empty"),
    ("cdf: capital_loss", "ranges: {age: [[17]]}", 20, "not a pair"),
    ("cdf: capital_loss", "ranges: {age: 3}", 20, "does not list ranges"),
    ("cdf: capital_loss", "ranges: [age]", 20, "does not name ranges"),
    ("cdf: capital_loss", "ranges: {age: [[40, 30]]}", 20, "is empty"),
    ("cdf: capital_loss", "ranges: {age: [[17, 18], [17, 18]]}", 20, "two ranges are called"),
    ("histogram: [age, sex]", "histogram: []", 21, "has no attribute"),
    ("histogram: [age, sex]", "histogram: age, by: sexx", 21, "did you mean 'sex'?"),
    ("histogram: [age, sex]", "histogram: age, bins: {agee: 10}", 21, "did you mean 'age'?"),
    ("histogram: [age, sex]", "histogram: age, bins: {age: 0}", 21, "not a width"),
    ("histogram: [age, sex]", "histogram: age, bins: {age: ten}", 21, "not a finite number"),
    ("histogram: [age, sex]", "histogram: age, bins: {age: [[17, 90], [18, 19]]}", 21, "two bins of age overlap"),
    ("histogram: [age, sex]", "histogram: age, bins: {age: secret blocks}", 21, "are not blocks"),
    ("histogram: [age, sex]", "histogram: age, bins: [10]", 21, "`bins` is not a map"),
    ("histogram: [age, sex]", "histogram: age, bins: {age: [17]}", 21, "not a list of values"),
    ("histogram: [age, sex]", "histogram: sex, bins: {sex: 2}", 21, "not a width"),
    ("name: ages", "name: losses", 21, "two items are called 'losses'"),
    ("name: ages", "name: ../ages", 21, "name of a file"),
    ("name: ages,", "", 21, "`name` is missing"),
    ("share: 1", "whole: yes", 21, "neither true nor false"),
    ("attributes:\n", "attributes: [1]\nmore:\n", 6, "a map of keys and values is expected"),
    ("attributes:\n", "attributes: [{name: a, integer: [0, 1]}, {name: a, boolean: true}]\nmore:\n", 6, "share a name"),
    ("attributes:\n", "attributes: {}\nmore:\n", 7, "the key 'more'"),
]
