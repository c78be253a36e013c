"""The diagnostics tell how trajectories that follow each other fit together."""

import numpy as np

from featherstone_ros.control.streams import StreamWatch, Takeover


def figures(watch):
    return [text.split()[0] for text in watch.report().values()]


def test_the_worst_since_the_last_report_is_told():
    watch = StreamWatch(["shoulder", "elbow"])
    assert watch.report() == {}
    watch.note(Takeover(1.0, 2.0, 0.1, np.array([0.0, 0.02])))
    watch.note(Takeover(1.5, 2.5, 0.3, np.array([0.01, 0.0])))  # overlaps
    assert figures(watch) == ["0.300", "0.0200", "0.000"]
    assert "(elbow)" in watch.report()["jump between trajectories [rad or m]"]
    watch.note(Takeover(2.7, 3.0, 0.2, np.array([0.003, 0.0])))
    watch.note(Takeover(3.1, 4.0, 0.2, np.array([0.0, 0.0])))
    assert figures(watch) == ["0.200", "0.0030", "0.300"]  # 0.2 s and 0.1 s between them
    assert figures(watch) == ["0.200", "0.0030", "0.300"]  # until the next one
