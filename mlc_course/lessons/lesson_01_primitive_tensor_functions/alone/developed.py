"""The development form: classify an image with the framework that has trained the network.

python developed.py MODEL IMAGE     prints the label and the ten probabilities
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np


def main(model: Path, image: Path) -> None:
    """Load the pickled classifier and ask it."""
    classifier = pickle.loads(model.read_bytes())
    x = np.frombuffer(image.read_bytes(), np.float32).reshape(1, -1)
    (scores,) = classifier.predict_proba(x)
    print(scores.argmax(), *(f"{score:.6g}" for score in scores))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
