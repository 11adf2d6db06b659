"""A few kinds of chart as SVG, written as text: the same numbers always give the same file."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

# A colour is the name of a class, so that a chart without a background suits a dark page as well.
INK, FAINT, GRID = "ink", "faint", "grid"
RED, ORANGE, PURPLE, GREY, BLUE = "red", "orange", "purple", "grey", "blue"
_LIGHT_AND_DARK = {
    INK: ("#1f2328", "#e6edf3"),
    FAINT: ("#59636e", "#9198a1"),
    GRID: ("#d1d9e0", "#3d444d"),
    RED: ("#cf222e", "#f85149"),
    ORANGE: ("#e8893a", "#f0883e"),
    PURPLE: ("#8250df", "#ab7df8"),
    GREY: ("#6e7781", "#8b949e"),
    BLUE: ("#0969da", "#4493f8"),
}
LETTER = 6.9  # its width at size 12, on the safe side
ROW, BAR = 26, 16
PANEL = 310
TOP = 56

Series = Mapping[str, Mapping[str, float]]  # row to part to value


def _style() -> str:
    def colours(at: int) -> str:
        return " ".join(
            f".{name} {{ color: {both[at]} }}" for name, both in _LIGHT_AND_DARK.items()
        )

    return f"""<style>
text {{ font-family: system-ui, sans-serif }}
text, rect, circle {{ fill: currentColor }}
line, polyline {{ stroke: currentColor; fill: none }}
{colours(0)}
@media (prefers-color-scheme: dark) {{ {colours(1)} }}
</style>"""


def text(
    x: float, y: float, words: str, size: int = 12, fill: str = INK, end: str = "start"
) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' class='{fill}' "
        f"text-anchor='{end}'>{escape(words)}</text>"
    )


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    return (
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' class='{fill}'/>"
    )


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' class='{GRID}'/>"


def page(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}' "
            f"width='{width:.0f}' height='{height:.0f}' role='img'>",
            f"<title>{escape(title)}</title>",
            _style(),
            text(16, 24, title, 15),
            *parts,
            "</svg>\n",
        ]
    )


def ticks(most: float, steps: int = 4) -> list[float]:
    """Round numbers from 0 to above `most`."""
    raw = most / steps
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(magnitude * f for f in (1, 2, 2.5, 5, 10) if magnitude * f >= raw)
    return [step * number for number in range(math.ceil(most / step) + 1)]


def legend(colours: Mapping[str, str], x: float, y: float) -> list[str]:
    parts = []
    for name, colour in colours.items():
        parts += [box(x, y - 9, 10, 10, colour), text(x + 14, y, name, 11, FAINT)]
        x += 14 + LETTER * len(name) + 16
    return parts


def widest(labels: Iterable[str]) -> float:
    return LETTER * max(map(len, labels)) + 24


def bars(
    title: str,
    panels: Mapping[str, Series],
    colours: Mapping[str, str],
) -> str:
    """Rows of stacked bars, one panel beside the other, with the same rows and the same scale."""
    rows = list(next(iter(panels.values())))
    label_width = widest(rows)
    marks = ticks(max(sum(row.values()) for rows in panels.values() for row in rows.values()))
    scale = (PANEL - 60) / marks[-1]
    bottom = TOP + 26 + ROW * len(rows)
    parts = legend(colours, 16, TOP - 10)
    for at, row in enumerate(rows):
        parts.append(text(label_width - 8, TOP + 34 + ROW * at, row, 12, INK, "end"))
    left = label_width
    for heading, series in panels.items():
        if heading:
            parts.append(text(left, TOP + 12, heading, 11, FAINT))
        for mark in marks:
            x = left + mark * scale
            parts.append(line(x, TOP + 18, x, bottom))
            parts.append(text(x, bottom + 14, f"{mark:,.0f}", 10, FAINT, "middle"))
        for at, row in enumerate(rows):
            x, y = left, TOP + 22 + ROW * at
            for name, colour in colours.items():
                width = series[row].get(name, 0) * scale
                if width:
                    parts.append(box(x, y, width, BAR, colour))
                x += width
            total = sum(series[row].values())
            parts.append(text(x + 5, y + 12, f"{total:,.0f}", 11))
        left += PANEL
    return page(left + 10, bottom + 26, title, parts)


def timeline(
    title: str,
    panels: Mapping[str, Sequence[tuple[float, float]]],
    x_name: str,
    shaded: Sequence[tuple[float, float]],
    shaded_name: str,
) -> str:
    """Panels below each other that share their time, with spans of it shaded."""
    width, left, tall, gap = 560.0, 64.0, 110.0, 34.0
    x_marks = ticks(max(x for points in panels.values() for x, _ in points))
    across = (width - left - 24) / x_marks[-1]
    top = TOP + 14.0
    parts = legend({shaded_name: GRID}, 16, TOP - 10)
    for name, points in panels.items():
        low = top + tall
        y_marks = ticks(max(max(y for _, y in points), 1), 3)
        up = tall / y_marks[-1]
        parts += [
            box(left + begin * across, top, (end - begin) * across, tall, GRID)
            for begin, end in shaded
        ]
        parts.append(text(16, top - 8, name, 11, FAINT))
        for mark in y_marks:
            y = low - mark * up
            parts += [
                line(left, y, width - 24, y),
                text(left - 8, y + 4, f"{mark:,g}", 10, FAINT, "end"),
            ]
        path = " ".join(f"{left + x * across:.1f},{low - y * up:.1f}" for x, y in points)
        parts.append(f"<polyline points='{path}' class='{BLUE}' stroke-width='1.5'/>")
        top = low + gap
    for mark in x_marks:
        parts.append(text(left + mark * across, top - gap + 16, f"{mark:,g}", 10, FAINT, "middle"))
    parts.append(text(width - 24, top, x_name, 11, FAINT, "end"))
    return page(width, top + 12, title, parts)
