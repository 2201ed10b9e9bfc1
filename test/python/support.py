"""What the tests of the module share: what C++ programs have made."""

import os
import pathlib
import subprocess
import unittest

import numpy as np

programs = pathlib.Path(os.environ["TENON_PROGRAMS"])
command = os.environ.get("TENON_COMMAND", "tenon")


class Trained:
    """What the program `trained` has left in the current folder, and said."""

    def __init__(self):
        said = subprocess.run([programs / "trained"], check=True, capture_output=True, text=True).stdout
        lines = [line.split() for line in said.splitlines()]
        self.names = dict(zip(lines[0][::2], lines[0][1::2]))
        self.of_types = {line[0]: line[1] for line in lines[1:] if len(line) == 2}
        self.waits = dict(zip(lines[-1][::2], lines[-1][1::2]))

    def data(self):
        """As the program made it."""
        i = np.arange(16)
        x = np.stack([(i * (k + 2)) % 7 - 3 for k in range(3)], axis=1).astype(np.float32) / np.float32(4)
        return x, x[:, :1] - x[:, 1:2] * x[:, 2:3]


_trained = None


def trained():
    """Made once a process."""
    global _trained
    if _trained is None:
        _trained = Trained()
    return _trained


def guess_of(weights, x):
    """What the network computes, in float64."""
    w1, b1, w2 = (np.asarray(weights[n], dtype=np.float64) for n in ("w1", "b1", "w2"))
    return np.tanh(x.astype(np.float64) @ w1 + b1) @ w2


def imported(name):
    """A library that may be absent, or None."""
    try:
        return __import__(name)
    except ImportError:
        return None


def needs(name):
    return unittest.skipUnless(imported(name), name + " is not installed")
