"""A line plot as inline SVG, both axes by tens: for a Markdown page that needs nothing else to be read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 70, 250, 40, 50
COLOURS = ("#1b6ca8", "#b5472f", "#3d7a3d", "#7a4c99", "#8a6d1d")  # each at least 4.5 : 1 on white
DASHES = ("", "6 3", "2 3", "9 3 2 3", "1 4")  # so that no line is told by its colour alone


@dataclass(frozen=True)
class Line:
    """Points above zero, by x."""

    name: str
    points: tuple[tuple[float, float], ...]


def plot(title: str, x_name: str, lines: Sequence[Line]) -> str:
    """The SVG element, on one line a shape: Markdown ends an element at an empty line."""
    xs = _decades([x for line in lines for x, _ in line.points])
    ys = _decades([y for line in lines for _, y in line.points])
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
    shapes = [*_axes(xs, ys, title, x_name), *(_drawn(number, one, xs, ys) for number, one in enumerate(lines))]
    return "\n".join(
        [f'{head}aria-label="{escape(title)}" font-family="sans-serif" font-size="12">', *shapes, "</svg>"]
    )


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
