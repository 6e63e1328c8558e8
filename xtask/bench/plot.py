"""Line plots as SVG text: no library, and colours that follow the reader's light or dark page."""

import math
import os

WIDTH, HEIGHT = 800, 440
LEFT, RIGHT, TOP, BOTTOM = 84, 180, 64, 60
STYLE = """
.page { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e } .grid { stroke: #d1d9e0 }
.s0 { stroke: #0969da } .s1 { stroke: #cf222e } .s2 { stroke: #9a6700 }
.f0 { fill: #0969da } .f1 { fill: #cf222e } .f2 { fill: #9a6700 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } .text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #3d444d }
.s0 { stroke: #58a6ff } .s1 { stroke: #ff7b72 } .s2 { stroke: #d29922 }
.f0 { fill: #58a6ff } .f1 { fill: #ff7b72 } .f2 { fill: #d29922 }
}
text { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12px }
.title { font-size: 15px; font-weight: bold } .grid { stroke-width: 1 } .line { fill: none; stroke-width: 2.5 }
"""


def escaped(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shown(number):
    """12000 -> 12k; at most three digits that mean something."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def log_ticks(lowest, highest):
    """1, 2, 5 of each power of ten around what is shown; the outer ones are the ends of the axis."""
    steps = [digit * 10.0 ** power for power in range(-6, 10) for digit in (1, 2, 5)]
    below = max(step for step in steps if step <= lowest)
    above = min(step for step in steps if step >= highest * 1.0001)
    return [step for step in steps if below <= step <= above]


def lines(path, title, note, x_label, y_label, xs, series, steps=False):
    """Writes the plot. The y axis is logarithmic; `steps` puts the xs at equal distances, whatever they are."""
    values = [y for _, ys in series for y in ys]
    ticks = log_ticks(min(values), max(values))
    low, high = math.log(ticks[0]), math.log(ticks[-1])
    places = list(range(len(xs))) if steps else xs
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x_of(place):
        return LEFT + across * (place - places[0]) / ((places[-1] - places[0]) or 1)

    def y_of(value):
        return TOP + down * (1 - (math.log(value) - low) / (high - low))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
           f'aria-label="{escaped(title)}">', f"<style>{STYLE}</style>",
           f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
           f'<text class="text title" x="{LEFT}" y="26">{escaped(title)}</text>',
           f'<text class="faint" x="{LEFT}" y="46">{escaped(note)}</text>']
    for tick in ticks:
        y = y_of(tick)
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text class="faint" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{shown(tick)}</text>')
    every = max(1, round((len(xs) - 1) / 8))
    for place, x in list(zip(places, xs))[::every]:
        out.append(f'<text class="faint" x="{x_of(place):.1f}" y="{HEIGHT - BOTTOM + 20}" '
                   f'text-anchor="middle">{shown(x)}</text>')
    out.append(f'<text class="text" x="{LEFT + across / 2}" y="{HEIGHT - 16}" text-anchor="middle">'
               f"{escaped(x_label)}</text>")
    out.append(f'<text class="text" transform="translate(20 {TOP + down / 2}) rotate(-90)" text-anchor="middle">'
               f"{escaped(y_label)}</text>")
    out += curves(series, places, x_of, y_of)
    out.append("</svg>\n")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("\n".join(out))
    print(f"wrote {path}")


def curves(series, places, x_of, y_of):
    """A line for each series, its name at its end; names that would overlap move apart."""
    out, taken = [], []
    for number, (name, ys) in sorted(enumerate(series), key=lambda item: y_of(item[1][1][-1])):
        points = " ".join(f"{x_of(place):.1f},{y_of(y):.1f}" for place, y in zip(places, ys))
        out.append(f'<polyline class="line s{number % 3}" points="{points}"/>')
        if len(ys) <= 20:
            out += [f'<circle class="f{number % 3}" cx="{x_of(place):.1f}" cy="{y_of(y):.1f}" r="3.5"/>'
                    for place, y in zip(places, ys)]
        y = max([y_of(ys[-1]) + 4] + [before + 16 for before in taken[-1:]])
        taken.append(y)
        out.append(f'<text class="f{number % 3}" x="{WIDTH - RIGHT + 10}" y="{y:.1f}">{escaped(name)}</text>')
    return out
