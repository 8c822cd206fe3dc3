"""The command line: parse, call the library, print. No maths, no files of its own."""
