"""Tetraodon: say what is secret, what is known and who might attack; publish the rest with proof."""

__version__ = "0.1.0"
