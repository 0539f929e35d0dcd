
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
  // The parts of dates, as `date_parts.py` computes them. Dates are texts written in full, days are counted from 1970 on.
  const dayOf = (text) => Date.parse(text.slice(0, 10) + "T00:00Z") / 86400000;
  const weekdayOf = (day) => (((day + 3) % 7) + 7) % 7 + 1;
  const PARTS = {
    month: (text) => Number(text.slice(5, 7)),
    weekday: (text) => weekdayOf(dayOf(text)),
    hour: (text) => Number(text.slice(11, 13)),
    days: (start, end) => dayOf(end) - dayOf(start),
  };
  function unitValue(unit, values) {
    const taken = unit.fields.map((field) => values[field]);
    if (unit.part === null) return taken[0];
    return taken.includes(null) ? null : PARTS[unit.part](...taken);
  }
  const tests = data.tests.map(([place, operator, bound]) => {
    const unit = data.units[place];
    const isDuration = unit.part === null && data.fields[unit.fields[0]].kind === "timedelta";
    const point = isDuration && bound !== null ? BigInt(bound) : bound;
    return (values) => (OPERATORS[operator](unitValue(unit, values), point) ? 1 : 0);
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

  // Dates that exist ------------------------------------------------------------------------------------------

  // A date and its parts are one value: no Saturday is a Monday. As `possible_dates.py`, but with the dates themselves.
  const HOUR = 3600e6, DAY = 24 * HOUR; // microseconds
  const FIRST_DAY = dayOf("0001-01-01"), LAST_DAY = dayOf("9999-12-31");
  // Where dates are looked for if no day of the table is known and the rules cut at none.
  const ANY_DAY = dayOf("2024-01-01");
  const typicalDay = (field) => (data.fields[field].day ? dayOf(data.fields[field].day) : null);
  const dayText = (day) => new Date(day * 86400000).toISOString().slice(0, 10);
  const clockOf = (text) => ((Number(text.slice(11, 13)) * 60 + Number(text.slice(14, 16))) * 60 + Number(text.slice(17))) * 1e6;
  function clockText(micros) {
    const two = (number) => String(number).padStart(2, "0");
    const seconds = Math.floor(micros / 1e6);
    return two(Math.floor(seconds / 3600)) + ":" + two(Math.floor(seconds / 60) % 60) + ":" + two(seconds % 60)
      + (micros % 1e6 ? "." + String(micros % 1e6).padStart(6, "0").replace(/0+$/, "") : "");
  }
  const after = ([day, micros]) => (micros + 1 < DAY ? [day, micros + 1] : [day + 1, 0]);
  const before = ([day, micros]) => (micros > 0 ? [day, micros - 1] : [day - 1, DAY - 1]);
  const isLater = (one, two) => one[0] > two[0] || (one[0] === two[0] && one[1] > two[1]);
  const isUpward = (operator) => operator === ">=" || operator === ">";

  // The moments that a date may be: its first and last one, its months, weekdays and hours.
  function lineOf(field, asked) {
    let low = [FIRST_DAY, 0], high = [LAST_DAY, DAY - 1];
    const allowed = (part, first, last) => {
      const values = Array.from({ length: last - first + 1 }, (_, i) => first + i);
      return values.filter((value) => asked.every(({ unit, operator, bound, wanted }) =>
        unit.part !== part || unit.fields[0] !== field || OPERATORS[operator](value, bound) === Boolean(wanted)));
    };
    for (const { unit, operator, bound, wanted } of asked) {
      if (unit.part !== null || unit.fields[0] !== field) continue;
      const point = [dayOf(bound), clockOf(bound)];
      if (isUpward(operator) === Boolean(wanted)) {
        const start = operator === ">" || operator === "<=" ? after(point) : point;
        if (isLater(start, low)) low = start;
      } else {
        const end = operator === "<" || operator === ">=" ? before(point) : point;
        if (isLater(high, end)) high = end;
      }
    }
    return { low, high, months: allowed("month", 1, 12), weekdays: allowed("weekday", 1, 7), hours: allowed("hour", 0, 23) };
  }
  // The times of a day, from and to, at which a date may be.
  function clocks(line, day) {
    const first = day === line.low[0] ? line.low[1] : 0, last = day === line.high[0] ? line.high[1] : DAY - 1;
    return line.hours.map((hour) => [Math.max(hour * HOUR, first), Math.min(hour * HOUR + HOUR - 1, last)])
      .filter(([from, to]) => from <= to);
  }
  function daysOf(line, first, last) {
    const days = [];
    if (!line.hours.length) return days;
    for (let day = Math.max(line.low[0], first); day <= Math.min(line.high[0], last); day++) {
      if (!line.weekdays.includes(weekdayOf(day))) continue;
      if (line.months.length < 12 && !line.months.includes(new Date(day * 86400000).getUTCMonth() + 1)) continue;
      if ((day !== line.low[0] && day !== line.high[0]) || clocks(line, day).length) days.push(day);
    }
    return days;
  }
  // The time of a day that is nearest to another one, as round as possible if it is not that one.
  function nearestClock(line, day, clock) {
    const apart = ([from, to]) => Math.max(from - clock, clock - to, 0);
    const [from, to] = clocks(line, day).sort((one, two) => apart(one) - apart(two))[0];
    if (apart([from, to]) === 0) return clock;
    for (const unit of [60e6, 1e6, 1e3]) {
      const round = clock < from ? Math.ceil(from / unit) * unit : Math.floor(to / unit) * unit;
      if (round >= from && round <= to) return round;
    }
    return clock < from ? from : to;
  }

  // Which dates must have a value, so that conditions are as wanted; null where one must have a value and none.
  function presentOf(asked, absent) {
    const isMissing = ({ operator }) => operator === "missing";
    const gone = asked.filter((one) => isMissing(one) && one.wanted).flatMap(({ unit }) => unit.fields);
    const there = asked.filter((one) => isMissing(one) !== Boolean(one.wanted)).flatMap(({ unit }) => unit.fields);
    const present = new Set([...there, ...asked.flatMap(({ unit }) => unit.fields).filter((field) => !absent.has(field))]);
    return gone.some((field) => present.has(field)) ? null : present;
  }

  // Dates for which the literals of a group hold, by field; null where there are none. `absent` are the fields that may
  // stay without a value. Of many dates those nearest to `values` are taken.
  function findDates(literals, absent, values) {
    const all = literals.map(([place, wanted]) => {
      const [unit, operator, bound] = data.tests[place];
      return { unit: data.units[unit], operator, bound, wanted };
    });
    const present = presentOf(all, absent);
    if (present === null) return null;
    const fields = [...present].sort((one, two) => one - two);
    const asked = all.filter(({ unit, operator }) => operator !== "missing" && unit.fields.every((field) => present.has(field)));
    const lines = new Map(fields.map((field) => [field, lineOf(field, asked)]));
    // most(a, b): the most days from a to b; "" stands for the first day of 1970.
    const names = ["", ...fields], far = new Map();
    const most = (a, b) => far.get(a + "|" + b) ?? (a === b ? 0 : Infinity);
    const limit = (a, b, days) => far.set(a + "|" + b, Math.min(most(a, b), days));
    for (const [field, { low, high }] of lines) {
      if (isLater(low, high)) return null;
      limit("", field, high[0]);
      limit(field, "", -low[0]);
    }
    let reach = 800;
    for (const { unit, operator, bound, wanted } of asked.filter((one) => one.unit.part === "days")) {
      const [start, end] = unit.fields;
      reach += 2 * Math.abs(bound) + 2;
      if (operator === "==" && !wanted) continue;
      const from = operator === ">=" || operator === "<" || operator === "==" ? Math.ceil(bound) : Math.floor(bound) + 1;
      if (operator === "==" || isUpward(operator) === Boolean(wanted)) limit(end, start, -from);
      if (operator === "==") limit(start, end, Math.floor(bound));
      else if (isUpward(operator) !== Boolean(wanted)) limit(start, end, from - 1);
    }
    for (const by of names) for (const a of names) for (const b of names) limit(a, b, most(a, by) + most(by, b));
    if (names.some((name) => most(name, name) < 0)) return null;

    // Every pair of days that is left must fit together; one date after the other is then chosen.
    const keep = (days, others, a, b) => {
      let i = 0;
      return days.filter((day) => {
        while (i < others.length && others[i] < day - most(b, a)) i++;
        return i < others.length && others[i] <= day + most(a, b);
      });
    };
    function agree(days) {
      for (let size = -1; ;) {
        for (const a of fields) for (const b of fields) if (a !== b) days.set(a, keep(days.get(a), days.get(b), a, b));
        const now = fields.reduce((sum, field) => sum + days.get(field).length, 0);
        if (fields.some((field) => !days.get(field).length)) return null;
        if (now === size) return days;
        size = now;
      }
    }
    const isLeftOut = (chosen) => asked.some(({ unit, operator, bound, wanted }) => unit.part === "days" && operator === "==" && !wanted
      && chosen.get(unit.fields[1])[0] - chosen.get(unit.fields[0])[0] === bound);
    function choose(days, place) {
      const left = agree(days);
      if (left === null) return null;
      if (place === fields.length) return isLeftOut(left) ? null : left;
      const wish = wished(fields[place]);
      for (const day of left.get(fields[place]).slice().sort((one, two) => Math.abs(one - wish) - Math.abs(two - wish))) {
        const found = choose(new Map(left).set(fields[place], [day]), place + 1);
        if (found) return found;
      }
      return null;
    }
    const edges = [...lines.values()].flatMap(({ low, high }) => [low[0], high[0]])
      .filter((day) => day !== FIRST_DAY && day !== LAST_DAY);
    const current = fields.map((field) => values[field]).filter((text) => text !== null).map(dayOf);
    const typical = fields.map(typicalDay).filter((day) => day !== null);
    const wished = (field) => (values[field] !== null ? dayOf(values[field])
      : current[0] ?? typicalDay(field) ?? edges[0] ?? ANY_DAY);
    const between = (near) => new Map([...lines].map(([field, line]) =>
      [field, daysOf(line, Math.min(...near) - reach, Math.max(...near) + reach)]));
    const areNear = (days) => days.length > 0 && Math.max(...days) - Math.min(...days) < 20000;
    const places = [[...edges, ...typical], edges].find(areNear) || (edges.length ? edges : [ANY_DAY]);
    const found = (areNear(current) && choose(between(current), 0)) || choose(between(places), 0);
    if (!found) return null;
    return new Map(fields.map((field) => {
      const [day] = found.get(field), clock = values[field] === null ? 0 : clockOf(values[field]);
      return [field, dayText(day) + " " + clockText(nearestClock(lines.get(field), day, clock))];
    }));
  }

  const NO_VALUES = data.fields.map(() => null);
  const literalsOf = (group, bits) => group.flatMap((unit) => data.units[unit].concepts.map((place) => [place, bits[place]]));
  const judged = new Map();
  function datesExist(literals, absent) {
    const key = JSON.stringify([literals, [...absent]]);
    if (!judged.has(key)) judged.set(key, findDates(literals, absent, NO_VALUES) !== null);
    return judged.get(key);
  }
  // Conditions of a row, as few as possible, that no dates have together; null where there are dates.
  function impossible(row, absent) {
    for (const group of data.dates) {
      let literals = literalsOf(group, row);
      if (datesExist(literals, absent)) continue;
      for (const literal of literals) {
        const fewer = literals.filter((other) => other !== literal);
        if (!datesExist(fewer, absent)) literals = fewer;
      }
      return literals;
    }
    return null;
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

  const unitOf = data.tests.map(([unit]) => unit);
  const partOf = [];
  data.parts.forEach((part, i) => part.forEach((unit) => { partOf[unit] = i; }));
  const patterns = data.units.map((unit) => unit.states.map(([pattern]) => [...pattern].map(Number)));

  // The row that reaches one of the ways with the fewest changed columns, then with the fewest changed conditions. `absent` are
  // the fields without a value.
  function smallest(bits, ways, absent) {
    const ones = data.exclusive.map((group) => Math.max(1, group.reduce((sum, place) => sum + bits[place], 0)));
    const steps = data.implied.flatMap((chain) => chain.slice(1).map((after, i) => [chain[i], after]))
      .filter(([before, after]) => !(bits[after] && !bits[before]));
    const row = bits.slice(), fixed = data.units.map(() => false), changed = data.parts.map(() => 0);
    let best = null, left = MOST_STEPS;

    // The states of a unit that make a condition as wanted and keep what must fire.
    function options(unit, fire, fits) {
      if (fixed[unit]) return [];
      const { concepts } = data.units[unit];
      return patterns[unit].filter((pattern) => {
        const value = (place) => pattern[concepts.indexOf(place)];
        return fits(value) && fire.every((cube) => cube.if.every(([place, wanted]) =>
          unitOf[place] !== unit || value(place) === wanted));
      }).map((pattern) => [unit, pattern]);
    }
    // The ways to make one of some literals false.
    function breaking(literals, fire) {
      const units = [...new Set(literals.map(([place]) => unitOf[place]))];
      return units.flatMap((unit) => options(unit, fire, (value) =>
        literals.some(([place, wanted]) => unitOf[place] === unit && value(place) !== wanted)));
    }
    // What can be done about the first thing that is not yet as it must be; null where all is.
    function repairs({ fire, silent }) {
      for (const cube of fire) {
        const lacking = cube.if.find(([place, wanted]) => row[place] !== wanted);
        if (lacking) return options(unitOf[lacking[0]], fire, () => true);
      }
      for (const cube of silent) {
        if (!fires(cube, row)) continue;
        return breaking(cube.if, fire);
      }
      for (const [i, group] of data.exclusive.entries()) {
        const held = group.filter((place) => row[place]);
        if (held.length > ones[i]) {
          return held.flatMap((place) => options(unitOf[place], fire, (value) => value(place) === 0));
        }
      }
      for (const [before, after] of steps) {
        if (!row[after] || row[before]) continue;
        return [...options(unitOf[after], fire, (value) => value(after) === 0),
          ...options(unitOf[before], fire, (value) => value(before) === 1)];
      }
      const conflict = impossible(row, absent);
      return conflict && breaking(conflict, fire);
    }
    function search(way, parts, concepts, most) {
      if (parts > most || (best && concepts >= best.concepts) || --left < 0) return;
      const todo = repairs(way);
      if (todo === null) {
        best = { parts, concepts, row: row.slice() };
        return;
      }
      for (const [unit, pattern] of todo) {
        const places = data.units[unit].concepts, part = partOf[unit];
        const old = places.map((place) => row[place]);
        const differ = pattern.filter((bit, i) => bit !== old[i]).length;
        if (!differ) continue;
        places.forEach((place, i) => { row[place] = pattern[i]; });
        fixed[unit] = true;
        const isNew = changed[part]++ === 0 ? 1 : 0;
        search(way, parts + isNew, concepts + differ, most);
        changed[part]--;
        fixed[unit] = false;
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
    const current = atEnd && window.scrollY > 0 ? links[links.length - 1] : passed[passed.length - 1] || links[0];
    for (const link of links) {
      if (link === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    // On a phone the line of links is wider than the screen.
    const bar = current.closest("ul"), { left, right } = current.getBoundingClientRect(), box = bar.getBoundingClientRect();
    if (left < box.left || right > box.right) bar.scrollLeft += left - box.left - (box.width - (right - left)) / 2;
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
  const lines = data.rules.map((rule, i) => {
    const klass = cubes[rule.cubes[0]].of, line = element("li", undefined, "c" + (klass % COLORS));
    line.dataset.rule = String(i);
    line.append(element("p", answerWords(klass), "klass-name"));
    const list = element("ul");
    for (const [words] of rule.conditions) {
      const item = element("li");
      item.append(element("span", undefined, "sign"), element("span", words));
      list.append(item);
    }
    line.append(list, element("p", undefined, "state"));
    byId("cubes").append(line);
    return line;
  });

  // The value of a field; undefined where what is written there is none.
  function valueOf(input, i) {
    const field = data.fields[i];
    if (input.tagName === "SELECT") {
      const [sort, value] = field.choices[Number(input.value)];
      return sort === "other" ? OTHER : value;
    }
    if (input.validity.badInput) return undefined;
    return input.value.trim() === "" ? null : READERS[field.kind](input.value);
  }

  // Write a value into a field; null is missing, and in a list of texts a value that no rule compares with.
  function write(i, value, isMissing) {
    const input = inputs[i], { choices } = data.fields[i];
    if (input.tagName !== "SELECT") {
      input.value = value === null ? "" : String(value);
      return;
    }
    const place = choices.findIndex(([sort, held]) =>
      (value === null && !isMissing ? sort === "other" : sort === "value" && held === value));
    input.value = String(place);
  }

  function writeDate(field, text) {
    const [day, clock] = text === null ? [null] : text.split(" ");
    write(field, text === null || inputs[field].type === "date" ? day : day + "T" + (clock || "00:00"), true);
  }

  const inDates = new Set(data.dates.flat());
  const absentOf = (values) => new Set([...values.keys()].filter((field) => values[field] === null));

  // Fill the fields with values for which these conditions hold; units that fit already stay as they are.
  function fill(bits, all) {
    const values = inputs.map(valueOf), now = all ? null : conditionsOf(values);
    const fits = (unit) => now && unit.concepts.every((place) => now[place] === bits[place]);
    data.units.forEach((unit, i) => {
      if (inDates.has(i) || fits(unit)) return;
      const pattern = unit.concepts.map((place) => bits[place]).join("");
      const state = unit.states.find(([held]) => held === pattern);
      write(unit.fields[0], state ? state[2] : null, !state);
    });
    for (const group of data.dates) {
      if (group.every((unit) => fits(data.units[unit]))) continue;
      const fields = new Set(group.flatMap((unit) => data.units[unit].fields)), literals = literalsOf(group, bits);
      // A row of conditions alone: dates that all have a value, if there are such.
      const dates = now ? findDates(literals, absentOf(values), values)
        : findDates(literals, new Set(), NO_VALUES) || findDates(literals, fields, NO_VALUES);
      for (const field of fields) {
        writeDate(field, (dates && dates.get(field)) || null);
      }
    }
  }

  function whyAnswer(bits, decision) {
    if (decision.cube >= 0) {
      const cube = cubes[decision.cube];
      const because = cube.words ? "Because " + cube.words : "Its rule always fires";
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
    const ranks = data.rules.map((rule, i) => {
      const fired = rule.cubes.some((cube) => fires(cubes[cube], bits)), decides = rule.cubes.includes(deciding);
      lines[i].classList.toggle("fires", fired);
      const items = lines[i].querySelectorAll("ul li");
      rule.conditions.forEach(([, alternatives], k) => {
        const held = alternatives.some((literals) => holds(literals, bits));
        items[k].className = held ? "true" : "false";
        items[k].firstChild.textContent = held ? "✓ true: " : "✗ false: ";
      });
      lines[i].querySelector(".state").textContent = !fired ? "Does not fire" : decides ? "Fires and decides" : "Fires";
      return decides ? 0 : fired ? 1 : 2;
    });
    // What fires comes first, and what decides before it.
    byId("cubes").append(...[...lines.keys()].sort((i, j) => ranks[i] - ranks[j] || i - j).map((i) => lines[i]));
  }

  // What changes, in words, one text for each column or group of dates.
  function changeWords(bits, row) {
    const absent = absentOf(inputs.map(valueOf));
    const nowWords = (field) => {
      const input = inputs[field];
      return input.tagName === "SELECT" ? input.selectedOptions[0].textContent : input.value.replace("T", " ") || "missing";
    };
    const isChanged = (unit) => unit.concepts.some((place) => bits[place] !== row[place]);
    const isBare = (unit) => unit.concepts.every((place) => data.tests[place][1] === "missing");
    const stateWords = (unit) => {
      const pattern = unit.concepts.map((place) => row[place]).join("");
      return unit.states.filter(([held]) => held === pattern).map(([, words]) => words);
    };
    const groups = [...data.units.keys()].filter((i) => !inDates.has(i)).map((i) => [i]).concat(data.dates);
    return groups.sort(([one], [two]) => one - two).map((group) => {
      const units = group.map((i) => data.units[i]), changed = units.filter(isChanged);
      if (!changed.length) return null;
      const fields = [...new Set(changed.flatMap((unit) => unit.fields))];
      // A date that gets a value gives one to its parts as well.
      const isFound = (unit) => {
        const gone = unit.fields.filter((field) => absent.has(field));
        return gone.length > 0 && gone.every((field) => fields.includes(field));
      };
      const told = units.filter((unit) => changed.includes(unit) || isFound(unit));
      const isImplied = (unit) => isBare(unit) && told.some((other) => other !== unit && other.fields.includes(unit.fields[0]));
      const words = told.filter((unit) => !isImplied(unit)).flatMap(stateWords).join(" and ");
      const was = fields.length === 1 ? nowWords(fields[0])
        : joined(fields.map((field) => data.fields[field].name + " is " + nowWords(field)));
      return words + " (now " + was + ")";
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

  function showFlips(bits, absent) {
    const place = byId("flips");
    place.replaceChildren();
    const found = [];
    if (data.multilabel) {
      data.classes.forEach((name, klass) => {
        const yes = firesAny(klass, bits), own = cubes.filter((cube) => cube.of === klass);
        const ways = yes ? [{ fire: [], silent: own }] : own.map((cube) => ({ fire: [cube], silent: [] }));
        found.push([smallest(bits, ways, absent), name + ": " + (yes ? "no" : "yes"), "c" + (klass % COLORS)]);
      });
    } else {
      const before = decide(bits).klass;
      const answers = [...data.classes.keys(), ...(data.alone || data.otherwise < 0 ? [-1] : [])];
      for (const klass of answers.filter((other) => other !== before)) {
        found.push([smallest(bits, waysTo(klass), absent), answerWords(klass), klass < 0 ? "" : "c" + (klass % COLORS)]);
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
    showFlips(bits, absentOf(values));
    showCubes(bits);
    reachable();
  }

  byId("fields").addEventListener("input", (event) => {
    if (event.target.matches("[data-column]")) show();
  });
  byId("fields").addEventListener("submit", (event) => event.preventDefault());

  byId("panel").hidden = false;
  if (data.typical !== null) {
    fill([...data.typical].map(Number), true);
    show();
  } else {
    data.units.forEach((unit, i) => { if (!inDates.has(i)) write(unit.fields[0], unit.states[0][2], false); });
    for (const field of new Set(data.dates.flat().flatMap((i) => data.units[i].fields))) writeDate(field, dayText(typicalDay(field) ?? ANY_DAY));
    show();
  }
})();
