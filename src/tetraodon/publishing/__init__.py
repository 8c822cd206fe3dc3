"""Publishing microdata: views that hide who is in them, and what can be learnt from such a view."""
