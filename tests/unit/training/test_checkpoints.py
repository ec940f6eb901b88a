"""The folder of a training in progress: whose it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.training.checkpoints import TrainingFolder


def test_a_training_that_failed_before_its_first_step_does_not_hold_its_folder(
    tmp_path: Path,
) -> None:
    folder = TrainingFolder(tmp_path / "m.training")
    folder.claim({"width": 10**11})
    folder.claim({"width": 8})
    folder.stage(1).folder.mkdir()
    folder.claim({"width": 16})


def test_a_checkpoint_holds_the_folder_for_its_training(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "m.training")
    folder.claim({"width": 8})
    folder.stage(1).checkpoint(4).mkdir(parents=True)
    with pytest.raises(InputError, match="another training: width was 8 and is 16"):
        folder.claim({"width": 16})
    folder.claim({"width": 8})
