"""Turning a table, wherever it lives, into exact counts. Engines only count."""

from tetraodon.engine.column import ColumnReport
from tetraodon.engine.counting import Counts, Engine, Individuals
from tetraodon.engine.csv_table import CsvFormat
from tetraodon.engine.open_table import Source, open_table
from tetraodon.errors import DataRefusal

__all__ = [
    "ColumnReport",
    "Counts",
    "CsvFormat",
    "DataRefusal",
    "Engine",
    "Individuals",
    "Source",
    "open_table",
]
