"""How a bar is judged: the median of per-pair ratios against a limit, with the spread beside it."""

import dataclasses
import statistics
import sys

# The quartiles of the ratios further apart than this part of the median: nothing can be said.
NOISE = 0.10
PASS, FAIL, NOISY = "pass", "fail", "noisy"


@dataclasses.dataclass(frozen=True)
class Bar:
    """`limit` belongs to `better`, ">=" or "<="; `is_spread_judged` is off for latencies, whose
    protocol is one figure alone: the `percentile` of what was measured (100: the greatest, 0: the
    least)."""

    name: str
    what: str
    limit: float
    better: str
    unit: str = ""
    is_spread_judged: bool = True
    percentile: int = 50

    def halved(self):
        """The bar of the smoke: half as good."""
        limit = self.limit / 2 if self.better == ">=" else self.limit * 2
        return dataclasses.replace(self, limit=limit, is_spread_judged=False)

    def is_met_by(self, value):
        return value >= self.limit if self.better == ">=" else value <= self.limit


@dataclasses.dataclass(frozen=True)
class Verdict:
    bar: Bar
    ratios: tuple
    value: float  # what is judged: the bar's percentile of the ratios
    quartiles: tuple
    word: str
    leaning: str  # pass or fail by the value, also where the verdict is noisy

    def text(self):
        return self.word if self.word != NOISY else f"{NOISY} (median: {self.leaning})"


def quartiles_of(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def percentile_of(values, percentile):
    """Between two values: the nearer one's share, so that 50 is the median."""
    in_order = sorted(values)
    place = (len(in_order) - 1) * percentile / 100
    below = int(place)
    above = min(below + 1, len(in_order) - 1)
    return in_order[below] + (in_order[above] - in_order[below]) * (place - below)


def judge(bar, ratios):
    """Requires: at least one ratio."""
    value = percentile_of(ratios, bar.percentile)
    low, high = quartiles_of(ratios)
    leaning = PASS if bar.is_met_by(value) else FAIL
    is_noisy = bar.is_spread_judged and high - low > NOISE * value
    return Verdict(bar, tuple(ratios), value, (low, high), NOISY if is_noisy else leaning, leaning)


def rounds(count, sides):
    """Runs each of `sides` (name -> function) once per round; the order is turned in each round, so
    that a drift of the machine favours nobody. A list of {name: measurement}. A dot on stderr for
    each round: some take a minute."""
    names = list(sides)
    result = []
    for index in range(count):
        order = names if index % 2 == 0 else names[::-1]
        measured = {name: sides[name]() for name in order}
        result.append({name: measured[name] for name in names})
        print("." if index + 1 < count else ".\n", end="", file=sys.stderr, flush=True)
    return result


def medians(all_rounds):
    """{side: {figure: median}} of what rounds() returned; figures that are no numbers are left."""
    result = {}
    for side in all_rounds[0]:
        figures = {}
        for figure, first in all_rounds[0][side].items():
            if isinstance(first, (int, float)):
                figures[figure] = statistics.median(each[side][figure] for each in all_rounds)
        result[side] = figures
    return result
