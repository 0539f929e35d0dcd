
(function () {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const MOST_PARTS = 6;
  const MOST_STEPS = 200000;
  const MOST_FLIPS = 5;

  // From raw values to conditions -----------------------------------------------------------------------------

  // How the text of a field becomes a value that is compared; undefined where it is none. An empty field is missing.
  const READERS = {
    number: (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined),
    text: (text) => text,
    // Written in full, the later date is the larger text.
    date: (text) => (/^\d{4}-\d\d-\d\d/.test(text)
      ? text.replace("T", " ") + " 00:00:00.000000".slice(text.length - 10) : undefined),
    timedelta: (text) => {
      const found = /^\s*(-?\d{1,8}) days?(?: \+?([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,6}))?)?\s*$/.exec(text);
      if (!found) return undefined;
      const [days, hours, minutes, seconds] = found.slice(1, 5).map((part) => BigInt(part || 0));
      return (((days * 24n + hours) * 60n + minutes) * 60n + seconds) * 1000000n + BigInt((found[5] || "").padEnd(6, "0"));
    },
  };
  // One line per operator of a predicate. A missing value (null) makes every comparison false.
  const OPERATORS = {
    ">=": (value, bound) => value !== null && value >= bound,
    ">": (value, bound) => value !== null && value > bound,
    "<=": (value, bound) => value !== null && value <= bound,
    "<": (value, bound) => value !== null && value < bound,
    "==": (value, bound) => value !== null && value === bound,
    missing: (value) => value === null,
  };
  // A text that no rule compares with: it equals nothing and is not missing.
  const OTHER = Symbol("another value");
  const tests = data.tests.map(([column, operator, bound]) => {
    const kind = data.columns[column].kind;
    const compared = OPERATORS[operator];
    const point = kind === "timedelta" && bound !== null ? BigInt(bound) : bound;
    return (values) => (compared(values[column], point) ? 1 : 0);
  });
  const conditionsOf = (values) => tests.map((test) => test(values));

  // Deciding --------------------------------------------------------------------------------------------------

  const cubes = data.cubes;
  const holds = (literals, bits) => literals.every(([place, wanted]) => bits[place] === wanted);
  const fires = (cube, bits) => holds(cube.if, bits);
  const firesAny = (klass, bits) => cubes.some((cube) => cube.of === klass && fires(cube, bits));

  // The class, by its place, and the cube that decides; -1 where there is none.
  function decide(bits) {
    const cube = data.order.find((i) => fires(cubes[i], bits));
    if (cube === undefined) return { klass: data.alone ? -1 : data.otherwise, cube: -1 };
    if (data.alone && cubes.some((other) => other.of !== cubes[cube].of && fires(other, bits))) return { klass: -1, cube: -1 };
    return { klass: cubes[cube].of, cube };
  }

  // The smallest change ---------------------------------------------------------------------------------------

  // The ways to reach an answer: cubes that must fire, and cubes that must not.
  function waysTo(klass) {
    const others = cubes.filter((cube) => cube.of !== klass), own = cubes.filter((cube) => cube.of === klass);
    if (data.alone && klass >= 0) return own.map((cube) => ({ fire: [cube], silent: others }));
    if (data.alone) {
      const pairs = cubes.flatMap((one, i) => cubes.slice(i + 1).filter((two) => two.of !== one.of).map((two) => [one, two]));
      return [{ fire: [], silent: cubes }, ...pairs.map((fire) => ({ fire, silent: [] }))];
    }
    const ways = [], before = [];
    for (const i of data.order) {
      if (cubes[i].of === klass) ways.push({ fire: [cubes[i]], silent: before.slice() });
      else before.push(cubes[i]);
    }
    if (data.otherwise === klass) ways.push({ fire: [], silent: others });
    return ways;
  }

  const columnOf = data.tests.map(([column]) => column);
  const partOf = [];
  data.parts.forEach((part, i) => part.forEach((column) => { partOf[column] = i; }));
  const patterns = data.columns.map((column) => column.states.map(([pattern]) => [...pattern].map(Number)));

  // The row that reaches one of the ways with the fewest changed columns, then with the fewest changed conditions.
  function smallest(bits, ways) {
    const ones = data.exclusive.map((group) => Math.max(1, group.reduce((sum, place) => sum + bits[place], 0)));
    const steps = data.implied.flatMap((chain) => chain.slice(1).map((after, i) => [chain[i], after]))
      .filter(([before, after]) => !(bits[after] && !bits[before]));
    const row = bits.slice(), fixed = data.columns.map(() => false), changed = data.parts.map(() => 0);
    let best = null, left = MOST_STEPS;

    // The states of a column that make a condition as wanted and keep what must fire.
    function options(column, fire, fits) {
      if (fixed[column]) return [];
      const { concepts } = data.columns[column];
      return patterns[column].filter((pattern) => {
        const value = (place) => pattern[concepts.indexOf(place)];
        return fits(value) && fire.every((cube) => cube.if.every(([place, wanted]) =>
          columnOf[place] !== column || value(place) === wanted));
      }).map((pattern) => [column, pattern]);
    }
    // What can be done about the first thing that is not yet as it must be; null where all is.
    function repairs({ fire, silent }) {
      for (const cube of fire) {
        const lacking = cube.if.find(([place, wanted]) => row[place] !== wanted);
        if (lacking) return options(columnOf[lacking[0]], fire, () => true);
      }
      for (const cube of silent) {
        if (!fires(cube, row)) continue;
        const columns = [...new Set(cube.if.map(([place]) => columnOf[place]))];
        return columns.flatMap((column) => options(column, fire, (value) =>
          cube.if.some(([place, wanted]) => columnOf[place] === column && value(place) !== wanted)));
      }
      for (const [i, group] of data.exclusive.entries()) {
        const held = group.filter((place) => row[place]);
        if (held.length > ones[i]) {
          return held.flatMap((place) => options(columnOf[place], fire, (value) => value(place) === 0));
        }
      }
      for (const [before, after] of steps) {
        if (!row[after] || row[before]) continue;
        return [...options(columnOf[after], fire, (value) => value(after) === 0),
          ...options(columnOf[before], fire, (value) => value(before) === 1)];
      }
      return null;
    }
    function search(way, parts, concepts, most) {
      if (parts > most || (best && concepts >= best.concepts) || --left < 0) return;
      const todo = repairs(way);
      if (todo === null) {
        best = { parts, concepts, row: row.slice() };
        return;
      }
      for (const [column, pattern] of todo) {
        const places = data.columns[column].concepts, part = partOf[column];
        const old = places.map((place) => row[place]);
        const differ = pattern.filter((bit, i) => bit !== old[i]).length;
        if (!differ) continue;
        places.forEach((place, i) => { row[place] = pattern[i]; });
        fixed[column] = true;
        const isNew = changed[part]++ === 0 ? 1 : 0;
        search(way, parts + isNew, concepts + differ, most);
        changed[part]--;
        fixed[column] = false;
        places.forEach((place, i) => { row[place] = old[i]; });
      }
    }
    for (let most = 1; most <= MOST_PARTS && !best && left >= 0; most++) {
      for (const way of ways) search(way, 0, 0, most);
    }
    return best;
  }

  // The page --------------------------------------------------------------------------------------------------

  const byId = (id) => document.getElementById(id);
  const answerWords = (place) => (place < 0 ? "undecided" : data.subject + data.classes[place]);
  const COLORS = 8;

  function element(tag, text, kind) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }

  function joined(words) {
    return words.length < 2 ? words.join("") : words.slice(0, -1).join(", ") + " and " + words[words.length - 1];
  }

  // Tables that are wider than their box can be reached, and scrolled, from the keyboard.
  function reachable() {
    for (const box of document.querySelectorAll(".scroll")) {
      if (box.scrollWidth > box.clientWidth + 1) {
        box.tabIndex = 0;
        box.setAttribute("role", "group");
        box.setAttribute("aria-label", box.querySelector("caption").textContent);
      } else {
        for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      }
    }
    const list = byId("cubes");
    if (list) list.tabIndex = list.scrollHeight > list.clientHeight + 1 ? 0 : -1;
  }

  // The link of the part that is being read is marked.
  function markCurrent() {
    const links = [...document.querySelectorAll("nav a")];
    const top = document.querySelector("nav").getBoundingClientRect().bottom + 60;
    const passed = links.filter((link) => byId(link.hash.slice(1)).getBoundingClientRect().top <= top);
    const atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
    const current = atEnd && window.scrollY > 0 ? links[links.length - 1] : passed[passed.length - 1];
    for (const link of links) {
      if (link === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
  let waiting = false;
  window.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; markCurrent(); });
  }, { passive: true });
  markCurrent();

  // On paper nothing can be unfolded; long lists stay folded.
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open]):not(.numbers):not(.long)")];
    for (const part of unfolded) part.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const part of unfolded) part.open = false;
  });

  window.addEventListener("resize", reachable);
  // What unfolds is measured only then; the event does not bubble.
  document.addEventListener("toggle", reachable, true);
  reachable();
  if (!byId("panel")) return;

  const inputs = [...document.querySelectorAll("[data-column]")];
  const lines = cubes.map((cube, i) => {
    const line = element("li", undefined, "c" + (cube.of % COLORS));
    line.dataset.cube = String(i);
    line.append(element("p", answerWords(cube.of), "klass-name"));
    const list = element("ul");
    for (const [words] of cube.conditions) {
      const item = element("li");
      item.append(element("span", undefined, "sign"), element("span", words));
      list.append(item);
    }
    line.append(list, element("p", undefined, "state"));
    byId("cubes").append(line);
    return line;
  });
  let picked = null, start = null;

  // The value of a field; undefined where what is written there is none.
  function valueOf(input, i) {
    const column = data.columns[i];
    if (input.tagName === "SELECT") {
      const [sort, value] = column.choices[Number(input.value)];
      return sort === "other" ? OTHER : value;
    }
    if (input.validity.badInput) return undefined;
    return input.value.trim() === "" ? null : READERS[column.kind](input.value);
  }

  // Write a value into a field; null is missing, and in a list of texts a value that no rule compares with.
  function write(i, value, isMissing) {
    const input = inputs[i], { choices } = data.columns[i];
    if (input.tagName !== "SELECT") {
      input.value = value === null ? "" : String(value);
      return;
    }
    const place = choices.findIndex(([sort, held]) =>
      (value === null && !isMissing ? sort === "other" : sort === "value" && held === value));
    input.value = String(place);
  }

  // Fill the fields with values for which these conditions hold; columns that fit already stay as they are.
  function fill(bits, all) {
    const now = all ? null : conditionsOf(inputs.map(valueOf));
    data.columns.forEach((column, i) => {
      if (now && column.concepts.every((place) => now[place] === bits[place])) return;
      const pattern = column.concepts.map((place) => bits[place]).join("");
      const state = column.states.find(([held]) => held === pattern);
      write(i, state ? state[2] : null, !state);
    });
  }

  function whyAnswer(bits, decision) {
    if (decision.cube >= 0) {
      const cube = cubes[decision.cube];
      const words = cube.conditions.map(([told]) => told).join(" and ");
      const because = words ? "Because " + words : "Its rule always fires";
      return because + (data.by_trust ? " (trust " + cube.trust + ")." : ".");
    }
    const fired = data.classes.filter((_, klass) => firesAny(klass, bits));
    if (fired.length) return "Rules of several classes fire: " + joined(fired) + ".";
    return decision.klass < 0 ? "No rule fires." : "No rule fires; such rows get this answer.";
  }

  function showAnswer(bits) {
    const card = byId("answer");
    card.className = "answer";
    if (data.multilabel) {
      const given = data.classes.filter((_, klass) => firesAny(klass, bits));
      byId("answer-class").textContent = given.length ? joined(given) : "none";
      byId("answer-why").textContent = data.classes
        .map((name, klass) => name + ": " + (firesAny(klass, bits) ? "yes" : "no")).join("; ");
    } else {
      const decision = decide(bits);
      if (decision.klass >= 0) card.classList.add("c" + (decision.klass % COLORS));
      byId("answer-class").textContent = answerWords(decision.klass);
      byId("answer-why").textContent = whyAnswer(bits, decision);
    }
  }

  function showCubes(bits) {
    const deciding = data.multilabel ? -1 : decide(bits).cube;
    cubes.forEach((cube, i) => {
      const fired = fires(cube, bits);
      lines[i].classList.toggle("fires", fired);
      const items = lines[i].querySelectorAll("ul li");
      cube.conditions.forEach(([, literals], k) => {
        const held = holds(literals, bits);
        items[k].className = held ? "true" : "false";
        items[k].firstChild.textContent = held ? "✓ true: " : "✗ false: ";
      });
      lines[i].querySelector(".state").textContent =
        !fired ? "Does not fire" : i === deciding ? "Fires and decides" : "Fires";
    });
    // What fires comes first, and what decides before it.
    const rank = (i) => (i === deciding ? 0 : fires(cubes[i], bits) ? 1 : 2);
    byId("cubes").append(...[...lines.keys()].sort((i, j) => rank(i) - rank(j) || i - j).map((i) => lines[i]));
  }

  function changeWords(bits, row) {
    return data.columns.map((column, i) => {
      if (column.concepts.every((place) => bits[place] === row[place])) return null;
      const pattern = column.concepts.map((place) => row[place]).join("");
      const input = inputs[i];
      const now = input.tagName === "SELECT" ? input.selectedOptions[0].textContent : input.value || "missing";
      return column.states.find(([held]) => held === pattern)[1] + " (now " + now + ")";
    }).filter((words) => words !== null);
  }

  function flipItem(bits, found, told, kind) {
    const item = element("li", undefined, kind);
    item.append(element("strong", told), element("span", " if " + changeWords(bits, found.row).join(" and ") + " "));
    const button = element("button", "Try this");
    button.type = "button";
    button.addEventListener("click", () => {
      fill(found.row, false);
      show();
      byId("answer").scrollIntoView({ block: "nearest" });
    });
    button.setAttribute("aria-label", "Try this: " + told);
    item.append(button);
    return item;
  }

  function showFlips(bits) {
    const place = byId("flips");
    place.replaceChildren();
    const found = [];
    if (data.multilabel) {
      data.classes.forEach((name, klass) => {
        const yes = firesAny(klass, bits), own = cubes.filter((cube) => cube.of === klass);
        const ways = yes ? [{ fire: [], silent: own }] : own.map((cube) => ({ fire: [cube], silent: [] }));
        found.push([smallest(bits, ways), name + ": " + (yes ? "no" : "yes"), "c" + (klass % COLORS)]);
      });
    } else {
      const before = decide(bits).klass;
      const answers = [...data.classes.keys(), ...(data.alone || data.otherwise < 0 ? [-1] : [])];
      for (const klass of answers.filter((other) => other !== before)) {
        found.push([smallest(bits, waysTo(klass)), answerWords(klass), klass < 0 ? "" : "c" + (klass % COLORS)]);
      }
    }
    const changes = found.filter(([change]) => change)
      .sort(([one], [two]) => one.parts - two.parts || one.concepts - two.concepts);
    if (!changes.length) {
      place.append(element("p", "No change of up to " + MOST_PARTS + " columns changes the answer."));
      return;
    }
    const list = element("ol");
    for (const [change, told, kind] of changes.slice(0, MOST_FLIPS)) list.append(flipItem(bits, change, told, kind));
    place.append(list);
  }

  function showRow(bits) {
    if (!byId("row-info") || picked === null) return;
    const [number, label, network, rules, held] = picked;
    const isChanged = bits.some((bit, i) => bit !== Number(held[i]));
    const said = network === null ? "the rules say " + rules : "the network says " + network + ", the rules say " + rules;
    byId("row-info").textContent = "Row " + number + " is truly " + label + "; " + said + "." +
      (isChanged ? " You have changed it." : "");
    byId("reset").textContent = "Back to row " + number;
  }

  function show() {
    const values = inputs.map(valueOf);
    const wrong = inputs.filter((_, i) => values[i] === undefined);
    inputs.forEach((input, i) => {
      if (values[i] === undefined) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
      const missing = input.parentElement.querySelector(".is-missing");
      if (missing) missing.hidden = values[i] !== null;
    });
    byId("flips").parentElement.hidden = wrong.length > 0;
    if (wrong.length) {
      byId("answer").className = "answer";
      byId("answer-class").textContent = "no answer";
      byId("answer-why").textContent = "Correct " + joined(wrong.map((input) => input.labels[0].textContent)) + " first.";
      return;
    }
    const bits = conditionsOf(values);
    showAnswer(bits);
    showFlips(bits);
    showCubes(bits);
    showRow(bits);
    reachable();
  }

  function pick(row) {
    picked = row;
    start = [...row[4]].map(Number);
    fill(start, true);
    show();
  }

  byId("fields").addEventListener("input", (event) => {
    if (event.target.matches("[data-column]")) show();
  });
  byId("fields").addEventListener("submit", (event) => event.preventDefault());

  const list = byId("row-select");
  const KINDS = {
    all: () => true,
    wrong: ([, label, , rules]) => label !== rules,
    differ: ([, , network, rules]) => network !== null && network !== rules,
  };

  function fillRows() {
    const begins = byId("row-search").value.trim();
    const kept = data.rows.filter((row) => String(row[0]).startsWith(begins) && KINDS[byId("row-kind").value](row));
    list.replaceChildren();
    for (const row of kept) {
      const option = element("option", "row " + row[0] + ": " + row[1] + (row[1] === row[3] ? "" : " (rules: " + row[3] + ")"));
      option.value = String(data.rows.indexOf(row));
      list.append(option);
    }
    list.disabled = kept.length === 0;
    const all = begins === "" && byId("row-kind").value === "all";
    byId("row-found").textContent = all ? "" : kept.length + (kept.length === 1 ? " row" : " rows") + " found";
    return kept;
  }

  function refill() {
    const kept = fillRows();
    if (kept.length && !kept.includes(picked)) pick(kept[0]);
    else if (kept.length) list.value = String(data.rows.indexOf(picked));
  }

  byId("panel").hidden = false;
  if (list) {
    byId("row-search").addEventListener("input", refill);
    byId("row-kind").addEventListener("change", refill);
    list.addEventListener("change", () => pick(data.rows[Number(list.value)]));
    byId("reset").addEventListener("click", () => pick(picked));
    refill();
  } else {
    data.columns.forEach((column, i) => write(i, column.states[0][2], false));
    show();
  }
})();
