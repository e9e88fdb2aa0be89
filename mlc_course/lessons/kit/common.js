// What the script of every widget begins with.

// Sentences in the language that is spoken; Python fills this in where it is not English.
const WORDS = {};
const tr = (text, values = {}) => (WORDS[text] ?? text).replace(
  /\{(\w+)\}/g, (place, name) => values[name] ?? place);

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

// Call `update` now, and whenever one of the traits changes.
const follow = (model, traits, update) => {
  for (const trait of traits) model.on(`change:${trait}`, update);
  update();
};

const assign = (model, trait, value) => {
  model.set(trait, value);
  model.save_changes();
};

// Radio buttons for a trait; `options` is [[value, text], ...].
const radios = (model, trait, legend, options) => {
  const group = `${trait}-${Math.random().toString(36).slice(2)}`;
  const buttons = options.map(([value, text]) => {
    const button = element("input", { type: "radio", name: group, value });
    button.dataset.testid = `${trait}-${value}`;
    button.addEventListener("change", () => assign(model, trait, value));
    return [button, element("label", {}, button, ` ${text}`)];
  });
  const labels = buttons.map(([, label]) => label);
  const fieldset = element("fieldset", {}, element("legend", {}, legend), ...labels);
  follow(model, [trait], () => {
    for (const [button] of buttons) button.checked = button.value === model.get(trait);
  });
  return fieldset;
};

const tickbox = (model, trait, text) => {
  const box = element("input", { type: "checkbox", "data-testid": trait });
  box.addEventListener("change", () => assign(model, trait, box.checked));
  follow(model, [trait], () => { box.checked = model.get(trait); });
  return element("label", {}, box, ` ${text}`);
};

// A button that has Python do something, which takes a while.
const worker = (model, text, task) => {
  const button = element("button", { type: "button", class: "mlc-main", "data-testid": task }, text);
  button.addEventListener("click", () => model.send({ task }));
  return button;
};

// The line that says where the figures come from, or how far a measurement is.
const statusLine = (model) => {
  const line = element("p", { class: "mlc-status", role: "status", "data-testid": "status" });
  follow(model, ["status"], () => { line.textContent = model.get("status"); });
  return line;
};

const button = (text, testid, act) => {
  const made = element("button", { type: "button", "data-testid": testid }, text);
  made.addEventListener("click", act);
  return made;
};

// A picture of which one part is chosen, by a click or by keys: a list box. `parts` selects what can
// be clicked; the id of part 3 begins with a word and "-3". `names()` are the parts' names, and
// `draw(options)` shows the trait `svg`, with the parts that `options` selects as its options.
const CHOICES = {
  ArrowUp: -1, ArrowDown: 1, ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity,
};
const chooser = (model, label, parts, names) => {
  const chart = element("div", {
    class: "mlc-chart", role: "listbox", tabindex: "0", "data-testid": "chart", "aria-label": label,
  });
  const place = (part) => Number(part.id.split("-")[1]);
  const choose = (wanted) => {
    const last = names().length - 1;
    if (last >= 0) assign(model, "selected", Math.min(Math.max(wanted, 0), last));
  };
  chart.addEventListener("click", (event) => {
    const part = event.target.closest(parts);
    if (part) choose(place(part));
  });
  chart.addEventListener("keydown", (event) => {
    if (!(event.key in CHOICES)) return;
    event.preventDefault();
    choose(model.get("selected") + CHOICES[event.key]);
  });
  const draw = (options) => {
    chart.innerHTML = model.get("svg");
    const drawing = chart.querySelector("svg");
    chart.hidden = !drawing; // there is nothing to choose yet
    if (!drawing) return;
    // What is inside a role of "img" is hidden from those who listen; its words go to the list box.
    chart.setAttribute("aria-description", drawing.getAttribute("aria-label") ?? "");
    drawing.setAttribute("role", "none");
    drawing.removeAttribute("aria-label");
    for (const part of chart.querySelectorAll(options)) {
      const isChosen = place(part) === model.get("selected");
      part.setAttribute("role", "option");
      part.setAttribute("aria-label", names()[place(part)]);
      part.setAttribute("aria-selected", String(isChosen));
      part.dataset.testid = part.id;
      if (isChosen) chart.ariaActiveDescendantElement = part;
    }
  };
  return { chart, draw };
};

const JUMPS = {
  ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -16, PageUp: 16,
  Home: -Infinity, End: Infinity,
};

// Buttons and a slider that walk through frames computed in Python; the trait is `step`. `frames`
// is a trait too: `frames.said` has a sentence for each step, and `pose(frames, step)` draws one.
// `restart()` is for when the frames have changed (who plays goes on), `stop()` ends playing.
const player = (model, unit, said, pose) => {
  const slider = element("input", {
    type: "range", min: "0", step: "1", class: "mlc-wide", "data-testid": "slider",
    "aria-label": tr("{unit} done; arrow keys go one back or on", { unit }),
  });
  const speed = element("select", { "aria-label": tr("speed"), "data-testid": "speed" });
  const speeds = [
    [4, tr("4 {unit} a second", { unit })], [15, tr("15 a second")], [60, tr("60 a second")],
  ];
  speed.append(...speeds.map(([value, text]) => element("option", { value }, text)));
  speed.value = "15";

  let step = model.get("step"), timer = null;
  const last = () => model.get("frames").said.length - 1;
  const show = (wanted) => {
    step = Math.min(Math.max(wanted, 0), last());
    pose(model.get("frames"), step);
    slider.value = step;
    said.textContent = model.get("frames").said[step];
  };
  const stop = () => { clearInterval(timer); timer = null; playing.textContent = tr("Play"); };
  const go = (wanted) => {
    show(wanted);
    stop();
    if (step !== model.get("step")) assign(model, "step", step);
  };
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const play = () => {
    if (calm.matches) return go(last()); // who does not want motion has the end at once
    if (step === last()) show(0);
    playing.textContent = tr("Pause");
    timer = setInterval(() => {
      show(step + 1);
      if (step === last()) go(step);
    }, 1000 / Number(speed.value));
  };
  const playing = button(tr("Play"), "play", () => (timer ? go(step) : play()));
  playing.classList.add("mlc-main");
  speed.addEventListener("change", () => { if (timer) { clearInterval(timer); play(); } });
  // JupyterLab keeps the arrow keys from a slider, so they are acted on here.
  slider.addEventListener("keydown", (event) => {
    if (!(event.key in JUMPS)) return;
    event.preventDefault();
    go(step + JUMPS[event.key]);
  });
  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
  slider.addEventListener("change", () => go(Number(slider.value)));
  model.on("change:status", () => { said.textContent = model.get("status") || said.textContent; });
  follow(model, ["step"], () => {
    if (!timer && step !== model.get("step")) show(model.get("step"));
  });
  const controls = element("div", { class: "mlc-controls mlc-player" }, playing,
    button(tr("Back"), "back", () => go(step - 1)), button(tr("Step"), "forward", () => go(step + 1)),
    button(tr("To the end"), "end", () => go(last())), speed, slider);
  const restart = () => { slider.max = last(); show(timer ? step : model.get("step")); };
  return { controls, restart, stop };
};

// JupyterLab has shortcuts on plain keys and arrows, which must not act inside a widget.
const begin = (el) => {
  el.classList.add("mlc");
  el.dataset.lmSuppressShortcuts = "true";
  el.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) event.stopPropagation(); // sliders and radio buttons use them
  });
};
