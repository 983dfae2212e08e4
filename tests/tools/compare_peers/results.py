"""What was measured: a JSON object a line, so that an interrupted run goes on where it was, and the table made of them."""

import collections
import json
import os
import statistics

MOST_OTHERS_SHARE = 0.05  # of the machine; above it, a figure is not the engine's alone


class Results:
    """The records of a file, and those that are added to it. The first line says on what machine, and what that can do at most:
    `measure_limits` gives it when the file is begun."""

    def __init__(self, path, machine, measure_limits):
        self.path = path
        if not os.path.exists(path):
            self._write({"machine": machine, "limits": measure_limits()})
        self.machine = machine
        self.limits, self.records = self._read()

    def _read(self):
        with open(self.path, encoding="utf-8") as file:
            lines = [line for line in file.read().split("\n") if line]
        objects = []
        for number, line in enumerate(lines, 1):
            try:
                objects.append(json.loads(line))
            except json.JSONDecodeError as error:
                if number < len(lines):
                    raise ValueError(f"{self.path}, line {number}: {error}") from error
                # The last line of a run that was killed while it wrote: measured again.
                with open(self.path, "w", encoding="utf-8") as file:
                    file.writelines(kept + "\n" for kept in lines[:-1])
        found = objects[0].get("machine") if objects else None
        if found != self.machine:
            raise ValueError(f"{self.path} has figures of another machine or number of threads: found {found}, expected {self.machine}")
        return objects[0]["limits"], objects[1:]

    def _write(self, record):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def add(self, record):
        """`record`: model, row, engine, its version, round, and tokens_per_s or reason."""
        self.records.append(record)
        self._write(record)

    def is_done(self, model, row, engine, round_number, retry_failed):
        """Whether the cell was measured in this round, or failed when it was tried last."""
        of_cell = [record for record in self.records
                   if (record["model"], record["row"], record["engine"]) == (model, row, engine)]
        if of_cell and "reason" in of_cell[-1]:
            return not retry_failed
        return any(record["round"] == round_number for record in of_cell if "tokens_per_s" in record)

    def figures(self):
        """{(model, row, engine): tokens/s of each round}, and why there are none: {(model, row, engine): reason}."""
        speeds = collections.defaultdict(list)
        reasons = {}
        for record in self.records:
            cell = (record["model"], record["row"], record["engine"])
            if "tokens_per_s" in record:
                speeds[cell].append(record["tokens_per_s"])
            else:
                reasons[cell] = record["reason"]
        return dict(speeds), {cell: reason for cell, reason in reasons.items() if cell not in speeds}

    def versions(self):
        """(engine, version) of all that was measured."""
        return sorted({(record["engine"], record["version"]) for record in self.records})

    def disturbed(self):
        """The measurements beside which others used the machine."""
        return [record for record in self.records if record.get("others_share", 0) > MOST_OTHERS_SHARE]


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cell_text(speeds):
    """Median, and smallest and largest where there are several."""
    median = number(statistics.median(speeds))
    return median if len(speeds) == 1 else f"{median} ({number(min(speeds))}..{number(max(speeds))})"


def ratio_text(speeds, model, row, engines):
    """Weft's median over the best peer's; "-" where one of the two is missing."""
    peers = [statistics.median(speeds[model, row, engine]) for engine in engines
             if engine != "weft" and (model, row, engine) in speeds]
    if not peers or (model, row, "weft") not in speeds:
        return "-"
    return f"{statistics.median(speeds[model, row, 'weft']) / max(peers):.2f}"


def table(results, models, rows, engines, unavailable):
    """The lines of a Markdown table, and below it why cells are empty. `unavailable`: {engine: reason}."""
    speeds, reasons = results.figures()
    notes = {}  # reason: its number

    def text(model, row, engine):
        if (model.name, row.name, engine) in speeds:
            return cell_text(speeds[model.name, row.name, engine])
        reason = reasons.get((model.name, row.name, engine)) or unavailable.get(engine) or "not measured"
        return f"- ({notes.setdefault(f'{engine}: {reason}', len(notes) + 1)})"

    lines = ["| | " + " | ".join("Weft" if engine == "weft" else engine for engine in engines) + " | Weft / best peer |",
             "|---" * (len(engines) + 2) + "|"]
    for model in models:
        for index, row in enumerate(rows):
            title = f"{model.title}, {row.title}" if index == 0 else row.title
            cells = [text(model, row, engine) for engine in engines]
            lines.append(f"| {title} | {' | '.join(cells)} | {ratio_text(speeds, model.name, row.name, engines)} |")
    if notes:
        lines += ["", *(f"({note}) {reason}" + ("" if reason.endswith(".") else ".") for reason, note in notes.items())]
    return lines


def report(results, lines):
    """The lines of the table with what it was measured on."""
    machine, limits = results.machine, results.limits

    def rate(name):
        return f"{limits[name]['giga_operations_per_s']:.0f} G operations/s of {name} ({limits[name]['instructions']})"

    rounds = 1 + max((record["round"] for record in results.records), default=0)
    text = [f"{machine['cpu']}; {machine['cores']} cores, {machine['memory_gib']} GiB; {' '.join(machine['flags'])}; "
            f"{machine['threads']} threads.",
            f"`weft bench` measures {limits['dram_read_gb_per_s']:.1f} GB/s of reads from DRAM, "
            f"{', '.join(rate(name) for name in ('int8', 'bf16', 'float32'))}.",
            *(f"{engine}: {version}." for engine, version in results.versions()), "",
            f"Tokens a second; medians of up to {rounds} interleaved rounds (smallest..largest).", "", *lines]
    disturbed = results.disturbed()
    if disturbed:
        most = max(record["others_share"] for record in disturbed)
        text += ["", f"Others used the machine in {len(disturbed)} of {len(results.records)} measurements, up to {most:.0%} of it."]
    return "\n".join(text) + "\n"
