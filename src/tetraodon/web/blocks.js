(function () {
  "use strict";
  // Blocks of values made by dragging, or by keys. The lines of the form stay what is saved: this writes them.
  var button = function (words, kind) {
    var made = document.createElement("button");
    made.type = "button";
    made.textContent = words;
    made.className = kind;
    return made;
  };

  function quoted(value) { return /[",]/.test(value) || !value ? '"' + value.replace(/"/g, '""') + '"' : value; }

  function parsed(line) {
    var found = [], part = /\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)/y, match;
    while (part.lastIndex < line.length && (match = part.exec(line))) {
      found.push(match[1] !== undefined ? match[1].replace(/""/g, '"') : match[2].trim());
    }
    return found.filter(function (value) { return value; });
  }

  function lines(area) { return area.value.split("\n").map(parsed).filter(function (block) { return block.length; }); }

  function say(place, words) { place.querySelector("[aria-live]").textContent = words; }

  function write(area, blocks) {
    area.value = blocks.map(function (block) { return block.map(quoted).join(", "); }).join("\n");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // -- words: each is in one box, and is dragged, or moved with the arrow keys, into another one --------------------

  function words(place, data, area) {
    var boxes = place.querySelector(".boxes");
    function blocks() {
      var found = lines(area).map(function (block) { return block.filter(function (value) { return data.texts.includes(value); }); });
      var left = data.texts.filter(function (value) { return !found.some(function (block) { return block.includes(value); }); });
      found = found.filter(function (block) { return block.length; });
      return left.length ? found.concat([left]) : found;
    }
    function move(value, to, focus) {
      var found = blocks(), from = found.findIndex(function (block) { return block.includes(value); });
      if (to < 0 || to === from || (to === found.length && found[from].length === 1)) { return; }
      found[from] = found[from].filter(function (other) { return other !== value; });
      if (to === found.length) { found.push([]); }
      found[to] = found[to].concat([value]);
      found = found.filter(function (block) { return block.length; });
      write(area, found);
      draw();
      to = found.findIndex(function (block) { return block.includes(value); });
      say(place, value + " is in block " + (to + 1) + " of " + found.length + ".");
      if (focus) { boxes.querySelectorAll("button").forEach(function (one) { if (one.textContent === value) { one.focus(); } }); }
    }
    function box(block, number, title) {
      var made = document.createElement("div");
      made.className = "block";
      made.dataset.block = number;
      made.setAttribute("role", "group");
      made.setAttribute("aria-label", title);
      block.forEach(function (value) {
        var one = button(value, "quiet value");
        one.setAttribute("aria-describedby", place.id + "-how");
        one.addEventListener("keydown", function (event) {
          var by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
          if (by) { event.preventDefault(); move(value, number + by, true); }
        });
        one.addEventListener("pointerdown", function (event) { one.setPointerCapture(event.pointerId); one.classList.add("held"); });
        one.addEventListener("pointerup", function (event) {
          var under = document.elementFromPoint(event.clientX, event.clientY), to = under && under.closest(".block");
          one.classList.remove("held");
          if (to && boxes.contains(to)) { move(value, +to.dataset.block, false); }
        });
        made.appendChild(one);
      });
      return made;
    }
    function draw() {
      var found = blocks();
      boxes.replaceChildren.apply(boxes, found.map(function (block, number) { return box(block, number, "Block " + (number + 1)); }));
      var fresh = box([], found.length, "A new block");
      fresh.classList.add("new");
      fresh.textContent = "a new block";
      boxes.appendChild(fresh);
    }
    draw();
    return draw;
  }

  // -- numbers and days: borders along a ruler, dragged or moved with the arrow keys ------------------------------------

  function borders(place, data, area) {
    var ruler = place.querySelector(".boxes"), more = button("One block more", "quiet");
    function label(code) { return window.oddsLabel(data, code); }
    function codeOf(text) {
      return Math.round(data.day === null ? (+text - data.low) / data.step : (Date.parse(text) - Date.parse(data.day)) / 864e5);
    }
    function ends() {  // the last codes of all blocks
      var found = lines(area).map(function (block) { return codeOf(block[block.length - 1]); })
        .filter(function (code) { return code >= 0 && code < data.size - 1; }).sort(function (a, b) { return a - b; });
      return found.concat([data.size - 1]);
    }
    function put(found) {
      var low = 0;
      write(area, found.map(function (last) { var block = [label(low), label(last)]; low = last + 1; return block; }));
      draw();
    }
    function shift(number, to, focus) {
      var found = ends(), low = number ? found[number - 1] + 1 : 0;
      found[number] = Math.max(low, Math.min(found[number + 1] - 1, to));
      put(found);
      say(place, "Block " + (number + 1) + " ends at " + label(found[number]) + ".");
      if (focus) { ruler.querySelectorAll("[role=slider]")[number].focus(); }
    }
    function border(number, found) {
      var made = button("", "border"), low = number ? found[number - 1] + 1 : 0;
      made.setAttribute("role", "slider");
      made.setAttribute("aria-label", "The end of block " + (number + 1));
      made.setAttribute("aria-valuemin", low);
      made.setAttribute("aria-valuemax", found[number + 1] - 1);
      made.setAttribute("aria-valuenow", found[number]);
      made.setAttribute("aria-valuetext", label(found[number]));
      made.setAttribute("aria-describedby", place.id + "-how");
      made.style.left = 100 * (found[number] + 1) / data.size + "%";
      made.addEventListener("keydown", function (event) {
        var by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
        if (by) { event.preventDefault(); shift(number, ends()[number] + by, true); }
        if (event.key === "Delete" || event.key === "Backspace") {
          event.preventDefault();
          put(found.filter(function (_, place_) { return place_ !== number; }));
          say(place, "Blocks " + (number + 1) + " and " + (number + 2) + " are one.");
          more.focus();
        }
      });
      return made;
    }
    function draw() {
      var found = ends(), low = 0, parts = [];
      found.forEach(function (last, number) {
        var block = document.createElement("div"), words_ = document.createElement("span");
        block.className = "stretch";
        block.style.width = 100 * (last - low + 1) / data.size + "%";
        words_.textContent = label(low) + " to " + label(last);
        block.appendChild(words_);
        parts.push(block);
        if (number + 1 < found.length) { parts.push(border(number, found)); }
        low = last + 1;
      });
      ruler.replaceChildren.apply(ruler, parts);
    }
    // Borders are made anew whenever one moves: whoever drags holds the ruler, not a border.
    var held = -1;
    ruler.addEventListener("pointerdown", function (event) {
      held = [].indexOf.call(ruler.querySelectorAll(".border"), event.target.closest(".border"));
      if (held >= 0) { ruler.setPointerCapture(event.pointerId); event.preventDefault(); }
    });
    ruler.addEventListener("pointermove", function (event) {
      var where = ruler.getBoundingClientRect();
      if (held >= 0) { shift(held, Math.round((event.clientX - where.left) / where.width * data.size) - 1, false); }
    });
    ["pointerup", "pointercancel"].forEach(function (name) { ruler.addEventListener(name, function () { held = -1; }); });
    more.addEventListener("click", function () {
      var found = ends(), best = 0, wide = 0, low = 0;
      found.forEach(function (last, number) { if (last - low + 1 > wide) { wide = last - low + 1; best = number; } low = last + 1; });
      low = best ? found[best - 1] + 1 : 0;
      if (wide > 1) { found.splice(best, 0, low + Math.floor(wide / 2) - 1); put(found); say(place, "There are " + found.length + " blocks."); }
    });
    ruler.classList.add("ruler");
    ruler.after(more);
    draw();
    return draw;
  }

  document.querySelectorAll(".block-maker").forEach(function (place) {
    var data = JSON.parse(place.querySelector("script").textContent), area = place.closest("form").querySelector("textarea");
    var draw = (data.words ? words : borders)(place, data, area);
    area.addEventListener("change", draw);
    place.closest("form").addEventListener("change", function (event) {
      if (event.target.value === "blocks" && event.target.checked && !area.value.trim()) {
        write(area, data.words ? [data.texts] : [[window.oddsLabel(data, 0), window.oddsLabel(data, data.size - 1)]]);
        draw();
      }
    });
  });
})();
