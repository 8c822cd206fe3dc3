"""A small extract of the Adult data and a policy for it."""
