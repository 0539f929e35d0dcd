
(function () {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const size = data.words.length;
  const MOST_FLIPS = 5;
  // Sets of three among very many conditions would keep the reader waiting.
  const MOST_CHANGES = size > 120 ? 2 : 3;

  // Deciding --------------------------------------------------------------------------------------------------

  function fires(cube, bits) {
    return cube.if.every(([place, wanted]) => bits[place] === wanted);
  }

  // The class, by its place, and the cube that decides; -1 where there is none.
  function decide(bits) {
    const fired = data.cubes.map((cube) => fires(cube, bits));
    // Of two classes the one without rules is what the other leaves.
    if (data.resolve === "none" && !data.complement) {
      const classes = new Set(data.cubes.filter((_, i) => fired[i]).map((cube) => cube.of));
      const cube = classes.size === 1 ? fired.indexOf(true) : -1;
      return { klass: cube < 0 ? -1 : data.cubes[cube].of, cube };
    }
    let best = -1;
    const earlier = (i, j) => data.order.indexOf(data.cubes[i].of) < data.order.indexOf(data.cubes[j].of);
    const trusted = (i, j) => data.cubes[i].trust > data.cubes[j].trust;
    const before = data.resolve === "order" ? earlier : trusted;
    fired.forEach((fires, i) => {
      // Of equals the cube that is written first decides.
      if (fires && (best < 0 || before(i, best))) best = i;
    });
    if (best >= 0) return { klass: data.cubes[best].of, cube: best };
    return { klass: data.otherwise === null ? -1 : data.otherwise, cube: -1 };
  }

  function firesAny(klass, bits) {
    return data.cubes.some((cube) => cube.of === klass && fires(cube, bits));
  }

  // Possible rows ---------------------------------------------------------------------------------------------

  function possible(bits) {
    return data.exclusive.every((group) => group.reduce((sum, place) => sum + bits[place], 0) <= 1) &&
      data.implied.every((chain) => chain.every((place, i) => i === 0 || bits[place] <= bits[chain[i - 1]]));
  }

  // The row with one condition switched and the others made to fit; null where nothing fits.
  function switched(bits, place, value) {
    const forced = new Map([[place, value]]);
    const queue = [place];
    while (queue.length) {
      const at = queue.shift(), held = forced.get(at);
      const follow = [];
      for (const chain of data.implied) {
        const i = chain.indexOf(at);
        if (i < 0) continue;
        for (const other of held ? chain.slice(0, i) : chain.slice(i + 1)) follow.push([other, held]);
      }
      for (const group of data.exclusive) {
        if (held && group.includes(at)) for (const other of group) if (other !== at) follow.push([other, 0]);
      }
      for (const [other, wanted] of follow) {
        if (forced.has(other)) {
          if (forced.get(other) !== wanted) return null;
        } else {
          forced.set(other, wanted);
          queue.push(other);
        }
      }
    }
    return bits.map((bit, i) => (forced.has(i) ? forced.get(i) : bit));
  }

  // What would change the answer ------------------------------------------------------------------------------

  // The smallest sets of changes, fewest first, none of which contains another.
  function flips(bits, answer) {
    const before = answer(bits), found = [], row = bits.slice(), chosen = [];
    function choose(left, from) {
      if (left === 0) {
        const whole = found.some((set) => set.every((place) => chosen.includes(place)));
        if (!whole && answer(row) !== before && possible(row)) found.push(chosen.slice());
        return;
      }
      for (let place = from; place <= size - left && found.length < MOST_FLIPS; place++) {
        row[place] = 1 - row[place];
        chosen.push(place);
        choose(left - 1, place + 1);
        chosen.pop();
        row[place] = 1 - row[place];
      }
    }
    for (let many = 1; many <= MOST_CHANGES && found.length < MOST_FLIPS; many++) choose(many, 0);
    return found;
  }

  // Whether one change says another too: at least 72 is at least 60, and in one unit is in no other.
  function says(one, other, row) {
    const inOrder = (chain, first, second) => chain.includes(first) && chain.indexOf(second) > chain.indexOf(first);
    if (row[one] && row[other]) return data.implied.some((chain) => inOrder(chain, other, one));
    if (!row[one] && !row[other]) return data.implied.some((chain) => inOrder(chain, one, other));
    return row[one] && !row[other] && data.exclusive.some((group) => group.includes(one) && group.includes(other));
  }

  function changeWords(bits, set) {
    const row = bits.map((bit, i) => (set.includes(i) ? 1 - bit : bit));
    let kept = set;
    for (const place of set) {
      if (kept.some((one) => one !== place && says(one, place, row))) kept = kept.filter((one) => one !== place);
    }
    return kept.map((place) => data.words[place][row[place]]);
  }

  // The page --------------------------------------------------------------------------------------------------

  const byId = (id) => document.getElementById(id);
  const className = (place) => (place < 0 ? "undecided" : data.classes[place]);

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
    const cubes = byId("cubes");
    if (cubes) cubes.tabIndex = cubes.scrollHeight > cubes.clientHeight + 1 ? 0 : -1;
  }

  // On paper nothing can be unfolded.
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open]):not(.numbers)")];
    for (const part of unfolded) part.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const part of unfolded) part.open = false;
  });

  window.addEventListener("resize", reachable);
  // What unfolds is measured only then; the event does not bubble.
  document.addEventListener("toggle", reachable, true);
  if (!byId("panel")) {
    reachable();
    return;
  }
  const boxes = [...document.querySelectorAll("input[data-concept]")].sort((a, b) => a.dataset.concept - b.dataset.concept);
  const lines = [...byId("cubes").children];
  let bits = new Array(size).fill(0);
  let picked = null;

  function whyAnswer(decision) {
    if (decision.cube >= 0) {
      const cube = data.cubes[decision.cube];
      const words = cube.if.map(([place, wanted]) => data.words[place][wanted]).join(" and ");
      const because = words ? "because " + words : "its rule always fires";
      return data.resolve === "none" ? because : because + " (trust " + cube.trust_words + ")";
    }
    const fired = data.classes.filter((_, klass) => firesAny(klass, bits));
    if (fired.length) return "rules of several classes fire: " + joined(fired);
    return decision.klass < 0 ? "no rule fires" : "no rule fires; such rows get this answer";
  }

  function showAnswer(said) {
    if (data.multilabel) {
      const given = data.classes.filter((_, klass) => firesAny(klass, bits));
      byId("answer-class").textContent = given.length ? joined(given) : "none";
      byId("answer-why").textContent = data.classes
        .map((name, klass) => name + ": " + (firesAny(klass, bits) ? "yes" : "no")).join("; ");
    } else {
      const decision = decide(bits);
      byId("answer-class").textContent = className(decision.klass);
      byId("answer-why").textContent = whyAnswer(decision);
    }
    byId("fixed").textContent = said;
  }

  function showCubes() {
    const deciding = data.multilabel ? -1 : decide(bits).cube;
    data.cubes.forEach((cube, i) => {
      const failing = cube.if.filter(([place, wanted]) => bits[place] !== wanted);
      const state = lines[i].querySelector(".state");
      lines[i].classList.toggle("fires", failing.length === 0);
      if (failing.length) {
        state.textContent = "✗ does not fire: " + joined(failing.map(([place]) => data.words[place][bits[place]]));
      } else {
        state.textContent = i === deciding ? "✓ fires and decides" : "✓ fires";
      }
    });
  }

  function flipList(answer, told) {
    const found = flips(bits, answer);
    if (!found.length) {
      return element("p", "No change of up to " + MOST_CHANGES + " conditions changes it.");
    }
    const list = element("ol");
    for (const set of found) {
      const row = bits.map((bit, i) => (set.includes(i) ? 1 - bit : bit));
      const item = element("li", "If " + changeWords(bits, set).join(" and ") + ": ");
      item.append(element("strong", told(answer(row))));
      list.append(item);
    }
    return list;
  }

  function showFlips() {
    const place = byId("flips");
    place.replaceChildren();
    if (!data.multilabel) {
      place.append(flipList((row) => decide(row).klass, className));
      return;
    }
    data.classes.forEach((name, klass) => {
      place.append(element("h4", name));
      place.append(flipList((row) => firesAny(klass, row), (yes) => (yes ? "yes" : "no")));
    });
  }

  function showRow() {
    if (!byId("row-info")) return;
    if (picked === null) return;
    const [number, label, network, rules, held] = picked;
    const changed = bits.filter((bit, i) => bit !== Number(held[i])).length;
    const said = network === null ? "The rules say " + rules + "."
      : "The network says " + network + ", the rules say " + rules + ".";
    byId("row-info").textContent = "Row " + number + " is truly " + label + ". " + said +
      (changed ? " You have changed " + changed + (changed === 1 ? " condition." : " conditions.") : "");
    byId("reset").textContent = "Back to row " + number;
  }

  function show(said) {
    boxes.forEach((box, i) => { box.checked = bits[i] === 1; });
    showAnswer(said || "");
    showCubes();
    showFlips();
    showRow();
  }

  function toggle(place, value) {
    const after = switched(bits, place, value);
    if (after === null) {
      show("Nothing was changed: " + data.words[place][value] + " contradicts what excludes it.");
      return;
    }
    const also = after.map((bit, i) => i).filter((i) => i !== place && after[i] !== bits[i]);
    bits = after;
    show(also.length ? "So that such a row can exist, also: " + joined(also.map((i) => data.words[i][bits[i]])) + "." : "");
  }

  function pick(row) {
    picked = row;
    bits = [...row[4]].map(Number);
    show(possible(bits) ? "" : "By the groups that were declared, such a row should not exist.");
  }

  boxes.forEach((box, place) => box.addEventListener("change", () => toggle(place, box.checked ? 1 : 0)));
  byId("clear").addEventListener("click", () => {
    bits = new Array(size).fill(0);
    show("");
  });
  byId("reset").addEventListener("click", () => pick(picked));

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
    refill();
  } else {
    show("");
  }
  reachable();
})();
