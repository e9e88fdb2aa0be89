const SPEEDS = [["4", "4 accesses a second"], ["15", "15 a second"], ["60", "60 a second"]];
const KEYS = {
  ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -16, PageUp: 16,
  Home: -Infinity, End: Infinity,
};

// A list of choices for a trait; numbers stay numbers.
const choices = (model, trait, text, options) => {
  const list = element("select", { "data-testid": trait });
  list.append(...options.map((value) => element("option", { value }, String(value))));
  const number = typeof options[0] === "number";
  list.addEventListener("change", () => {
    assign(model, trait, number ? Number(list.value) : list.value);
  });
  follow(model, [trait], () => { list.value = String(model.get(trait)); });
  return element("label", {}, `${text} `, list);
};

const button = (text, testid, act) => {
  const made = element("button", { type: "button", "data-testid": testid }, text);
  made.addEventListener("click", act);
  return made;
};

// What the picture shows after `step` accesses; every value was computed in Python.
const pose = (chart, frames, step) => {
  const held = frames.held[step];
  const lines = new Set(held.map((line) => `line-${line}`));
  for (const line of chart.querySelectorAll('[id^="line-"]')) {
    line.setAttribute("class", lines.has(line.id) ? "held" : "");
  }
  held.forEach((line, place) => {
    const here = step > 0 && frames.place[step - 1] === place;
    const box = chart.querySelector(`#place-${place}`);
    const verdict = here ? (frames.hit[step - 1] ? " hit" : " miss") : "";
    box.setAttribute("class", (line < 0 ? "" : "full") + verdict);
    box.querySelector("text").textContent = line < 0 ? "" : frames.labels[line];
  });
  const now = chart.querySelector("#now");
  now.style.visibility = step > 0 ? "visible" : "hidden";
  if (step > 0) {
    const [x, y, side] = frames.box[step - 1];
    for (const [name, value] of Object.entries({ x, y, width: side, height: side })) {
      now.setAttribute(name, value);
    }
  }
  chart.querySelector("#done").setAttribute("width", frames.across[step] - frames.across[0]);
};

function render({ model, el }) {
  begin(el);
  const sizes = model.get("sizes");
  const chart = element("div", {
    class: "mlc-chart", role: "img", "data-testid": "chart",
    "aria-label": "Matrices, the sets and ways of the cache, and the misses so far; "
      + "the line below says what happened",
  });
  const status = element("p", { class: "mlc-status", role: "status", "data-testid": "status" });
  const slider = element("input", {
    type: "range", min: "0", step: "1", class: "mlc-wide", "data-testid": "slider",
    "aria-label": "accesses done; arrow keys go one access back or on",
  });
  const speed = element("select", { "aria-label": "speed", "data-testid": "speed" });
  speed.append(...SPEEDS.map(([value, text]) => element("option", { value }, text)));
  speed.value = "15";

  let step = model.get("step");
  let timer = null;
  const last = () => model.get("frames").said.length - 1;
  const show = (wanted) => {
    step = Math.min(Math.max(wanted, 0), last());
    pose(chart, model.get("frames"), step);
    slider.value = step;
    status.textContent = model.get("frames").said[step];
  };
  const pause = () => {
    clearInterval(timer);
    timer = null;
    playing.textContent = "Play";
    if (step !== model.get("step")) assign(model, "step", step);
  };
  const play = () => {
    if (step === last()) show(0);
    playing.textContent = "Pause";
    timer = setInterval(() => {
      show(step + 1);
      if (step === last()) pause();
    }, 1000 / Number(speed.value));
  };
  const go = (wanted) => { show(wanted); pause(); };

  const playing = button("Play", "play", () => (timer ? pause() : play()));
  playing.classList.add("mlc-main");
  speed.addEventListener("change", () => { if (timer) { clearInterval(timer); play(); } });
  // JupyterLab keeps the arrow keys from a slider, so they are acted on here.
  slider.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    go(step + KEYS[event.key]);
  });
  slider.addEventListener("input", () => { clearInterval(timer); show(Number(slider.value)); });
  slider.addEventListener("change", () => go(Number(slider.value)));

  const table = element("div", { "data-testid": "runs" });
  el.append(
    element("div", { class: "mlc-controls" },
      choices(model, "program", "program", model.get("programs")),
      choices(model, "sets", "sets", sizes.sets),
      choices(model, "ways", "ways", sizes.ways),
      choices(model, "line", "bytes in a line", sizes.line)),
    element("div", { class: "mlc-controls mlc-player" },
      playing, button("Back", "back", () => go(step - 1)),
      button("Step", "forward", () => go(step + 1)),
      button("To the end", "end", () => go(last())), speed, slider),
    status, chart, table,
  );

  follow(model, ["stage"], () => {
    clearInterval(timer);
    timer = null;
    playing.textContent = "Play";
    chart.innerHTML = model.get("stage");
    slider.max = last();
    show(model.get("step"));
  });
  follow(model, ["step"], () => { if (!timer && step !== model.get("step")) show(model.get("step")); });
  follow(model, ["table"], () => { table.innerHTML = model.get("table"); });
  return () => clearInterval(timer);
}

export default { render };
