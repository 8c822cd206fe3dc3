PYTHON ?= python3
