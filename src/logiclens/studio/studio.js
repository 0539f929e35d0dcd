"use strict";
// Every form names what it asks for (data-verb); the answer is the part of the page to show. Nothing else is decided here.
(() => {
  const GONE = "the studio does not answer: it may have been closed. Start it again with: logiclens studio";
  const body = document.body, main = document.getElementById("main");
  const problem = document.getElementById("problem"), status = document.getElementById("status");
  let revision = Number(body.dataset.revision), busy = 0;

  function tell(sentence) {
    problem.textContent = sentence ? sentence[0].toUpperCase() + sentence.slice(1) : "";
    problem.hidden = !sentence;
    if (sentence) problem.scrollIntoView({ block: "nearest" });
  }

  // Replace the page; what was unfolded stays so, and the focus stays where it was or goes to the heading.
  function show(answer) {
    revision = answer.revision;
    if (answer.main === undefined) return;
    const isNew = body.dataset.stage !== answer.stage;
    const open = isNew ? [] : [...main.querySelectorAll("details[open][id]")].map((part) => part.id);
    const held = document.activeElement && main.contains(document.activeElement) ? document.activeElement.id : null;
    main.innerHTML = answer.main;
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

  async function ask(path, options) {
    busy += 1;
    try {
      const response = await fetch(path, { cache: "no-store", ...options });
      const isJson = (response.headers.get("content-type") || "").startsWith("application/json");
      if (!isJson) return { error: response.ok ? "the studio gave no answer." : await response.text() || "the studio gave no answer." };
      return await response.json();
    } catch (error) {
      return { error: GONE };
    } finally {
      busy -= 1;
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

  async function act(form, button) {
    if (busy) return;
    const sent = values(form, button), verb = (button && button.dataset.verb) || form.dataset.verb, into = form.dataset.into;
    tell("");
    const answer = await ask("api/" + verb, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(sent),
    });
    if (answer.part !== undefined && into) document.getElementById(into).innerHTML = answer.part;
    else if (answer.revision !== undefined) show(answer);
    tell(answer.error);
    if (answer.said) status.textContent = answer.said;
  }

  async function upload(file) {
    if (!file || busy) return;
    tell("");
    const told = document.getElementById("uploading");
    if (told) told.textContent = "Reading " + file.name + " …";
    const into = document.getElementById("upload").dataset.into ? "&into=model" : "";
    const answer = await ask("upload?name=" + encodeURIComponent(file.name) + into, { method: "POST", body: file });
    if (told) told.textContent = "";
    if (answer.revision !== undefined) show(answer);
    tell(answer.error);
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
    }
    const words = document.getElementById("progress-words"), share = document.getElementById("share");
    if (now.progress && words) {
      words.textContent = now.progress.words[0].toUpperCase() + now.progress.words.slice(1) + ".";
      if (now.progress.share !== null) share.value = now.progress.share;
    }
  };
  cutField();
})();
