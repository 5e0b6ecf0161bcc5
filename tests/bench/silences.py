"""What is made of what was seen beside Kafka Connect: silences, what status said, the table.
Pure."""

import dataclasses

STILL_S = 5  # so long without a record at the end of a watch is an end


@dataclasses.dataclass(frozen=True)
class Silence:
    """The longest time without a record. `is_over`: a record came after it, before the end of the
    watch; else it went on when nobody looked any more, and `seconds` is a lower bound."""

    seconds: float
    is_over: bool

    def text(self):
        return f"{self.seconds:.1f} s" if self.is_over else f"over {self.seconds:.0f} s, to the end"


def longest_silence(arrivals_s, begin_s, end_s):
    """Of `arrivals_s`, in order, what lies in [begin_s, end_s]. Before the first of them is silence
    since `begin_s`."""
    inside = [at for at in arrivals_s if begin_s <= at <= end_s]
    marks = [begin_s, *inside]
    gaps = [Silence(after - before, True) for before, after in zip(marks, marks[1:])]
    gaps.append(Silence(end_s - marks[-1], False))
    return max(gaps, key=lambda gap: gap.seconds)


@dataclasses.dataclass(frozen=True)
class Fate:
    """What became of a connector's records after the blow. `ended_s`: seconds from the blow to its
    last record, if none came in the last STILL_S of the watch; None while they flow."""

    longest: Silence
    ended_s: float | None

    def text(self):
        if self.ended_s is None:
            return f"flows on, longest silence {self.longest.text()}"
        return f"no record after {self.ended_s:.1f} s" if self.ended_s else "no more records"


def fate_of(arrivals_s, begin_s, end_s):
    inside = [at for at in arrivals_s if begin_s <= at <= end_s]
    last = max([begin_s, *inside])
    return Fate(longest_silence(inside, begin_s, end_s),
                last - begin_s if end_s - last > STILL_S else None)


def fates_text(fates):
    """Of {name: fate}; in one where all flow on, else each by its name."""
    if all(fate.ended_s is None for fate in fates.values()):
        return max(fates.values(), key=lambda fate: fate.longest.seconds).text()
    return "; ".join(f"{name}: {fate.text()}" for name, fate in fates.items())


@dataclasses.dataclass(frozen=True)
class Said:
    text: str
    from_s: float
    to_s: float


def spans_of(looks):
    """[(seconds, what was said)], in order, with equal neighbours made one."""
    spans = []
    for at_s, text in looks:
        if spans and spans[-1].text == text:
            spans[-1] = dataclasses.replace(spans[-1], to_s=at_s)
        else:
            spans.append(Said(text, at_s, at_s))
    return spans


def spans_text(looks):
    """`RUNNING 0-12 s; FAILED 12-30 s`, seconds since the first look."""
    if not looks:
        return "nothing"
    begin = looks[0][0]
    return "; ".join(f"{span.text} {span.from_s - begin:.0f}-{span.to_s - begin:.0f} s"
                     for span in spans_of(looks))


def first_said(looks, part):
    """Seconds from the first look to the first one that says `part`; None if none does."""
    return next((at - looks[0][0] for at, text in looks if part in text), None)


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table; the sides are texts, None where a side could not be measured."""

    what: str
    sluice: str | None
    connect: str | None


def table(rows, connect_name):
    """Columns as wide as they must be; what could not be measured says so."""
    lines = [("", "Sluice", connect_name)]
    lines += [(row.what, row.sluice or "NOT MEASURED", row.connect or "NOT MEASURED")
              for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    return "\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip()
                     for line in lines)


def merged(scene_rows):
    """Rows of both sides, {what: text} each, by the order of their first side."""
    sluice, connect = scene_rows.get("sluice") or {}, scene_rows.get("connect") or {}
    whats = [*sluice, *(what for what in connect if what not in sluice)]
    return [Row(what, sluice.get(what), connect.get(what)) for what in whats]
