"""Settings of all tests: the examples of property tests, the data folder, and skipping without a GPU."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from tests.examples import register_profiles

register_profiles()

# The networks of the tests are tiny: a second thread only spins.
torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
        if item.get_closest_marker("data") and not os.environ.get("LOGICLENS_DATA"):
            item.add_marker(pytest.mark.skip(reason="needs the folder named by $LOGICLENS_DATA"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    return Path(os.environ["LOGICLENS_DATA"])
