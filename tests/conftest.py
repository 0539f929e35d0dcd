"""Settings of all tests: examples of property tests, one thread, the seed, the data folder, skipping without a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator
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


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Fail a test that leaves torch with more threads: every test after it would be several times slower."""
    yield
    left = torch.get_num_threads()
    torch.set_num_threads(1)
    assert left == 1, f"the test leaves torch with {left} threads"


@pytest.fixture(autouse=True)
def seed() -> None:
    """Give every test the same initial weights, whichever tests ran before it in its process."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    return Path(os.environ["LOGICLENS_DATA"])
