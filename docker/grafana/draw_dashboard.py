#!/usr/bin/env python3
"""Draws the dashboard, dashboards/weft.json, as an SVG of what a Prometheus answers its queries: the picture in
docs/OPERATIONS.md. Grafana's own look is not imitated, but the panels, their places, queries and units are the dashboard's.

    draw_dashboard.py --prometheus http://127.0.0.1:9090 --minutes 15 ../../docs/dashboard.svg"""

import argparse
import html
import json
import os
import re
import time
import urllib.parse
import urllib.request

DASHBOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dashboards", "weft.json")
COLUMN, ROW = 50, 22  # pixels of a cell of Grafana's grid
MARGIN_LEFT, MARGIN_TOP, MARGIN_BOTTOM = 54, 26, 34  # of a plot in its panel: values, title, times and legend
MOST_SERIES = 8
COLOURS = ["#1f78b4", "#e6842a", "#33a02c", "#d4322c", "#8456b4", "#9c6b4f", "#d75fa8", "#6f6f6f"]


def ask(prometheus, expression, begin, end, step):
    """[(labels, [(time, value)])], without what is not a number."""
    query = urllib.parse.urlencode({"query": expression, "start": begin, "end": end, "step": step})
    with urllib.request.urlopen(f"{prometheus}/api/v1/query_range?{query}", timeout=30) as answer:
        series = json.load(answer)["data"]["result"]
    return [(one["metric"], [(float(t), float(v)) for t, v in one["values"] if v not in ("NaN", "+Inf", "-Inf")]) for one in series]


def series_of(panel, prometheus, begin, end, step):
    found = []
    for target in panel["targets"]:
        expression = target["expr"].replace('"$instance"', '".*"').replace("$__rate_interval", f"{4 * step}s")
        for labels, points in ask(prometheus, expression, begin, end, step):
            name = re.sub(r"{{\s*(\w+)\s*}}", lambda match, of=labels: of.get(match[1], ""), target["legendFormat"])
            if points:
                found.append((name, points))
    return found


def with_unit(value, unit):
    if unit == "percentunit":
        return f"{value * 100:g}%"
    if unit == "s":
        return f"{value * 1000:g} ms" if 0 < value < 1 else f"{value:g} s"
    if unit == "bytes":
        return f"{value / 2**30:.3g} GiB"
    return f"{value:g}" + {"reqps": "/s", "ops": "/s"}.get(unit, "")


def ceiling(value):
    """The next round number: 1, 2, 4, 5 or 10 times a power of ten."""
    scale = 10.0 ** (len(f"{int(value)}") - 1 if value >= 1 else -1)
    while value < scale and scale > 1e-9:
        scale /= 10
    return next((step * scale for step in (1, 2, 4, 5, 10) if step * scale >= value * 0.999), 1.0)


def draw_plot(series, unit, width, height, begin, end):
    """What lies within the axes, its upper left corner at 0, 0."""
    scale = 2**30 if unit == "bytes" else 1
    top = scale * ceiling((max((value for _, points in series for _, value in points), default=0) or scale) / scale)
    parts = []
    for share in (0, 0.5, 1):
        y = height * (1 - share)
        parts.append(f'<path class="grid" d="M0 {y:.1f}H{width}"/><text class="axis" x="-6" y="{y + 4:.1f}" '
                     f'text-anchor="end">{with_unit(round(top * share, 12), unit)}</text>')
    for share in (0, 0.5, 1):
        clock = time.strftime("%H:%M", time.gmtime(begin + share * (end - begin)))
        parts.append(f'<text class="axis" x="{width * share:.0f}" y="{height + 13}" text-anchor="middle">{clock}</text>')
    for number, (_, points) in enumerate(series):
        path = " ".join(f"{(t - begin) / (end - begin) * width:.1f},{height * (1 - min(v / top, 1)):.1f}" for t, v in points)
        parts.append(f'<polyline stroke="{COLOURS[number % len(COLOURS)]}" points="{path}"/>')
    return "".join(parts)


def draw_legend(series, count, width):
    parts, x = [], 0
    for number, (name, _) in enumerate(series):
        needed = 30 + 6 * len(name)
        if x + needed > width - 60 and number + 1 < count:
            break
        parts.append(f'<path d="M{x} -4h12" stroke-width="3" stroke="{COLOURS[number % len(COLOURS)]}"/>'
                     f'<text class="axis" x="{x + 16}" y="0">{html.escape(name)}</text>')
        x += needed
    if count > len(parts):
        parts.append(f'<text class="axis" x="{x}" y="0">… of {count}</text>')
    return "".join(parts)


def draw_panel(panel, answer, begin, end):
    place = panel["gridPos"]
    x, y, width, height = place["x"] * COLUMN, place["y"] * ROW, place["w"] * COLUMN, place["h"] * ROW
    title = html.escape(panel["title"])
    if panel["type"] == "row":
        return f'<text class="row" x="{x + 6}" y="{y + 16}">{title}</text>'
    unit = panel["fieldConfig"]["defaults"]["unit"]
    # Where there are many, those that are largest at the end: of experts, the busiest.
    shown = sorted(answer, key=lambda one: -one[1][-1][1])[:MOST_SERIES] if len(answer) > MOST_SERIES else answer
    plot_width, plot_height = width - MARGIN_LEFT - 20, height - MARGIN_TOP - MARGIN_BOTTOM - 8
    return (f'<g transform="translate({x} {y})"><rect x="3" y="3" width="{width - 6}" height="{height - 6}" rx="3"/>'
            f'<text class="title" x="12" y="19">{title}</text>'
            f'<g transform="translate({MARGIN_LEFT} {MARGIN_TOP + 4})">{draw_plot(shown, unit, plot_width, plot_height, begin, end)}</g>'
            f'<g transform="translate({MARGIN_LEFT} {height - 11})">{draw_legend(shown, len(answer), plot_width)}</g></g>')


STYLE = ("text{font:11px sans-serif;fill:#24292f}.axis{font-size:10px;fill:#57606a}.title{font-weight:bold}.row{font-size:14px}"
         "rect{fill:#fff;stroke:#d0d7de}.grid{stroke:#eaeef2}polyline{fill:none;stroke-width:1.5}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prometheus", default="http://127.0.0.1:9090", help="its URL (%(default)s)")
    parser.add_argument("--minutes", type=float, default=15, help="before now, or before --end (%(default)s)")
    parser.add_argument("--end", type=float, default=time.time(), help="seconds since 1970")
    parser.add_argument("--step", type=int, default=15, help="seconds between points; rates are over four (%(default)s)")
    parser.add_argument("output", help="the SVG")
    options = parser.parse_args()
    with open(DASHBOARD, encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    begin, end = options.end - 60 * options.minutes, options.end
    drawn = [draw_panel(panel, series_of(panel, options.prometheus, begin, end, options.step) if "targets" in panel else [], begin, end)
             for panel in panels]
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) * ROW
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {24 * COLUMN} {height}"><style>{STYLE}</style>'
                   f'<path fill="#f6f8fa" d="M0 0h{24 * COLUMN}v{height}H0z"/>' + "\n".join(drawn) + "</svg>\n")


if __name__ == "__main__":
    main()
