"use strict";
// Every form names what it asks for (data-verb); the answer is the part of the page to show. Nothing else is decided here.
(() => {
  const GONE = "the studio does not answer: it may have been closed. Start it again with: logiclens studio";
  const body = document.body, main = document.getElementById("main");
  const problem = document.getElementById("problem"), status = document.getElementById("status");
  let revision = Number(body.dataset.revision), busy = 0, next = null;

  // A sentence begins with a capital letter; the name of a file or a column keeps its own.
  const capital = (text) => (/^[a-z]+[ ,:]/.test(text) && !/^[^'"“]{0,80}\.[a-z]{2,8} /.test(text) ? text[0].toUpperCase() : text[0]) + text.slice(1);

  function tell(sentence) {
    problem.textContent = sentence ? capital(sentence) : "";
    problem.hidden = !sentence;
    if (sentence) problem.scrollIntoView({ block: "nearest" });
  }

  // What was typed and not sent, by the name of what it is about; what the form that was done held goes.
  const shownOption = (box) => (box.selectedOptions[0] ? box.selectedOptions[0].textContent : "");
  const asShown = (box) => (box.tagName === "SELECT" ? shownOption(box) : box.value);
  function isTyped(box) {
    if (box.tagName !== "SELECT") return box.value !== box.defaultValue;
    const first = [...box.options].find((option) => option.defaultSelected) || box.options[0];
    return box.selectedOptions[0] !== first;
  }
  function typed(done) {
    const boxes = [...main.querySelectorAll("[data-keep]")].filter((box) => (!done || !done.contains(box)) && isTyped(box));
    return new Map(boxes.map((box) => [box.dataset.keep, asShown(box)]));
  }
  function typeAgain(texts) {
    for (const box of main.querySelectorAll("[data-keep]")) {
      if (!texts.has(box.dataset.keep)) continue;
      const text = texts.get(box.dataset.keep);
      if (box.tagName !== "SELECT") box.value = text;
      else for (const option of box.options) if (option.textContent === text) option.selected = true;
    }
  }

  // Replace the page; what was unfolded or typed stays so, and the focus stays where it was or goes to the heading.
  function show(answer, done) {
    revision = answer.revision;
    if (answer.main === undefined) return;
    const isNew = body.dataset.stage !== answer.stage;
    const open = isNew ? [] : [...main.querySelectorAll("details[open][id]")].map((part) => part.id);
    const held = document.activeElement && main.contains(document.activeElement) ? document.activeElement.id : null;
    const texts = isNew ? new Map() : typed(done), tried = document.getElementById("tried"), isTried = !isNew && tried && tried.innerHTML;
    main.innerHTML = answer.main;
    typeAgain(texts);
    if (isTried) tryAgain();
    body.dataset.stage = answer.stage;
    for (const step of document.querySelectorAll("[data-step]")) {
      if (step.dataset.step === answer.stage) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
    }
    for (const id of open) {
      const part = document.getElementById(id);
      if (part) part.open = true;
    }
    const again = held && !isNew && document.getElementById(held);
    if (again) again.focus({ preventScroll: true });
    else if (held !== null || isNew) main.focus({ preventScroll: !isNew });
    if (isNew) {
      window.scrollTo(0, 0);
      const heading = main.querySelector("h1");
      status.textContent = heading ? heading.textContent : "";
    }
    cutField();
  }

  async function ask(path, options, quiet) {
    if (!quiet) busy += 1;
    try {
      const response = await fetch(path, { cache: "no-store", ...options });
      const isJson = (response.headers.get("content-type") || "").startsWith("application/json");
      if (!isJson) return { error: response.ok ? "the studio gave no answer." : await response.text() || "the studio gave no answer." };
      return await response.json();
    } catch (error) {
      return { error: GONE };
    } finally {
      if (!quiet) busy -= 1;
    }
  }

  // The fields of a form by their names; what may be ticked several times is a list.
  function values(form, button) {
    const sent = { revision };
    for (const box of form.querySelectorAll("input[type=checkbox]")) if (!(box.name in sent)) sent[box.name] = [];
    for (const [name, value] of new FormData(form, button && button.name ? button : undefined)) {
      if (Array.isArray(sent[name])) sent[name].push(value);
      else sent[name] = value;
    }
    return sent;
  }

  const post = (form, button, quiet) => ask("api/" + form.dataset.verb, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(values(form, button)),
  }, quiet);

  // The values of a row that was tried are asked of the rules that are now shown.
  async function tryAgain() {
    const form = main.querySelector("form[data-verb=try]");
    if (!form) return;
    const answer = await post(form, null, true), tried = document.getElementById("tried");
    if (tried) tried.innerHTML = answer.part || "";
  }

  // What cannot be taken back is asked first; the page's own dialog can be left by Escape.
  function isSure(words, yes) {
    const dialog = document.getElementById("ask");
    document.getElementById("ask-words").textContent = words;
    document.getElementById("ask-yes").textContent = yes;
    return new Promise((answered) => {
      dialog.onclose = () => answered(dialog.returnValue === "yes");
      dialog.returnValue = "";
      dialog.showModal();
    });
  }
  for (const answer of ["yes", "no"]) {
    document.getElementById("ask-" + answer).addEventListener("click", () => document.getElementById("ask").close(answer));
  }

  // A step that is asked for while the page waits is done next. What names a rule is not: rules may have moved meanwhile.
  const STEPS = ["undo", "redo"];
  function stepOn(isDone) {
    const button = isDone && next && main.querySelector("form[data-verb=" + next + "] button:enabled");
    next = null;
    if (button) button.click();
  }

  async function act(form, button) {
    if (busy) {
      if (STEPS.includes(form.dataset.verb)) next = form.dataset.verb;
      return;
    }
    if (form.dataset.sure && !(await isSure(form.dataset.asks, form.dataset.sure))) return;
    const into = form.dataset.into;
    tell("");
    const answer = await post(form, button);
    // An answer to what was asked before would look like one to what was refused.
    if (into) document.getElementById(into).innerHTML = answer.part || "";
    if (answer.main !== undefined) show(answer, answer.error ? null : form);
    tell(answer.error);
    if (answer.said) status.textContent = answer.said;
    stepOn(!answer.error);
  }

  async function upload(file) {
    if (!file || busy) return;
    tell("");
    const told = document.getElementById("uploading");
    if (told) told.textContent = "Reading " + file.name + " …";
    const into = document.getElementById("upload").dataset.into ? "&into=model" : "";
    const answer = await ask("upload?name=" + encodeURIComponent(file.name) + "&revision=" + revision + into, { method: "POST", body: file });
    if (told) told.textContent = "";
    if (answer.revision !== undefined) show(answer);
    tell(answer.error);
    stepOn(false);
  }

  // A file is saved only if it was made; what went wrong is told on the page.
  async function download(link) {
    if (busy) return;
    busy += 1;
    tell("");
    try {
      const response = await fetch(link.href, { cache: "no-store" });
      if (!response.ok) {
        tell(await response.text());
        return;
      }
      const named = /filename="([^"]*)"/.exec(response.headers.get("content-disposition") || "");
      const saved = document.createElement("a");
      saved.href = URL.createObjectURL(await response.blob());
      saved.download = named ? named[1] : "rules";
      saved.click();
      setTimeout(() => URL.revokeObjectURL(saved.href), 60000);
      status.textContent = saved.download + " is saved.";
    } catch (error) {
      tell(GONE);
    } finally {
      busy -= 1;
      stepOn(problem.hidden);
    }
  }

  // A target of many numbers is cut.
  function cutField() {
    const target = document.getElementById("target");
    if (!target) return;
    const cut = target.selectedOptions[0] && target.selectedOptions[0].dataset.cut;
    const field = document.getElementById("cut-field"), input = document.getElementById("above");
    field.hidden = !cut;
    document.getElementById("suggested").textContent = cut || "";
    if (!cut) input.value = "";
    else if (!input.value) input.value = cut;
  }

  document.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.target.dataset.verb) act(event.target, event.submitter);
  });
  document.addEventListener("change", (event) => {
    if (event.target.id === "file") upload(event.target.files[0]);
    if (event.target.id === "target") cutField();
    if (event.target.dataset.submits !== undefined && event.target.form) event.target.form.requestSubmit();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[download]");
    if (link) {
      event.preventDefault();
      download(link);
    }
    const button = event.target.closest("[data-tick]");
    if (!button) return;
    for (const box of main.querySelectorAll("input[name=use]")) box.checked = button.dataset.tick === "all";
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const place = document.getElementById("upload");
      if (!place) return;
      event.preventDefault();
      place.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer) upload(event.dataTransfer.files[0]);
    });
  }

  const events = new EventSource("events");
  events.onmessage = async (event) => {
    const now = JSON.parse(event.data);
    if (now.revision !== revision && !busy) {
      const answer = await ask("main");
      if (answer.revision !== undefined && answer.revision !== revision) show(answer);
      // Another tab has changed what the step would be taken from.
      stepOn(false);
    }
    const words = document.getElementById("progress-words"), share = document.getElementById("share");
    if (now.progress && words) {
      words.textContent = capital(now.progress.words) + ".";
      if (now.progress.share !== null) share.value = now.progress.share;
    }
  };
  cutField();
})();
