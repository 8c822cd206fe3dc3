(function () {
  "use strict";
  // What can wait is open in the file, so that it can be read without scripts.
  document.querySelectorAll("details.closes").forEach(function (details) { details.open = false; });
  function unfold() {
    var place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (place && place.matches("details")) { place.open = true; }
  }
  window.addEventListener("hashchange", unfold);
  unfold();
  if (typeof vegaEmbed !== "function") { return; }

  function fitted(spec, width) {
    if (spec.facet) {
      var columns = Math.max(1, Math.min(spec.columns || 3, Math.floor(width / 260)));
      spec.columns = columns;
      spec.spec.width = Math.max(120, Math.floor(width / columns) - 75);
    }
    return spec;
  }

  function draw(place) {
    var text = document.getElementById(place.dataset.spec).textContent;
    var spec = fitted(JSON.parse(text), place.clientWidth);
    vegaEmbed(place, spec, { mode: "vega-lite", actions: false, renderer: "svg", ast: true, logLevel: 1 })
      .then(function () {
        var svg = place.querySelector("svg");
        if (svg) { svg.setAttribute("role", "presentation"); svg.setAttribute("aria-hidden", "true"); }
        place.dataset.drawn = "true";
      })
      .catch(function () { place.textContent = "The chart cannot be drawn here; the table below holds the same numbers."; });
  }

  document.querySelectorAll(".chart[data-spec]").forEach(draw);
})();
