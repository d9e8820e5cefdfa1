"""Pictures of wrong masks."""

from __future__ import annotations

import io
from itertools import pairwise

import matplotlib
import pytest
from hypothesis import given, settings
from matplotlib import image

from harness.records import Picture
from harness.render import pictures
from harness.render.cells import WRONG, Cell, in_words, panels
from suites.harness.render.contrast import luminance
from suites.harness.render.runs import PICTURES, wrong_mask

SMALL = Picture("", ["##.", "##."], ["#..", "##?"], ".aa", 1, 1, 0, 0)


def test_the_difference_says_in_which_way_a_cell_is_wrong() -> None:
    assert panels(SMALL)["difference"] == [
        [Cell.VISIBLE_IN_BOTH, Cell.WRONGLY_HIDDEN, Cell.HIDDEN],
        [Cell.VISIBLE_IN_BOTH, Cell.VISIBLE_IN_BOTH, Cell.NEITHER],
    ]


def test_the_words_count_wrong_cells_and_name_the_first() -> None:
    assert in_words(SMALL) == (
        "Expected, got and difference of a mask (queries from p=1: 2, keys from c=0: 3). "
        "Wrong cells: 1 wrongly hidden, 1 neither 0 nor 1; the first at query p=1, key c=1, wrongly hidden."
    )
    assert in_words(Picture("", ["#"], ["#"], ".", 0, 0, 0, 0)).endswith("in which no cell differs.")


def test_a_picture_is_the_same_bytes_each_time() -> None:
    first = pictures.png(wrong_mask())
    with matplotlib.rc_context({"figure.facecolor": "red", "font.size": 20}):
        assert pictures.png(wrong_mask()) == first
    assert b"Software" not in first


def test_wrong_cells_can_be_told_apart_by_their_lightness() -> None:
    colours = [pictures._COLOURS[cell] for cell in (*WRONG, Cell.VISIBLE_IN_BOTH, Cell.HIDDEN)]
    lightness = sorted(luminance(colour) for colour in colours)
    assert all(later - earlier > 0.05 for earlier, later in pairwise(lightness))
    base = [luminance(pictures._COLOURS[cell]) for cell in (Cell.VISIBLE, Cell.HIDDEN)]
    assert base[1] - base[0] > 0.5


@pytest.mark.parametrize(
    ("queries", "keys", "stacked"), [(2, 5, False), (24, 36, False), (64, 64, False), (4, 40, True), (1, 400, True)]
)
def test_a_wide_mask_is_stacked(queries: int, keys: int, stacked: bool) -> None:
    picture = Picture("", ["#" * keys] * queries, ["." * keys] * queries, "", 0, 0, 0, 16)
    height, width = image.imread(io.BytesIO(pictures.png(picture))).shape[:2]
    assert width <= 1150
    assert (height > width / 2) is stacked
    assert height <= 2700


def test_edges_of_tiles_lie_at_their_multiples() -> None:
    assert list(pictures._tile_edges(16, 10, 30)) == [16, 32]
    assert list(pictures._tile_edges(16, 16, 16)) == []
    assert list(pictures._tile_edges(0, 0, 9)) == []


@settings(max_examples=5, deadline=None)
@given(PICTURES)
def test_whatever_was_recorded_is_drawn(picture: Picture) -> None:
    assert pictures.png(picture).startswith(b"\x89PNG")
    assert in_words(picture)
