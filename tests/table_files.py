"""Write files of a few lines, and read the message for a file that is refused."""

from __future__ import annotations

import pandas as pd
import pytest

from logiclens.errors import LogicLensError
from logiclens.tables.files import read_table

PLAIN = "name,age,bmi\nAnn,31,22.5\nBo,45,\n"


def writer_into(folder):
    """A function that writes bytes or text to a file of this name."""

    def write(content, name="t.csv"):
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def refusal(source, **options) -> str:
    with pytest.raises(LogicLensError) as caught:
        read_table(source, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message[-1] in ".?"
    return message


def cells(frame: pd.DataFrame) -> list[list[object]]:
    return [[None if pd.isna(cell) else cell for cell in row] for row in frame.itertuples(index=False, name=None)]
