"""The studio: a local page on which a curator makes a policy file by looking at what it promises and costs.

It writes the file that the command line reads, and is thin over the same functions. Of a table it reads the names and
types of the columns, when it drafts the file, and nothing else before a release.
"""
