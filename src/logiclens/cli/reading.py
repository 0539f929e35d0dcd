"""Which table a command reads, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from logiclens.errors import LogicLensError
from logiclens.tables.formats import names_several

if TYPE_CHECKING:
    from logiclens.tables.files import TableFile


@dataclass(frozen=True)
class Reading:
    """The name of a table, its delimiter if it is not to be found, and the texts that mean no value."""

    source: str
    delimiter: str | None = None
    missing: tuple[str, ...] = ()

    def table(self) -> TableFile:
        """The table, read."""
        if names_several(self.source):
            raise LogicLensError(f"{self.source} is a folder or a pattern: name one file, which is read here.")
        # Here, because a command that reads no table should not wait for pandas.
        from logiclens.tables.files import read_table

        return read_table(self.source, delimiter=self.delimiter, missing=self.missing)
