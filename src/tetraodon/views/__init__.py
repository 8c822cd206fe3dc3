"""Publishing microdata: views of whole tables, records among noise, and what can be learnt from them."""
