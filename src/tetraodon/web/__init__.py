"""The server: analysts plan for free and ask within a budget that is the data set's; curators approve and allot.

It is thin over the same functions as the command line. The web process reads no table and knows no source; workers do,
each job in a process of its own, through the gate that every release goes through.
"""
