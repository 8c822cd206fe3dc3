(function () {
  "use strict";
  // Draws the map of a promise about two coordinates: every place as dark as it is hard to tell from the chosen one, with a
  // line wherever it is one step more. What a map needs is beside it as JSON (report/odds_map.py).
  var MOST = 100, SIDE = 420;

  // How many steps two places are apart, Infinity where nothing joins them or nobody counts: as OddsMap.steps.
  function steps(data, chosen, row, column) {
    var down = Math.abs(row - chosen[0]), right = Math.abs(column - chosen[1]), away = 1;
    if (!down && !right) { return 0; }
    if (!data.sides) { away = kilometres(data, chosen, [row, column]) <= data.within * (1 + 1e-9) ? 1 : Infinity; }
    else {
      for (var n = 0; n < data.sides.length; n += 1) {
        var side = data.sides[n];
        away = Math.max(away, Math.ceil((side[0] * down + side[1] * right) / side[2]));
      }
      if ((down && data.fixed[0]) || (right && data.fixed[1])) { away = Infinity; }
    }
    if (data.most !== null) { away = Math.min(away, data.most); }
    return data.edgesOnly && away > 1 ? Infinity : away;
  }

  function kilometres(data, one, other) {
    function angle(place, axis) { return (data.starts[axis] + data.spacing[axis] * place[axis]) * Math.PI / 180; }
    var north = Math.sin((angle(one, 0) - angle(other, 0)) / 2), east = Math.sin((angle(one, 1) - angle(other, 1)) / 2);
    var half = north * north + Math.cos(angle(one, 0)) * Math.cos(angle(other, 0)) * east * east;
    return 2 * data.radius * Math.asin(Math.sqrt(Math.min(half, 1)));
  }

  function dark(data, away) { return away === 0 ? 1 : away <= data.moves.length ? data.moves[away - 1][2] : 0; }

  function text(data, axis, code) { return (data.starts[axis] + code * data.spacing[axis]).toFixed(data.digits[axis]); }

  function told(data, chosen, place) {
    var away = steps(data, chosen, place[0], place[1]), odds = away <= data.moves.length ? data.moves[away - 1][0] : null;
    var where = data.names.map(function (name, axis) { return name + " " + text(data, axis, place[axis]); }).join(", ");
    if (away === Infinity) { return where + (data.sides || data.edgesOnly ? ": not protected." : ": more than one step away."); }
    return where + (away === 1 ? ": one step, " : ": " + away + " steps, ") +
      (odds ? "odds move at most " + odds + " times." : "no protection worth the name.");
  }

  // The part of the map that is drawn: all of it, or what is near where protection would be a speck.
  function part(data, chosen, axis) {
    var reach = data.sides ? Math.floor(data.within / data.spacing[axis]) : Math.ceil(data.within / (111 * data.spacing[axis]));
    var far = Math.min(data.moves.length + 1, 6) * Math.max(reach, 1), size = data.shape[axis];
    return 4 * far > size ? [0, size - 1] : [Math.max(0, chosen - far), Math.min(size - 1, chosen + far)];
  }

  // The codes along an axis of which cells are drawn: a cell that stands for several is as far as its farthest.
  function farthest(range, cells, chosen) {
    var found = [], span = range[1] - range[0] + 1;
    for (var n = 0; n < cells; n += 1) {
      var low = range[0] + Math.floor(n * span / cells), up = range[0] + Math.floor((n + 1) * span / cells) - 1;
      found.push(Math.abs(low - chosen) > Math.abs(up - chosen) ? low : up);
    }
    return found;
  }

  function start(place) {
    var data = JSON.parse(place.querySelector("script").textContent), canvas = place.querySelector("canvas");
    var inputs = place.querySelectorAll("input[data-axis]"), words = place.querySelector(".told"), pen = canvas.getContext("2d");
    var shown, end = -99, held = false, within = data.within;
    function chosen() { return [+inputs[0].value, +inputs[1].value]; }
    function draw() {
      var at = chosen(), rows = part(data, at[0], 0), columns = part(data, at[1], 1), style = getComputedStyle(place);
      var tall = Math.min(rows[1] - rows[0] + 1, MOST), wide = Math.min(columns[1] - columns[0] + 1, MOST), grid = [], r, c;
      shown = { rows: rows, columns: columns };
      pen.globalAlpha = 1;
      var high = SIDE / tall, long = SIDE / wide;
      pen.fillStyle = style.getPropertyValue("--wash");
      pen.fillRect(0, 0, SIDE, SIDE);
      pen.fillStyle = style.getPropertyValue("--accent");
      var downs = farthest(rows, tall, at[0]), rights = farthest(columns, wide, at[1]);
      var shades = {};  // one path for each shade: few calls for many cells
      for (r = 0; r < tall; r += 1) {
        var under = Math.round(SIDE - r * high), over = Math.round(SIDE - (r + 1) * high), from = 0;
        grid.push(rights.map(function (column) { return steps(data, at, downs[r], column); }));
        for (c = 1; c <= wide; c += 1) {  // cells beside each other that are equally dark are one
          if (c < wide && grid[r][c] === grid[r][from]) { continue; }
          var shade = dark(data, grid[r][from]);
          if (shade) {
            shades[shade] = shades[shade] || new Path2D();
            shades[shade].rect(Math.round(from * long), over, Math.round(c * long) - Math.round(from * long), under - over);
          }
          from = c;
        }
      }
      Object.keys(shades).forEach(function (shade) {
        pen.globalAlpha = 0.15 + 0.85 * shade;
        pen.fill(shades[shade]);
      });
      pen.globalAlpha = 1;
      pen.fillStyle = style.getPropertyValue("--ink");
      var borders = new Path2D();
      for (r = 0; r < tall; r += 1) {
        for (c = 0; c < wide; c += 1) {
          if (c + 1 < wide && grid[r][c] !== grid[r][c + 1]) { borders.rect((c + 1) * long - 0.5, SIDE - (r + 1) * high, 1, high); }
          if (r + 1 < tall && grid[r][c] !== grid[r + 1][c]) { borders.rect(c * long, SIDE - (r + 1) * high - 0.5, long, 1); }
        }
      }
      pen.fill(borders);
      var x = (at[1] - columns[0] + 0.5) * SIDE / (columns[1] - columns[0] + 1), y = SIDE - (at[0] - rows[0] + 0.5) * SIDE / (rows[1] - rows[0] + 1);
      pen.beginPath();
      pen.arc(x, y, 6, 0, 7);
      pen.fill();
      if (data.sides) {  // a handle at the end of one step to the right: drag it, and a secret reaches as far
        end = x + within / data.spacing[1] * SIDE / (columns[1] - columns[0] + 1);
        pen.fillRect(x, y - 1, end - x, 2);
        pen.fillRect(end - 6, y - 6, 12, 12);
        pen.fillStyle = style.getPropertyValue("--paper");
        pen.fillRect(end - 4, y - 4, 8, 8);
      }
      inputs.forEach(function (input, axis) {
        var said = text(data, axis, at[axis]) + (data.units[axis] ? " " + data.units[axis] : "");
        input.setAttribute("aria-valuetext", said);
        input.parentElement.querySelector("output").textContent = said;
      });
      place.querySelector(".range").textContent = data.names[0] + " upwards from " + text(data, 0, rows[0]) + " to " + text(data, 0, rows[1]) +
        ", " + data.names[1] + " to the right from " + text(data, 1, columns[0]) + " to " + text(data, 1, columns[1]) + ".";
      var one = Math.max(1, Math.floor(data.sides ? data.within / data.spacing[1] : 1)), size = data.shape[1];
      words.textContent = [1, 2, 12].map(function (times) {
        var column = at[1] + times * one < size ? at[1] + times * one : at[1] - times * one;
        return column >= 0 && column < size ? told(data, at, [at[0], column]) : "";
      }).join(" ").trim();
    }
    function follow(event) {
      var box = canvas.getBoundingClientRect(), across = (event.clientX - box.left) / box.width, up = 1 - (event.clientY - box.top) / box.height;
      [[0, up, shown.rows], [1, across, shown.columns]].forEach(function (axis) {
        var span = axis[2][1] - axis[2][0] + 1;
        inputs[axis[0]].value = axis[2][0] + Math.max(0, Math.min(span - 1, Math.floor(axis[1] * span)));
      });
      draw();
    }
    function across(event) { var box = canvas.getBoundingClientRect(); return (event.clientX - box.left) / box.width * SIDE; }
    function stretch(event) {
      var span = shown.columns[1] - shown.columns[0] + 1, gap = Math.round(across(event) / SIDE * span - 0.5) + shown.columns[0] - chosen()[1];
      within = +(Math.max(1, gap) * data.spacing[1]).toFixed(data.digits[1]);
      draw();
    }
    canvas.addEventListener("pointerdown", function (event) {
      canvas.setPointerCapture(event.pointerId);
      held = Math.abs(across(event) - end) < 10;
      if (!held) { follow(event); }
    });
    canvas.addEventListener("pointermove", function (event) { if (event.buttons) { (held ? stretch : follow)(event); } });
    canvas.addEventListener("pointerup", function () {
      if (held) { place.dispatchEvent(new CustomEvent("reach", { bubbles: true, detail: within })); }
      held = false;
    });
    inputs.forEach(function (input) { input.addEventListener("input", draw); });
    place.oddsSteps = function (at, row, column) { return steps(data, at, row, column); };
    place.redraw = draw;
    draw();
  }

  window.startMaps = function (place) { place.querySelectorAll(".odds-map").forEach(start); };
  window.startMaps(document);
})();
