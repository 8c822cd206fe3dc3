"""Turning a table, wherever it lives, into exact counts. Engines only count."""

from tetraodon.engine.counts import Counts
from tetraodon.engine.csv_file import CsvFormat
from tetraodon.engine.duckdb_engine import DuckDBEngine
from tetraodon.engine.individuals import Individuals
from tetraodon.engine.open_table import Source, open_table
from tetraodon.engine.protocol import Engine
from tetraodon.engine.report import ColumnReport
from tetraodon.errors import DataRefusal

__all__ = [
    "ColumnReport",
    "Counts",
    "CsvFormat",
    "DataRefusal",
    "DuckDBEngine",
    "Engine",
    "Individuals",
    "Source",
    "open_table",
]
