"""The web stack: the server, on which analysts ask within budgets that curators allot, and the studio on loopback.

Both are thin over the same functions as the command line. The server's web process reads no table and knows no source:
workers do, each job in a process of its own, through the gate that every release passes. The studio reads no row before
a release.
"""
