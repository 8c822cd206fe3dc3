(function () {
  "use strict";
  // What moves on the pages of the studio. Every page works by its forms alone; here pictures follow a slider at once.
  var SPACE = "http:" + "//www.w3.org/2000/svg";
  var body = document.body.dataset.page, MOST_ROWS = 50;

  function make(name, attributes, text) {
    var made = document.createElementNS(SPACE, name);
    Object.keys(attributes).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    if (text !== undefined) { made.textContent = text; }
    return made;
  }

  // Calls with the last answer only: what arrives after something newer was asked for is dropped.
  function asker(address, read) {
    var asked = 0, waiting;
    return function (query, done) {
      var mine = asked += 1;
      clearTimeout(waiting);
      waiting = setTimeout(function () {
        fetch(address + "?" + new URLSearchParams(query))
          .then(function (answer) { return answer[read](); })
          .then(function (found) { if (mine === asked) { done(found); } })
          .catch(function () {});
      }, 40);
    };
  }

  // -- secrets: the picture follows the form -----------------------------------------------------------

  // Puts a picture in another one's place, with what was chosen there.
  function renew(picture, html, start) {
    var chosen = [].map.call(picture.querySelectorAll("input[type=range]"), function (input) { return input.value; });
    picture.innerHTML = html;
    [].forEach.call(picture.querySelectorAll("input[type=range]"), function (input, place) {
      if (chosen[place] !== undefined) { input.value = chosen[place]; }
    });
    start(picture);
  }

  function secrets(section) {
    var form = section.querySelector("form"), picture = section.querySelector(".picture"), ask = asker("strip", "text");
    if (!form) { return; }
    var within = form.elements.within, output = form.querySelector("output");
    function shown(reach) {  // at once, by what is known already; the server's answer follows
      var strip = picture.querySelector(".strip");
      output.textContent = within.value;
      form.querySelector("[value=within]").checked = true;
      if (strip && strip.oddsReach && form.dataset.kind === "within") { strip.oddsReach(reach); }
    }
    function follow() {
      ask(new FormData(form), function (html) { renew(picture, html, window.startStrips); });
      form.dataset.kind = form.elements.secret.value;
    }
    form.dataset.kind = form.elements.secret.value;
    form.addEventListener("input", function (event) {
      if (event.target.name === "reason") { return; }
      if (event.target.type === "range") { shown(Math.round(+within.value / +within.step)); }
      if (event.target.name === "blocks") { form.querySelector("[value=blocks]").checked = true; }
      follow();
    });
    section.addEventListener("reach", function (event) {
      within.value = event.detail * +within.step;
      shown(event.detail);
    });
    section.addEventListener("reached", follow);
  }

  function joint(section) {
    var form = section.querySelector("form"), picture = section.querySelector(".picture"), ask = asker("map", "text");
    function follow(event) {
      if (event.target.name === "reason" || !form.elements.within.value) { return; }
      ask(new FormData(form), function (html) { renew(picture, html, window.startMaps); });
    }
    form.addEventListener("input", follow);
    picture.addEventListener("reach", function (event) {
      form.elements.within.value = event.detail;
      follow(event);
    });
  }

  // -- budget: errors and guesses at any epsilon, drawn at once and put right by what is certified -----------

  function budget() {
    var data = JSON.parse(document.getElementById("figures").textContent), place = document.getElementById("curves");
    var slider = document.getElementById("epsilon-slider"), input = document.getElementById("epsilon");
    var guess = document.getElementById("guess"), certified = document.getElementById("certified");
    var ask = asker("figures", "json"), tall = 250, scale = null, held = null;
    if (!data.items.length) { return; }

    function items() { return data.items.filter(function (item) { return item.error > 0; }); }

    // Error times epsilon is nearly constant: curves are drawn from one plan, until the next one is certified.
    function draw(epsilon) {
      var width = Math.max(place.clientWidth, 300), at = +data.epsilon, names = [];
      var svg = make("svg", { class: "curves", viewBox: "0 0 " + width + " " + tall, "aria-hidden": "true" });
      var top = Math.max.apply(null, items().map(function (item) { return item.error * at / 0.01; }).concat([1]));
      scale = { top: top, high: Math.log10(top + 1) };
      function x(e) { return 16 + (Math.log10(e) + 2) / 3 * (width - 150); }
      function y(error) { return tall - 25 - Math.max(0, Math.log10(error + 1) / scale.high) * (tall - 45); }
      items().forEach(function (item) {
        var path = "";
        for (var k = 0; k <= 60; k += 1) {
          var e = Math.pow(10, -2 + k / 20);
          path += (k ? "L" : "M") + x(e).toFixed(1) + " " + y(item.error * at / e).toFixed(1);
        }
        svg.appendChild(make("path", { d: path }));
        svg.appendChild(make("circle", { cx: x(epsilon), cy: y(item.error * at / epsilon), r: 7, "data-handle": item.name }));
        names.push([y(item.error * at / epsilon), item.name]);
      });
      var below = 12;  // names that would stand on each other are moved down
      names.sort(function (a, b) { return a[0] - b[0]; }).forEach(function (name) {
        below = Math.max(below + 14, name[0] - 4);
        svg.appendChild(make("text", { x: Math.min(x(epsilon) + 12, width - 130), y: below }, name[1]));
      });
      [0.01, 0.1, 1, 10].forEach(function (e) { svg.appendChild(make("text", { x: x(e), y: tall - 6, "text-anchor": "middle" }, e)); });
      place.replaceChildren(svg);
      items().forEach(function (item) {
        var wanted = rowOf(item.name).querySelector(".off"), error = item.error * at / epsilon;
        wanted.min = Math.log10(item.error * at / 10);
        wanted.max = Math.log10(item.error * at / 0.01);
        if (document.activeElement !== wanted) { wanted.value = Math.log10(error); }
        wanted.setAttribute("aria-valuetext", "off by about " + +error.toPrecision(3));
      });
    }

    function rowOf(name) { return document.querySelector('[data-item="' + CSS.escape(name) + '"]'); }

    function hundred(right) {
      var svg = document.getElementById("hundred");
      svg.replaceChildren();
      for (var n = 0; n < 100; n += 1) {
        svg.appendChild(make("circle", { cx: 5 + 8 * (n % 25), cy: 5 + 11 * Math.floor(n / 25), r: 3.4, class: n < right ? "right" : "wrong" }));
      }
    }

    function told() {
      data.items.forEach(function (item) {
        var row = rowOf(item.name);
        if (row) { row.children[1].textContent = item.told; row.children[2].textContent = item.told_plain; }
      });
      hundred(data.guessers);
      guess.textContent = "If 100 people guessed between two neighbouring values as well as this release allows, at most " +
        data.guessers + " would be right; 50 without a release. Odds move at most " + data.odds + " times.";
    }

    function moved(epsilon) {
      certified.textContent = "Being certified.";
      draw(epsilon);
      ask({ epsilon: String(epsilon) }, function (found) {
        if (!found.items.length) { certified.textContent = found.problem || "There is nothing to tell."; return; }
        data = found;
        told();
        draw(epsilon);
        certified.textContent = "Certified.";
      });
    }

    function to(epsilon) {
      epsilon = +Math.min(10, Math.max(0.01, epsilon)).toPrecision(2);
      input.value = epsilon;
      slider.value = Math.log10(epsilon);
      slider.setAttribute("aria-valuetext", "epsilon " + epsilon);
      moved(epsilon);
    }

    function reaching(name, error) {
      var item = data.items.find(function (one) { return one.name === name; });
      to(item.error * +data.epsilon / error);
    }

    slider.value = Math.log10(+data.epsilon);
    slider.addEventListener("input", function () { to(Math.pow(10, +slider.value)); });
    input.addEventListener("change", function () {
      if (+input.value > 0) { slider.value = Math.log10(+input.value); moved(+input.value); }
    });
    document.querySelectorAll(".off").forEach(function (wanted) {
      wanted.addEventListener("input", function () { reaching(wanted.closest("tr").dataset.item, Math.pow(10, +wanted.value)); });
    });
    place.addEventListener("pointerdown", function (event) {
      held = event.target.dataset.handle || null;
      if (held !== null) { place.setPointerCapture(event.pointerId); event.preventDefault(); }
    });
    place.addEventListener("pointermove", function (event) {
      if (held === null) { return; }
      var box = place.firstChild.getBoundingClientRect(), up = (box.bottom - event.clientY) / box.height * tall - 25;
      reaching(held, Math.max(1e-6, Math.pow(10, up / (tall - 45) * scale.high) - 1));
    });
    ["pointerup", "pointercancel"].forEach(function (name) { place.addEventListener(name, function () { held = null; }); });
    hundred(data.guessers);
    draw(+data.epsilon);
  }

  // -- questions: three releases that could come out ------------------------------------------------------

  function line(values, low, high, name) {
    var path = values.map(function (value, place) {
      var across = values.length > 1 ? 1000 * place / (values.length - 1) : 500;
      return (place ? "L" : "M") + across.toFixed(1) + " " + (95 - 90 * (value - low) / (high - low || 1)).toFixed(1);
    }).join("");
    return make("path", { d: path, class: name });
  }

  function shownNumber(value) { return (+value.toPrecision(4)).toLocaleString("en"); }

  // The numbers behind a picture: a column for the made-up truth, and one for each release.
  function numbers(item) {
    var details = document.createElement("details"), summary = document.createElement("summary"), table = document.createElement("table");
    var rows = item.truth.slice(0, MOST_ROWS), heads = ["place", "made-up truth", "first release", "second", "third"];
    summary.textContent = "The same as a table: " + item.name + (item.truth.length > MOST_ROWS ? ", the first " + MOST_ROWS : "");
    var line = table.createTHead().insertRow();
    heads.forEach(function (head) {
      var made = line.appendChild(document.createElement("th"));
      made.scope = "col";
      made.textContent = head;
    });
    var filled = table.createTBody();
    rows.forEach(function (truth, place) {
      var row = filled.insertRow();
      [place + 1, truth].concat(item.releases.map(function (values) { return values[place]; })).forEach(function (value) {
        row.insertCell().textContent = shownNumber(value);
      });
    });
    details.append(summary, table);
    return details;
  }

  function questions() {
    var place = document.getElementById("could-be"), ask = asker("simulate", "json"), pause = document.getElementById("pause");
    var shape = document.getElementById("shape"), people = document.getElementById("people"), paused = false, waiting_;
    function drawn(found) {
      place.setAttribute("aria-live", paused ? "polite" : "off");
      place.replaceChildren();
      if (found.problem) { place.textContent = found.problem; }
      found.items.forEach(function (item) {
        var all = item.truth.concat.apply(item.truth, item.releases), figure = document.createElement("figure");
        var low = Math.min.apply(null, all), high = Math.max.apply(null, all), caption = document.createElement("figcaption");
        if (item.truth.length > 1) {
          var svg = make("svg", { class: "could", viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true" });
          item.releases.forEach(function (values) { svg.appendChild(line(values, low, high, "drawn")); });
          svg.appendChild(line(item.truth, low, high, "truth"));
          figure.appendChild(svg);
        }
        caption.textContent = item.name + ": " + (item.truth.length > 1 ? "the dashes are the made-up truth. First number: " : "") +
          item.releases.map(function (values) { return shownNumber(values[0]); }).join(", ") +
          "; the made-up truth is " + shownNumber(item.truth[0]) + ".";
        figure.append(caption, numbers(item));
        place.appendChild(figure);
      });
      clearTimeout(waiting_);
      waiting_ = setTimeout(onwards, 2500);
    }
    function again() { ask({ shape: shape.value, people: people.value }, drawn); }
    // Others are drawn by and by, unless somebody reads the numbers, is elsewhere, or wants it to stand still.
    function onwards() {
      if (paused) { return; }
      if (document.hidden || place.querySelector("details[open]") || place.contains(document.activeElement)) { waiting_ = setTimeout(onwards, 2500); }
      else { again(); }
    }
    function still(now) {
      paused = now;
      pause.setAttribute("aria-pressed", paused);
      clearTimeout(waiting_);
      if (!paused) { waiting_ = setTimeout(onwards, 500); }
    }
    pause.addEventListener("click", function () { still(!paused); });
    document.getElementById("again").addEventListener("click", again);
    shape.addEventListener("change", again);
    people.addEventListener("change", again);
    still(matchMedia("(prefers-reduced-motion: reduce)").matches);
    again();
  }

  // -- choose: what beliefs allow, and what errors need ------------------------------------------------------

  function logit(share) { return Math.log(share / (1 - share)); }

  // Three digits, and never more than is allowed: as what is written to the file.
  function roundedDown(epsilon) {
    var unit = Math.floor(Math.log10(epsilon)) - 2;
    return (Math.floor(epsilon / Math.pow(10, unit)) * Math.pow(10, unit)).toFixed(Math.max(0, -unit));
  }

  function choose() {
    var form = document.getElementById("belief"), follows = document.getElementById("follows");
    var balance = document.getElementById("balance"), allowed = balance.dataset.allowed;
    function percent(name) { return +form.elements[name].value / 100; }
    function show(event) {
      var before = form.elements.before, after = form.elements.after;
      if (+after.value <= +before.value) {
        if (event && event.target === after) { before.value = +after.value - 1; } else { after.value = +before.value + 1; }
      }
      [before, after].forEach(function (input) {
        input.parentElement.querySelector("output").textContent = input.value + "%";
        input.setAttribute("aria-valuetext", input.value + " percent sure");
      });
      var parts = Math.max(1, Math.floor(+form.elements.steps.value || 1)) * Math.max(1, Math.floor(+form.elements.releases.value || 1));
      var epsilon = (logit(percent("after")) - logit(percent("before"))) / parts;
      follows.textContent = "epsilon × steps × releases = logit after − logit before: that allows epsilon " + roundedDown(epsilon) + " for each release.";
    }
    form.addEventListener("input", show);
    show();
    balance.appendChild(document.createElement("p")).textContent = "What the errors need is being worked out.";
    fetch("needed").then(function (answer) { return answer.json(); }).then(function (found) {
      var told = balance.lastChild;
      if (found.needed === null) {
        told.textContent = found.problem || "No error is wanted of any item yet, so that nothing is needed.";
        return;
      }
      told.textContent = found.enough
        ? "The errors that you want need epsilon " + found.needed + ", and the file allows " + found.allowed + ": that is enough."
        : "The errors that you want need epsilon " + found.needed + ", for the sake of " + found.driven.join(", ") + ", and the file allows " + found.allowed + ": that is not enough.";
      balance.appendChild(bars([["needed", +found.needed], ["allowed", +found.allowed]]));
    }).catch(function () {});
  }

  // A table with a bar in each row: the picture and the numbers are one.
  function bars(rows) {
    var table = document.createElement("table"), most = Math.max.apply(null, rows.map(function (row) { return row[1]; }));
    table.className = "bars";
    rows.forEach(function (row, place) {
      var line = table.insertRow(), head = document.createElement("th"), number, drawn;
      head.scope = "row";
      head.textContent = row[0];
      line.appendChild(head);
      number = line.insertCell();
      number.className = "n";
      number.textContent = row[2] || row[1];
      drawn = line.insertCell();
      drawn.setAttribute("aria-hidden", "true");
      var svg = make("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none" });
      svg.appendChild(make("rect", { width: 100 * row[1] / most, height: 8, class: "bar-" + (place + 1) }));
      drawn.appendChild(svg);
    });
    return table;
  }

  // -- known and attackers: play an attack --------------------------------------------------------------------

  function attack(button) {
    button.addEventListener("click", function () {
      var place = button.closest(".attack").querySelector("[aria-live]");
      place.textContent = "It is played.";
      fetch("attack?" + new URLSearchParams({ name: button.dataset.attack }))
        .then(function (answer) { return answer.text(); })
        .then(function (html) { place.innerHTML = html; })
        .catch(function () { place.textContent = "It could not be played."; });
    });
  }

  // -- release: wait for the child ------------------------------------------------------------------------

  function waiting() {
    var status = document.getElementById("status");
    if (!status || !status.dataset.running) { return; }
    fetch("status")
      .then(function (answer) { return answer.json(); })
      .then(function (found) { if (found.running) { setTimeout(waiting, 500); } else { location.assign("release"); } })
      .catch(function () { setTimeout(waiting, 2000); });
  }

  // -- everywhere: the file may be changed by somebody else ------------------------------------------------------

  function watch() {
    var main = document.getElementById("content");
    if (document.getElementById("differs")) { return; }
    if (document.hidden) { setTimeout(watch, 4000); return; }
    fetch("status").then(function (answer) { return answer.json(); }).then(function (found) {
      if (!found.changed) { setTimeout(watch, 4000); return; }
      var told = document.createElement("p"), link = document.createElement("a");
      told.className = "card warn";
      told.setAttribute("role", "alert");
      link.href = location.pathname;
      link.textContent = "See what is different.";
      told.append("The file was changed by somebody else. ", link);
      main.prepend(told);
    }).catch(function () {});
  }
  setTimeout(watch, 4000);

  document.querySelectorAll(".secret").forEach(secrets);
  document.querySelectorAll(".joint").forEach(joint);
  document.querySelectorAll("[data-attack]").forEach(attack);
  if (body === "choose") { choose(); }
  if (body === "budget") { budget(); }
  if (body === "questions") { questions(); }
  if (body === "release") { waiting(); }
})();
