"""A wrong mask as a picture: expected, got and their difference over absolute positions.

Colours differ in lightness, wrong cells carry a sign besides, and no text in it is foreign: the title stands in the page.
"""

from __future__ import annotations

import io
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from harness.records import Picture
from harness.render.cells import WRONG, Cell, Panel, panels

WIDE = 24
"""Masks of more keys than this, and of twice as many keys as queries, are stacked; others stand side by side."""

_COLOURS = {
    Cell.OUTSIDE: "#ffffff",
    Cell.HIDDEN: "#e9edf1",
    Cell.VISIBLE: "#4a5663",
    Cell.VISIBLE_IN_BOTH: "#c5ced7",
    Cell.WRONGLY_VISIBLE: "#f5a623",
    Cell.WRONGLY_HIDDEN: "#12439b",
    Cell.NEITHER: "#b0307f",
}
_SIGNS = {Cell.WRONGLY_VISIBLE: ("+", "#000000"), Cell.WRONGLY_HIDDEN: ("_", "#ffffff"), Cell.NEITHER: ("x", "#ffffff")}
"""Marker of matplotlib, and its colour."""
_BLOBS = ("#2a8c6e", "#7cc6ac")
"""In turn, so that blobs that touch are two."""
_PREFIX: dict[str, Any] = {"color": "#b3005e", "linewidth": 2.0}
_TILE: dict[str, Any] = {"color": "#8793a0", "linewidth": 1.2, "linestyle": (0, (4, 2))}

_DPI = 110
_BAR = 0.09
"""Height of the bar over a blob, in inches."""
_LARGEST_CELL = 0.4
"""Inches."""
_GRID = 40
"""Cells of masks up to this wide and high are set apart by lines."""
_LEAST_SIGN = 2.5
"""Points: a smaller sign is a blot."""


def png(picture: Picture) -> bytes:
    """The picture as PNG; the same bytes wherever the same matplotlib draws it."""
    drawn = panels(picture)
    queries = max(len(drawn["got"]), 1)
    keys = max(len(row) for row in [*drawn["got"], [Cell.OUTSIDE]])
    stacked = keys > max(WIDE, 2 * queries)
    width = 9.0 if stacked else min(max(keys * _LARGEST_CELL, 2.4), 3.4)
    cell = min(width / keys, _LARGEST_CELL)
    height = min(max(cell * queries, 0.5), 7.0)
    rows, columns = (3, 1) if stacked else (1, 3)
    with style.context("default", after_reset=True):  # whatever a user's matplotlibrc says
        figure = Figure(figsize=(columns * width, rows * (height + 1.15) + 0.4), dpi=_DPI, layout="constrained")
        for axes, (name, panel) in zip(figure.subplots(rows, columns), drawn.items(), strict=True):
            _draw(axes, name, panel, picture, min(cell, height / queries))
            axes.set_aspect("equal" if height == cell * queries else "auto")
            _mark_blobs(axes, picture, keys, _BAR / height)
        _legend(figure, picture, drawn, queries, keys)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None})  # drawn by Agg
    return buffer.getvalue()


def _draw(axes: Axes, name: str, panel: Panel, picture: Picture, cell_inches: float) -> None:
    order = list(_COLOURS)
    numbers = np.array([[order.index(cell) for cell in row] for row in panel], dtype=np.int64)
    if not numbers.size:
        numbers = np.zeros((1, 1), dtype=np.int64)
    queries, keys = numbers.shape
    left, top = picture.first_key - 0.5, picture.first_query - 0.5
    axes.imshow(
        numbers,
        cmap=ListedColormap(list(_COLOURS.values())),
        vmin=0,
        vmax=len(_COLOURS) - 1,
        interpolation="nearest",
        extent=(left, left + keys, top + queries, top),
    )
    if max(queries, keys) <= _GRID:
        axes.vlines(left + np.arange(1, keys), top, top + queries, colors="#ffffff", linewidths=0.5)
        axes.hlines(top + np.arange(1, queries), left, left + keys, colors="#ffffff", linewidths=0.5)
    size = min(0.6 * 72 * cell_inches, 8.0)
    for cell in WRONG:
        marker, colour = _SIGNS[cell]
        ys, xs = np.nonzero(numbers == order.index(cell))
        if size >= _LEAST_SIGN and len(xs):
            axes.plot(xs + picture.first_key, ys + picture.first_query, marker, color=colour, markersize=size)
    for edge in _tile_edges(picture.tile, picture.first_key, keys):
        axes.axvline(edge - 0.5, **_TILE)
    for edge in _tile_edges(picture.tile, picture.first_query, queries):
        axes.axhline(edge - 0.5, **_TILE)
    if _shows_border(picture, keys):
        axes.axvline(picture.prefix - 0.5, **_PREFIX)
    axes.set(title=name, xlabel="key c", ylabel="query p", xlim=(left, left + keys), ylim=(top + queries, top))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))


def _mark_blobs(axes: Axes, picture: Picture, keys: int, bar: float) -> None:
    """A bar over the keys of each blob, with its letter where there is room."""
    axes.set_title(axes.get_title(), fontsize=11, pad=22)
    over = axes.get_xaxis_transform()
    start = picture.first_key - 0.5
    for number, (letter, run) in enumerate((letter, len(list(run))) for letter, run in groupby(picture.blobs[:keys])):
        if letter != ".":
            colour = _BLOBS[number % len(_BLOBS)]
            axes.add_patch(Rectangle((start, 1), run, bar, transform=over, fc=colour, ec="#ffffff", clip_on=False))
            if letter.isascii() and letter.isalnum() and run * 24 >= keys:
                middle = start + run / 2
                axes.text(middle, 1 + 1.2 * bar, letter, transform=over, ha="center", va="bottom", fontsize=8)
        start += run


def _tile_edges(tile: int, first: int, count: int) -> range:
    """Multiples of ``tile`` inside of the panel."""
    return range((first // tile + 1) * tile, first + count, tile) if tile > 0 else range(0)


def _shows_border(picture: Picture, keys: int) -> bool:
    return picture.first_key < picture.prefix <= picture.first_key + keys


def _legend(figure: Figure, picture: Picture, drawn: dict[str, Panel], queries: int, keys: int) -> None:
    present = {cell for panel in drawn.values() for row in panel for cell in row}
    entries: list[tuple[str, Any]] = []
    for cell, colour in _COLOURS.items():
        if cell in present and cell is not Cell.OUTSIDE:
            parts: list[Any] = [Patch(facecolor=colour, edgecolor=_TILE["color"], linewidth=0.5)]
            if cell in _SIGNS:
                marker, ink = _SIGNS[cell]
                parts.append(Line2D([], [], linestyle="", marker=marker, color=ink))
            entries.append((cell.value, tuple(parts)))
    if picture.blobs.strip("."):
        entries.append(("blobs", Patch(facecolor=_BLOBS[0])))
    if _shows_border(picture, keys):
        entries.append(("end of the prefix", Line2D([], [], **_PREFIX)))
    if _tile_edges(picture.tile, picture.first_key, keys) or _tile_edges(picture.tile, picture.first_query, queries):
        entries.append((f"edges of tiles of {picture.tile}", Line2D([], [], **_TILE)))
    if entries:
        figure.legend(
            [handle for _, handle in entries],
            [words for words, _ in entries],
            loc="outside lower center",
            ncols=min(len(entries), 4),
            fontsize=9,
            frameon=False,
            handler_map={tuple: HandlerTuple(ndivide=1)},  # a sign stands on its colour
        )
