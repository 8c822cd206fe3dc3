"""Queries: linear queries over the domain, conditions on a record, and the kinds of query a curator writes."""
