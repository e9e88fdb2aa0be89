// The slides of one lesson: recordings that need no kernel, and live results where there is one.

const DECK = JSON.parse(document.getElementById("deck").textContent);
const RECORDED = `recorded: ${DECK.recorded}`;
const LIVE = new URLSearchParams(location.search).has("print-pdf") ? null : DECK.live;
const VIEW = "application/vnd.jupyter.widget-view+json";

const make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const filled = (tag, attributes, html) => Object.assign(make(tag, attributes), { innerHTML: html });

const resized = new Set(); // slides whose results are to be made as large as they can be

// --- what a cell shows ----------------------------------------------------------------------------

const models = new Map();
for (const [id, { module, state, ...recorded }] of Object.entries(DECK.widgets)) {
  models.set(id, new Model(DECK.scripts[module], state, recorded));
}

const joined = (text) => [text].flat().join("");
const drawn = (output) => {
  const { output_type: type, data = {} } = output;
  if (type === "stream") return make("pre", { class: output.name }, joined(output.text));
  if (type === "error") {
    return make("pre", { class: "stderr" }, `${output.ename}: ${output.evalue}`);
  }
  const model = models.get(data[VIEW]?.model_id);
  if (model) {
    const place = make("div", { class: "widget" });
    show(model, place)
      .catch((error) => { place.textContent = `The widget failed: ${error}`; })
      .then(() => resized.add(place.closest("section")));
    return place;
  }
  for (const kind of ["text/html", "image/svg+xml", "text/markdown"]) {
    if (data[kind]) return filled("div", { class: "picture" }, joined(data[kind]));
  }
  if (data["image/png"]) {
    return make("img", { src: `data:image/png;base64,${joined(data["image/png"])}`, alt: "" });
  }
  return make("pre", {}, joined(data["text/plain"] ?? ""));
};

const fails = (outputs) => outputs.some(({ output_type: type }) => type === "error");

// A cell on the slides: its editor, the places of its result, and the lines that say where it is from.
class Shown {
  constructor(name, cell) {
    Object.assign(this, { name, cell, places: [], origins: [], editor: null, waiting: null });
    this.result = { origin: "", isLive: false, code: cell.source }; // what is shown, and of which code
    this.more = "";
  }

  get code() { return this.editor?.state.doc.toString() ?? this.cell.source; }

  get isOnWall() { return this.places.some((place) => place.closest("section") === Reveal.getCurrentSlide()); }

  paint(outputs, result) {
    this.waiting = null;
    for (const place of this.places) place.replaceChildren(...outputs.map(drawn));
    this.result = outputs.length ? result : { ...result, origin: "" };
    this.say("");
    for (const place of this.places) resized.add(place.closest("section"));
  }

  say(more) {
    this.more = more;
    this.label();
  }

  // The editor may show other code than that of the result.
  label() {
    const { origin, isLive, code } = this.result;
    const isOther = code !== this.code || (!isLive && this.cell.isOutdated);
    const from = origin && isOther ? `${origin}, with other code` : origin;
    for (const line of this.origins) {
      line.textContent = [from, this.more].filter(Boolean).join("; ");
      line.dataset.live = isLive;
      const told = [...line.parentElement.children].map((each) => each.textContent);
      for (const [at, each] of [...line.parentElement.children].entries()) {
        each.hidden = told.indexOf(told[at]) < at;
      }
    }
  }

  record() {
    this.paint(this.cell.outputs, { origin: RECORDED, isLive: false, code: this.cell.source });
  }

  // A live result does not take a recording from under the lecturer's hand, and an error not at all.
  arrive(outputs, isAsked, code) {
    const isWorse = fails(outputs) && !fails(this.cell.outputs);
    const paint = () => this.paint(outputs, { origin: "live", isLive: true, code });
    if (isAsked || !this.cell.outputs.length || !(isWorse || this.isOnWall)) return paint();
    this.waiting = paint;
    this.isPatient = isWorse;
    this.say(isWorse ? "failed here; press L for the error" : "press L for the live result");
  }

  leave() { if (!this.isOnWall && !this.isPatient) this.waiting?.(); }
}
const shown = new Map(Object.entries(DECK.cells).map(([name, cell]) => [name, new Shown(name, cell)]));

// --- the kernel -----------------------------------------------------------------------------------

let kernel = null;
const banner = make("div", { class: "banner", role: "status", hidden: "" });
const announce = (text) => { banner.textContent = text; banner.hidden = !text; };

const lost = (why) => {
  announce(`${why}: the recordings go on. Press R for a new kernel.`);
  for (const model of models.values()) Object.assign(model, { live: null }).update({ busy: false });
  for (const each of shown.values()) if (each.cell.isCode) each.record();
};

const heard = {
  opened(id, state) {
    if (!("_esm" in state)) return;
    const model = new Model(state._esm, state);
    model.live = (data) => kernel.comm(id, data);
    models.set(id, model);
  },
  updated(id, state) { models.get(id)?.update(state); },
  told(id, content) { models.get(id)?.tell("msg:custom", content, []); },
  lost,
};

const run = async (each, isAsked) => {
  if (!kernel || kernel.isLost) return announce("No kernel: nothing runs. Press R for a new one.");
  if (!kernel.isOpen) return announce("The kernel is starting. Run this again in a moment.");
  const code = isAsked ? each.code : each.cell.source; // edited code may break what comes after it
  const late = () => each.say(isAsked ? "running; press I to interrupt it" : "still measuring here");
  let timer, over = () => {};
  const patience = new Promise((done) => { over = done; });
  if (isAsked) late();
  const result = kernel.execute(code, isAsked, () => {
    timer = setTimeout(() => { late(); over(); }, 1000 * each.cell.budget);
  }).then((outputs) => {
    clearTimeout(timer);
    over();
    if (outputs) each.arrive(outputs, isAsked, code);
  });
  await Promise.race([patience, result]);
};

let isStarting = false; // a second R would leave the first kernel running
const runAll = async () => {
  if (isStarting) return;
  isStarting = true;
  const isFirst = !kernel;
  await kernel?.stop();
  announce("");
  if (!isFirst) for (const each of shown.values()) if (each.cell.isCode) each.record();
  const own = kernel = new Kernel(LIVE, heard);
  try {
    await own.start();
    announce("");
  } catch (error) {
    return own.lose(`There is no kernel (${error.message ?? "no answer"})`);
  } finally {
    isStarting = false;
  }
  for (const each of shown.values()) {
    if (own.isLost) return;
    if (each.cell.isCode) await run(each, false);
  }
};

// --- the poll -------------------------------------------------------------------------------------

const polls = new Map(); // by the name of the cell that predicts

// Votes of one prediction: hands that the lecturer counts, and phones where the poll is open.
class Poll {
  constructor(name, question, choices) {
    Object.assign(this, { name, question, choices, hands: choices.map(() => 0), phones: {} });
    this.charts = [];
  }

  votes() { return this.choices.map((choice, at) => this.hands[at] + (this.phones[at] ?? 0)); }

  count(at, by) {
    this.hands[at] = Math.max(0, this.hands[at] + by);
    this.draw();
  }

  chart(canCount) {
    const chart = make("div", { class: "poll", role: "group", "aria-label": "votes" });
    this.charts.push([chart, canCount]);
    this.draw();
    return chart;
  }

  draw() {
    const votes = this.votes(), most = Math.max(1, ...votes);
    for (const [chart, canCount] of this.charts) {
      const focused = chart.contains(document.activeElement) && document.activeElement.dataset.at;
      chart.replaceChildren(...this.choices.flatMap((choice, at) => [
        make("span", { class: "choice" }, choice),
        make("span", { class: "bar" }, make("span", { style: `width: ${100 * votes[at] / most}%` })),
        make("output", { "aria-label": `votes for ${choice}` }, `${votes[at]}`),
        ...(canCount ? [this.button("−", at, -1), this.button("+", at, 1)] : []),
      ]));
      chart.classList.toggle("counts", canCount);
      if (focused) chart.querySelector(`[data-at="${focused}"]`)?.focus();
    }
  }

  button(text, at, by) {
    const made = make("button", {
      type: "button", "data-at": `${at}${text}`, "aria-label": `${by > 0 ? "add" : "take away"} a vote for ${this.choices[at]}`,
    }, text);
    made.addEventListener("click", () => this.count(at, by));
    return made;
  }
}

const askVotes = (how) => ask(LIVE, "lecture/votes", how).catch(() => null); // the page needs none
const openPoll = async (poll) => { // the phones see this question
  if (!LIVE?.poll || !poll) return;
  await countPhones(); // the last votes for the question before
  const { name, question, choices } = poll;
  const body = JSON.stringify({ name, question, choices });
  await askVotes({ method: "PUT", body });
};
const countPhones = async () => {
  const found = await (await askVotes())?.json();
  const poll = found && polls.get(found.name);
  if (!poll || JSON.stringify(poll.phones) === JSON.stringify(found.votes)) return;
  poll.phones = found.votes;
  poll.draw();
};

const predictionOf = (each) => each.cell.outputs
  .map(({ data }) => models.get(data?.[VIEW]?.model_id))
  .find((model) => model?.get("choices") && model.get("question"));

// --- the slides -----------------------------------------------------------------------------------

const slides = document.querySelector(".slides");
for (const slide of DECK.slides) {
  const inner = make("div", { class: "slide" });
  const section = make("section", {}, inner);
  slides.append(section);
  for (const { cell: name, hidden, is_continued: isContinued } of slide.places) {
    const each = shown.get(name), { cell } = each;
    if (cell.wall) inner.append(filled("div", { class: "wall" }, cell.wall));
    if (isContinued) inner.lastChild?.replaceChildren(...inner.querySelectorAll(":is(h1, h2):first-child"));
    if (cell.showsCode && !isContinued) {
      each.editor = codeEditor(inner.appendChild(make("div", { class: "code" })), cell.source,
        () => run(each, true));
      new MutationObserver(() => each.label())
        .observe(each.editor.contentDOM, { characterData: true, childList: true, subtree: true });
    }
    if (!cell.showsResult) continue;
    const prediction = predictionOf(each);
    if (prediction) {
      const poll = new Poll(name, prediction.get("question"), prediction.get("choices"));
      polls.set(name, poll);
      inner.append(make("p", { class: "question" }, poll.question), poll.chart(true));
      if (LIVE?.poll) inner.append(make("p", { class: "address" }, `Vote: ${LIVE.poll}`));
      section.dataset.poll = name;
      continue;
    }
    if (polls.has(cell.poll)) {
      inner.append(make("p", { class: "question" }, polls.get(cell.poll).question), polls.get(cell.poll).chart(false));
    }
    const place = make("div", { class: "result", "data-cell": name });
    if (hidden.length) {
      const parts = hidden.map((part) => `:is([data-testid="${part}"], label:has(> [data-testid="${part}"]))`).join();
      inner.append(make("style", {}, `@scope { ${parts} { display: none !important; } }`));
    }
    inner.append(place);
    each.places.push(place);
  }
  const origins = inner.appendChild(make("div", { class: "origins" }));
  for (const { cell } of slide.places.filter((place) => shown.get(place.cell).places.length)) {
    shown.get(cell).origins.push(origins.appendChild(make("p", { class: "origin" })));
  }
}
for (const each of shown.values()) if (each.cell.isCode) each.record();

// Results are drawn as large as the slide has room for: `zoom` also makes lines of text wrap. What
// is printed keeps its lines, if there is a zoom at which the longest one fits.
const LARGEST = 1.8;
const fits = (inner) => inner.scrollHeight <= inner.clientHeight
  && [inner, ...inner.querySelectorAll(".result > pre")].every((it) => it.scrollWidth <= it.clientWidth);
const enlarge = (section) => {
  const inner = section?.firstElementChild;
  if (!inner?.querySelector(".result")) return;
  inner.style.setProperty("--zoom", 1);
  inner.style.setProperty("--break", "pre");
  if (!fits(inner)) inner.style.setProperty("--break", "pre-wrap");
  const fitsAt = (zoom) => {
    inner.style.setProperty("--zoom", zoom);
    return fits(inner);
  };
  if (fitsAt(LARGEST)) return;
  let low = 1, high = LARGEST;
  for (let step = 0; step < 5; step += 1) {
    const middle = (low + high) / 2;
    if (fitsAt(middle)) low = middle; else high = middle;
  }
  inner.style.setProperty("--zoom", low);
};

// Two drawings may name the same pattern, and the browser takes the first of a name, which paints
// nothing while its slide is hidden. So a copy of each comes first, where nothing hides it.
const patterns = new Set();
const shelf = document.createElementNS("http://www.w3.org/2000/svg", "svg");
for (const [name, value] of [["width", 0], ["height", 0], ["aria-hidden", true], ["class", "shelf"]]) {
  shelf.setAttribute(name, value);
}
document.body.prepend(shelf);
const keepPatterns = () => {
  for (const each of slides.querySelectorAll("svg :is(pattern, clipPath, marker)[id]")) {
    if (patterns.has(each.id)) continue;
    patterns.add(each.id);
    shelf.append(each.cloneNode(true));
  }
};
new MutationObserver(keepPatterns).observe(slides, { childList: true, subtree: true });
keepPatterns();
const enlargeAll = () => {
  resized.forEach(enlarge);
  resized.clear();
};
// What grows while it is used, such as a table of measurements, becomes smaller before it is cut off.
const grown = new ResizeObserver((entries) => {
  for (const { target } of entries) if (!fits(target.closest(".slide"))) enlarge(target.closest("section"));
});
for (const place of slides.querySelectorAll(".result")) grown.observe(place);

// --- keys, and the pointer --------------------------------------------------------------------------

const inside = () => document.activeElement?.closest(".mlc, .cm-editor, .poll");
const pointer = make("div", { class: "pointer", hidden: "", "aria-hidden": "true" });
document.addEventListener("pointermove", ({ clientX, clientY }) => {
  pointer.style.transform = `translate(${clientX}px, ${clientY}px)`;
});
const acts = {
  l: () => shown.forEach((each) => { if (each.isOnWall) each.waiting?.(); }),
  r: () => LIVE && runAll(),
  i: () => kernel?.interrupt(),
  s: () => openNotes(),
  p: () => { pointer.hidden = !pointer.hidden; },
  o: () => Reveal.toggleOverview(),
  "?": () => { help.hidden = !help.hidden; },
};
const help = filled("div", { class: "help", role: "dialog", "aria-label": "keys", hidden: "" }, `<dl>
  <dt>← → Home End</dt><dd>slides</dd><dt>O, Escape</dt><dd>overview</dd>
  <dt>S</dt><dd>notes in a second window</dd><dt>P</dt><dd>pointer</dd>
  <dt>Shift+Enter</dt><dd>run the code that is edited</dd><dt>I</dt><dd>interrupt it</dd>
  <dt>L</dt><dd>show the live result</dd><dt>R</dt><dd>new kernel, everything again</dd></dl>`);
document.addEventListener("keydown", (event) => {
  const { key, ctrlKey, metaKey, altKey } = event;
  if (key === "Escape" && inside()) {
    document.activeElement.blur();
    event.stopImmediatePropagation(); // this Escape is not for the overview
  } else if (!inside() && !ctrlKey && !metaKey && !altKey && acts[key.toLowerCase()]) {
    event.preventDefault();
    event.stopImmediatePropagation();
    acts[key.toLowerCase()]();
  }
}, true);
document.body.append(banner, pointer, help);

// --- notes in a second window -----------------------------------------------------------------------

let notes = null;
const begun = Date.now();
const clock = (minutes) => `${Math.floor(minutes)}:${String(Math.floor(60 * (minutes % 1))).padStart(2, "0")}`;
const headline = (slide) => slide?.querySelector("h1, h2, h3")?.textContent ?? "the end";
const tell = () => {
  if (!notes || notes.closed) return;
  const all = Reveal.getSlides(), at = all.indexOf(Reveal.getCurrentSlide());
  const slide = DECK.slides[at], past = (Date.now() - begun) / 60000;
  const put = (name, text) => { notes.document.getElementById(name).textContent = text; };
  put("clock", new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }));
  put("past", `${clock(past)} since the start`);
  put("plan", `this slide is planned from ${clock(slide.starts)} to ${clock(slide.starts + slide.minutes)}`);
  put("where", `${at + 1} of ${all.length}: ${headline(all[at])}`);
  put("notes", slide.notes);
  put("next", `next: ${headline(all[at + 1])}`);
};
const openNotes = () => {
  if (notes && !notes.closed) return notes.focus();
  notes = window.open("", "notes", "width=900,height=640");
  if (!notes) return announce("The browser did not open the window for notes; allow it, and press S.");
  notes.document.title = `Notes: ${document.title}`;
  notes.document.head.append(Object.assign(notes.document.createElement("style"), { textContent: `
    body { font: 26px/1.4 system-ui, sans-serif; margin: 1em; background: #16161d; color: #f4f4f0; }
    #clock { font-size: 2em; } #notes { white-space: pre-line; font-size: 1.2em; } p { margin: .3em 0; }` }));
  notes.document.body.innerHTML = ["clock", "past", "plan", "where", "notes", "next"]
    .map((name) => `<p id="${name}"></p>`).join("");
  notes.setInterval(tell, 500);
  notes.addEventListener("keydown", ({ key }) => {
    if (["ArrowRight", " ", "PageDown"].includes(key)) Reveal.next();
    if (["ArrowLeft", "PageUp"].includes(key)) Reveal.prev();
  });
  tell();
};

// --- begin ------------------------------------------------------------------------------------------

Reveal.initialize({
  width: 1280, height: 720, margin: 0, minScale: 0.1, maxScale: 4, center: false, hash: true,
  transition: "none", backgroundTransition: "none", slideNumber: "c/t", controls: false,
  progress: false, pdfSeparateFragments: false, viewDistance: 100, keyboardCondition: () => !inside(),
}).then(() => {
  Reveal.on("slidechanged", ({ currentSlide }) => {
    for (const each of shown.values()) { // what was waiting, now that nobody looks
      each.leave();
    }
    enlargeAll();
    openPoll(polls.get(currentSlide.dataset.poll));
    tell();
  });
  enlargeAll();
  setInterval(enlargeAll, 200);
  document.body.dataset.ready = "true";
  if (LIVE?.poll) setInterval(countPhones, 1000);
  openPoll(polls.get(Reveal.getCurrentSlide().dataset.poll)); // an address may name a slide
  if (LIVE) runAll();
});
addEventListener("pagehide", () => kernel?.stop()); // a page that is loaded again starts its own
