from __future__ import annotations

import numpy as np
import pytest

from logiclens.nn import EntropyNet
from logiclens.render.figures import heat_map, network_diagram, plot_history, save_png
from logiclens.render.text import bar
from logiclens.train import History


def history(validation: bool) -> History:
    falling, rising = np.array([0.9, 0.5, 0.4]), np.array([0.5, 0.8, 0.7])
    nothing = np.full(3, np.nan)
    return History(falling, falling, rising, falling if validation else nothing, rising if validation else nothing, 1)


@pytest.mark.parametrize("validation", [True, False])
def test_history_is_drawn_with_the_kept_epoch(validation):
    axes = plot_history(history(validation))
    labels = [line.get_label() for line in axes.lines]
    assert ("validation accuracy" in labels) == validation
    drawn = next(line for line in axes.lines if line.get_label() == "training loss")
    assert drawn.get_ydata().tolist() == [0.9, 0.5, 0.4]
    kept = next(line for line in axes.lines if line.get_label() == "kept epoch")
    assert kept.get_xdata()[0] == 1


def test_heat_map_writes_every_number_and_no_minus_zero():
    figure = heat_map(np.array([[-0.001, 1.0], [-2.0, 0.5]]), ["r1", "r2"], ["c1", "c2"], "title")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["0.00", "1.00", "-2.00", "0.50"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["c1", "c2"]


def test_network_diagram_shades_inputs_by_relevance():
    network = EntropyNet(3, 2, (4, 2))
    figure = network_diagram(network, ["a", "b", "c"], ["no", "yes"], ["first", "second"])
    relevance = network.entropy.relevance().detach().numpy()
    for head, axes in enumerate(figure.axes):
        inputs = axes.collections[3].get_facecolors()[:, 0]
        assert inputs == pytest.approx(1 - relevance[head], abs=1e-6)
    assert [axes.get_title() for axes in figure.axes] == ["first", "second"]


def test_an_interrupted_save_leaves_no_file(tmp_path):
    class Interrupted:
        def savefig(self, path, **_):
            path.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_png(Interrupted(), tmp_path / "figure.png")
    assert list(tmp_path.iterdir()) == []


def test_bar_fills_with_the_share():
    assert [bar(share, 4).count("█") for share in (0.0, 0.5, 1.0, 7.0)] == [0, 2, 4, 4]
    assert all(len(bar(share, 4)) == 4 for share in (0.0, 0.3, 0.99, 1.0))
