"""Pages and charts: values in, HTML and Vega-Lite out. Releases and views make the values."""
