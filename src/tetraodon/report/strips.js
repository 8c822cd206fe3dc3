(function () {
  "use strict";
  // Draws the strips of a promise: every value as high and as dark as it is hard to tell from the chosen one. What a
  // strip needs is beside it as JSON (report/odds_strip.py); nothing is asked of anybody.
  var HIGH = 44, FLAT = 4, ARCS = 38, SIDE = 12;

  function make(name, attributes, text) {
    var made = document.createElementNS(document.querySelector("svg").namespaceURI, name);
    Object.keys(attributes).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    if (text !== undefined) { made.textContent = text; }
    return made;
  }

  function blockOf(data, code) {
    var low = 0, high = data.starts.length - 1;
    while (low < high) {
      var middle = (low + high + 1) >> 1;
      if (data.starts[middle] <= code) { low = middle; } else { high = middle - 1; }
    }
    return low;
  }

  // How many steps two values are apart, Infinity where nothing joins them: as OddsStrip.steps.
  function steps(data, chosen, other) {
    var away;
    if (data.steps) {
      away = data.steps[chosen][other];
      return away < 0 ? Infinity : away;
    }
    if (chosen === other) { return 0; }
    if (data.blocks[blockOf(data, chosen)] !== data.blocks[blockOf(data, other)]) { away = Infinity; }
    else { away = data.reach ? Math.ceil(Math.abs(chosen - other) / data.reach) : data.joined ? 1 : Infinity; }
    if (data.most !== null) { away = Math.min(away, data.most); }
    return data.edgesOnly && away > 1 ? Infinity : away;
  }

  function dark(data, away) {
    if (away === 0) { return 1; }
    return away <= data.moves.length ? data.moves[away - 1][2] : 0;
  }

  function label(data, code) {
    if (data.texts) { return data.texts[code]; }
    if (data.apart && code === data.size - 1) { return "missing"; }
    if (data.day !== null) { return new Date(Date.parse(data.day) + code * 864e5).toISOString().slice(0, 10); }
    return (data.low + code * data.step).toFixed(data.digits);
  }

  function measured(data, code) {
    var text = label(data, code), unit = data.units ? data.units[text === "1" ? 0 : 1] : "";
    return unit && text !== "missing" ? text + " " + unit : text;
  }

  function moved(data, away) {
    if (away === Infinity) { return "not protected"; }
    if (away <= data.moves.length) { return "odds move at most " + data.moves[away - 1][0] + " times"; }
    if (data.worthless) { return "no protection worth the name"; }
    return "odds move more than " + data.moves[data.moves.length - 1][0] + " times";
  }

  function short(data, away) {
    if (away === 0) { return ""; }
    return away <= data.moves.length ? "× " + data.moves[away - 1][0] : away === Infinity ? "not protected" : "hardly";
  }

  function pair(data, chosen, other) {
    var away = steps(data, chosen, other);
    var far = away === Infinity ? "" : away === 1 ? "one step, " : away + " steps, ";
    return label(data, chosen) + " or " + measured(data, other) + ": " + far + moved(data, away) + ".";
  }

  // A value one step away, one two steps away, and the one that is furthest: what the sentence is about.
  function told(data, chosen) {
    var size = data.steps ? data.texts.length : data.size, found = [], seen = {}, at = [], code;
    var ends = chosen > size / 2 ? [0, size - 1] : [size - 1, 0];
    if (data.steps || size <= 2000) {
      for (code = 0; code < size; code += 1) { at.push(code); }
      at.sort(function (a, b) { return Math.abs(b - chosen) - Math.abs(a - chosen); });
    } else {
      [1, 2].forEach(function (k) { at.push(chosen + k * (data.reach || 1), chosen - k * (data.reach || 1)); });
    }
    at = at.filter(function (code) { return code >= 0 && code < size && code !== chosen; });
    [1, 2, Infinity].forEach(function (wanted) {
      for (var n = 0; n < at.length; n += 1) {
        if (steps(data, chosen, at[n]) === wanted) { found.push(at[n]); return; }
      }
    });
    if (!data.steps && steps(data, chosen, ends[0]) > 2) { found.push(ends[0]); }
    return found.filter(function (code) { var old = seen[code]; seen[code] = true; return !old; });
  }

  // -- along a line --------------------------------------------------------------------------------

  function ticks(data, low, high) {
    var span = high - low, made = [], k;
    var numbers = data.day === null && !data.apart && (!data.texts || /^-?[\d.]+$/.test(data.texts[low]));
    if (!numbers) {
      for (k = 0; k <= 4; k += 1) { made.push(low + Math.round(k * span / 4)); }
      return made;
    }
    var rough = span * data.step / 6, unit = Math.pow(10, Math.floor(Math.log10(rough || 1)));
    var nice = [1, 2, 5, 10].map(function (n) { return n * unit; }).filter(function (n) { return n >= rough; })[0];
    var first = Math.ceil((data.low + low * data.step) / nice) * nice;
    for (k = 0; k < 12; k += 1) {
      var code = Math.round((first + k * nice - data.low) / data.step);
      if (code <= high) { made.push(code); }
    }
    return made;
  }

  function line(data, chosen, low, high, width, shaped) {
    var span = high - low + 1, cells = Math.min(span, Math.floor((width - 2 * SIDE) / 4)), wide = (width - 2 * SIDE) / span;
    var tall = ARCS + HIGH + 30, box = "0 0 " + width + " " + tall;
    var drawn = make("svg", { width: width, height: tall, viewBox: box, class: "line", "aria-hidden": "true", "data-low": low, "data-high": high });
    var floor = ARCS + HIGH, put = function (made) { drawn.appendChild(made); };
    function x(code) { return SIDE + (code - low + 0.5) * wide; }
    var last = null;  // cells without gaps that are equally dark are one
    for (var n = 0; n < cells; n += 1) {
      var a = low + Math.floor(n * span / cells), b = low + Math.floor((n + 1) * span / cells) - 1;
      var away = Math.max(steps(data, chosen, a), steps(data, chosen, b));
      if (!data.reach && blockOf(data, a) !== blockOf(data, b)) { away = data.most === null ? Infinity : data.most; }
      var shade = dark(data, away), high_ = FLAT + (HIGH - FLAT) * shade;
      var left = SIDE + (a - low) * wide, gap = wide * (b - a + 1) > 5 ? 1 : 0;
      if (last && !gap && last.shade === shade) { last.right = left + wide * (b - a + 1); continue; }
      close_(last);
      last = { left: left, right: left + Math.max(wide * (b - a + 1) - gap, 0.5), high: high_, shade: shade };
    }
    close_(last);
    function close_(cell) {
      if (!cell) { return; }
      put(make("rect", {
        x: cell.left, y: floor - cell.high, width: cell.right - cell.left, height: cell.high,
        class: cell.shade ? "hidden" : "open", "fill-opacity": cell.shade ? 0.25 + 0.75 * cell.shade : 1
      }));
    }
    put(make("line", { x1: x(chosen), x2: x(chosen), y1: ARCS - 2, y2: floor, class: "chosen" }));
    put(make("circle", { cx: x(chosen), cy: ARCS - 4, r: 5, class: "chosen" }));
    if (data.reach && data.reach * wide > 26) { arcs(data, chosen, low, high, x, put); }
    if (data.reach && shaped) {
      [chosen - data.reach, chosen + data.reach].forEach(function (code) {
        if (code >= low && code <= high) { put(make("rect", { x: x(code) - 6, y: ARCS - 10, width: 12, height: 12, class: "end" })); }
      });
    }
    ticks(data, low, high).forEach(function (code) {
      put(make("line", { x1: x(code), x2: x(code), y1: floor + 3, y2: floor + 8, class: "tick" }));
      var place = code === low ? "start" : code === high ? "end" : "middle";
      put(make("text", { x: place === "middle" ? x(code) : x(code) + (place === "start" ? -6 : 6), y: floor + 22, "text-anchor": place }, label(data, code)));
    });
    return drawn;
  }

  function arcs(data, chosen, low, high, x, put) {
    [-1, 1].forEach(function (side) {
      for (var k = 1; k <= Math.min(3, data.moves.length); k += 1) {
        var from = chosen + side * (k - 1) * data.reach, to = chosen + side * k * data.reach;
        if (to < low || to > high) { return; }
        var a = x(from), b = x(to), up = ARCS - 4 - Math.min(20, Math.abs(b - a) / 2);
        put(make("path", { d: "M" + a + " " + (ARCS - 4) + " Q " + (a + b) / 2 + " " + up + " " + b + " " + (ARCS - 4), class: "arc" }));
        if (Math.abs(b - a) > 48) { put(make("text", { x: (a + b) / 2, y: up + 2, "text-anchor": "middle", class: "times" }, "× " + data.moves[k - 1][0])); }
      }
    });
  }

  // The part of a long line on which the protection lies, where it would be a sliver of the whole.
  function near(data, chosen) {
    var far = data.reach ? (data.moves.length + 1) * data.reach : data.size;
    if (6 * far > data.size) { return null; }
    return [Math.max(0, chosen - far), Math.min(data.size - 1, chosen + far)];
  }

  function along(strip, data) {
    var input = strip.querySelector("input"), output = strip.querySelector("output");
    var place = strip.querySelector(".drawn"), words = strip.querySelector(".told"), shaped = strip.closest("[data-shaped]");
    function draw() {
      var chosen = +input.value, width = Math.max(place.clientWidth, 240), close = near(data, chosen);
      output.textContent = measured(data, chosen);
      input.setAttribute("aria-valuetext", measured(data, chosen));
      place.replaceChildren(line(data, chosen, 0, data.size - 1, width, shaped));
      if (close) {
        var told_ = document.createElement("p");
        told_.className = "note";
        told_.textContent = "A close-up, from " + label(data, close[0]) + " to " + measured(data, close[1]) + ":";
        place.append(told_, line(data, chosen, close[0], close[1], width, shaped));
      }
      words.textContent = told(data, chosen).map(function (other) { return pair(data, chosen, other); }).join(" ");
    }
    input.addEventListener("input", draw);
    window.addEventListener("resize", draw);
    dragging(strip, data, place, input);
    strip.oddsReach = function (reach) { data.reach = reach; draw(); };
    draw();
  }

  // The chosen value follows whoever drags along the picture; in the studio the end of the first arc does, too, and says
  // how far a secret reaches. Keys do the same by the sliders.
  function dragging(strip, data, place, input) {
    var line_ = null, end = false;
    function code(event) {
      var part = (event.clientX - line_.left - SIDE) / (line_.width - 2 * SIDE), span = line_.high - line_.low + 1;
      return Math.max(0, Math.min(data.size - 1, line_.low + Math.floor(part * span)));
    }
    function moved(event) {
      if (!line_) { return; }
      if (end) { strip.dispatchEvent(new CustomEvent("reach", { bubbles: true, detail: Math.max(1, Math.abs(code(event) - +input.value)) })); return; }
      input.value = code(event);
      input.dispatchEvent(new Event("input"));
    }
    place.addEventListener("pointerdown", function (event) {
      var svg = event.target.closest("svg"), box = svg && svg.getBoundingClientRect();
      if (!svg) { return; }
      line_ = { left: box.left, width: box.width, low: +svg.dataset.low, high: +svg.dataset.high };
      end = event.target.classList.contains("end");
      place.setPointerCapture(event.pointerId);
      event.preventDefault();
      moved(event);
    });
    place.addEventListener("pointermove", moved);
    ["pointerup", "pointercancel"].forEach(function (name) {
      place.addEventListener(name, function () {
        if (line_ && end) { strip.dispatchEvent(new CustomEvent("reached", { bubbles: true })); }
        line_ = null;
      });
    });
  }

  // -- word by word --------------------------------------------------------------------------------

  function byWord(strip, data) {
    var words = strip.querySelector(".told"), chips = strip.querySelectorAll(".chip");
    function draw() {
      var chosen = +strip.querySelector("input:checked").value;
      chips.forEach(function (chip, code) {
        var away = steps(data, chosen, code);
        chip.style.setProperty("--dark", Math.round(100 * dark(data, away)) + "%");
        chip.querySelector("small").textContent = short(data, away);
      });
      words.textContent = told(data, chosen).map(function (other) { return pair(data, chosen, other); }).join(" ");
    }
    strip.addEventListener("change", draw);
    draw();
  }

  function start(strip) {
    var data = JSON.parse(document.getElementById(strip.dataset.strip).textContent);
    strip.classList.add("live");
    (data.steps ? byWord : along)(strip, data);
    strip.oddsSteps = function (chosen, other) { return steps(data, chosen, other); };
  }
  window.oddsLabel = label;
  window.startStrips = function (place) { place.querySelectorAll(".strip").forEach(start); };
  window.startStrips(document);
})();
