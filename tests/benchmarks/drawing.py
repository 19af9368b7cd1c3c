"""Plots as SVG files, which a Markdown page shows: lines with both axes by tens, and bars from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 880, 340
LEFT, RIGHT, TOP, BOTTOM = 70, 370, 40, 50
BAR, GAP, WIDE = 16, 14, 420  # height of a bar, room above a group, width of the bar of 1
COLOURS = ("#1b6ca8", "#b5472f", "#3d7a3d", "#7a4c99", "#8a6d1d", "#55606e")  # each at least 4.5 : 1 on white
DASHES = ("", "6 3", "2 3", "9 3 2 3", "1 4", "12 2")  # so that no line is told by its colour alone


@dataclass(frozen=True)
class Line:
    """Points above zero, by x."""

    name: str
    points: tuple[tuple[float, float], ...]


def plot(title: str, x_name: str, lines: Sequence[Line]) -> str:
    """Lines over a common x, both axes by tens. A whole SVG document."""
    xs = _decades([x for line in lines for x, _ in line.points])
    ys = _decades([y for line in lines for _, y in line.points])
    shapes = [*_axes(xs, ys, title, x_name), *(_drawn(number, one, xs, ys) for number, one in enumerate(lines))]
    return _document(title, HEIGHT, shapes)


def bars(title: str, groups: Mapping[str, Mapping[str, float]]) -> str:
    """Values from 0 to 1 by group and name, each with its figure beside it. A whole SVG document."""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    shapes, y = [f'<text x="14" y="20" font-weight="bold">{escape(title)}</text>'], 30
    for group, values in groups.items():
        y += GAP
        shapes.append(f'<text x="14" y="{y + 12}">{escape(group)}</text>')
        for name, value in values.items():
            colour = COLOURS[names.index(name) % len(COLOURS)]
            shapes.append(f'<text x="{LEFT + 130}" y="{y + 12}" text-anchor="end">{escape(name)}</text>')
            wide = f'width="{value * WIDE:.1f}" height="{BAR - 3}"'
            shapes.append(f'<rect x="{LEFT + 138}" y="{y + 1}" {wide} fill="{colour}"/>')
            shapes.append(f'<text x="{LEFT + 146 + value * WIDE:.1f}" y="{y + 12}">{value:.3f}</text>')
            y += BAR
    return _document(title, y + GAP, [f'<rect width="{WIDTH}" height="{y + GAP}" fill="#fff"/>', *shapes])


def _document(title: str, height: int, shapes: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
    said = f'role="img" aria-label="{escape(title)}" font-family="sans-serif" font-size="12">'
    return "\n".join([head + said, *shapes, "</svg>"]) + "\n"


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten below and above all values, at least one apart."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _x(value: float, span: tuple[int, int]) -> float:
    return LEFT + (math.log10(value) - span[0]) / (span[1] - span[0]) * (WIDTH - LEFT - RIGHT)


def _y(value: float, span: tuple[int, int]) -> float:
    return HEIGHT - BOTTOM - (math.log10(value) - span[0]) / (span[1] - span[0]) * (HEIGHT - TOP - BOTTOM)


def _axes(xs: tuple[int, int], ys: tuple[int, int], title: str, x_name: str) -> Iterator[str]:
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    yield f'<text x="{LEFT}" y="20" font-weight="bold">{escape(title)}</text>'
    yield f'<text x="{LEFT}" y="{HEIGHT - 10}">{escape(x_name)}</text>'
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    for power in range(ys[0], ys[1] + 1):
        y = _y(10.0**power, ys)
        yield f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_power(power)}</text>'
    for power in range(xs[0], xs[1] + 1):
        x = _x(10.0**power, xs)
        yield f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="#ddd"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{_power(power)}</text>'


def _power(power: int) -> str:
    return (
        f"{10.0**power:,g}"
        if -3 <= power <= 4
        else f"10{str(power).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
    )


def _drawn(number: int, line: Line, xs: tuple[int, int], ys: tuple[int, int]) -> str:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    at = [(_x(x, xs), _y(y, ys)) for x, y in line.points]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at)
    label_y = TOP + 10 + 18 * number
    left = WIDTH - RIGHT + 14
    key = f'<path d="M{left} {label_y - 4}h22" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    text = f'<text x="{left + 28}" y="{label_y}">{escape(line.name)}</text>'
    return (
        f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>{dots}{key}{text}'
    )
