const SPEEDS = [["4", "4 iterations a second"], ["15", "15 a second"], ["60", "60 a second"]];
const MATRICES = ["A", "B", "C"], LOOPS = ["m", "n", "k"];

// What the picture shows after `step` iterations; every value was computed in Python.
const pose = (stage, frames, step) => {
  const held = new Set(frames.held[step].map((line) => `line-${line}`));
  for (const line of stage.querySelectorAll('[id^="line-"]')) {
    line.setAttribute("class", held.has(line.id) ? "held" : "");
  }
  MATRICES.forEach((name, place) => {
    const now = stage.querySelector(`#now-${name}`), square = frames.now[step][place];
    now.setAttribute("class", square ? `now ${square[2] ? "miss" : "hit"}` : "now");
    if (square) {
      now.setAttribute("x", square[0]);
      now.setAttribute("y", square[1]);
    }
    const misses = frames.misses[step][place];
    stage.querySelector(`#bar-${name}`).setAttribute("width", misses * frames.scale);
    stage.querySelector(`#count-${name}`).textContent = `${misses} misses`;
  });
  LOOPS.forEach((name, place) => {
    const value = frames.values[step][place];
    stage.querySelector(`#value-${name}`).textContent = value === "" ? name : `${name} = ${value}`;
  });
};

const button = (text, testid, act) => {
  const made = element("button", { type: "button", "data-testid": testid }, text);
  made.addEventListener("click", act);
  return made;
};

function render({ model, el }) {
  begin(el);
  const dial = radios(model, "order", "the loops, from outside to inside",
    model.get("orders").map((order) => [order, order]));
  const stage = element("div", { class: "mlc-chart", "data-testid": "stage" });
  const said = element("p", { class: "mlc-status", "data-testid": "said" });
  const slider = element("input", {
    type: "range", min: "0", step: "1", class: "mlc-wide", "data-testid": "slider",
    "aria-label": "iterations done; arrow keys go one iteration back or on",
  });
  const speed = element("select", { "aria-label": "speed", "data-testid": "speed" });
  speed.append(...SPEEDS.map(([value, text]) => element("option", { value }, text)));
  speed.value = "15";
  const size = element("select", { "aria-label": "size of the matrices", "data-testid": "size" });
  size.append(...model.get("sizes").map((n) => element("option", { value: n }, `${n} x ${n}`)));
  size.addEventListener("change", () => assign(model, "size", Number(size.value)));
  const measure = worker(model, "Measure all six", "measure");
  const chart = element("div", {
    class: "mlc-chart", role: "img", "data-testid": "chart",
    "aria-label": "Times of the six orders as bars, NumPy's as a line; click a bar to choose it",
  });
  const table = element("div", { "data-testid": "runs" });

  let step = model.get("step"), timer = null;
  const last = () => model.get("frames").said.length - 1;
  const show = (wanted) => {
    step = Math.min(Math.max(wanted, 0), last());
    pose(stage, model.get("frames"), step);
    slider.value = step;
    said.textContent = model.get("frames").said[step];
  };
  const rest = () => { clearInterval(timer); timer = null; playing.textContent = "Play"; };
  const pause = () => {
    rest();
    if (step !== model.get("step")) assign(model, "step", step);
  };
  const go = (wanted) => { show(wanted); pause(); };
  const play = () => {
    if (step === last()) show(0);
    playing.textContent = "Pause";
    timer = setInterval(() => {
      show(step + 1);
      if (step === last()) pause();
    }, 1000 / Number(speed.value));
  };
  const playing = button("Play", "play", () => (timer ? pause() : play()));
  playing.classList.add("mlc-main");
  speed.addEventListener("change", () => { if (timer) { clearInterval(timer); play(); } });
  slider.addEventListener("input", () => { rest(); show(Number(slider.value)); });
  slider.addEventListener("change", () => go(Number(slider.value)));
  chart.addEventListener("click", (event) => {
    const part = event.target.closest('[id^="row-"], [id^="rung-"], [id^="name-"]');
    if (part) assign(model, "order", model.get("orders")[Number(part.id.split("-")[1])]);
  });

  el.append(
    element("div", { class: "mlc-controls" }, dial),
    element("div", { class: "mlc-controls mlc-player" }, playing,
      button("Back", "back", () => go(step - 1)), button("Step", "forward", () => go(step + 1)),
      button("To the end", "end", () => go(last())), speed, slider),
    said, stage, table,
    element("div", { class: "mlc-controls" }, size, measure), statusLine(model), chart,
  );

  follow(model, ["stage"], () => {
    stage.innerHTML = model.get("stage");
    slider.max = last();
    show(timer ? step : model.get("step"));
  });
  follow(model, ["step"], () => {
    if (!timer && step !== model.get("step")) show(model.get("step"));
  });
  follow(model, ["table"], () => { table.innerHTML = model.get("table"); });
  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  follow(model, ["size"], () => { size.value = model.get("size"); });
  follow(model, ["busy"], () => {
    for (const control of [size, measure]) control.disabled = model.get("busy");
  });
  return () => clearInterval(timer);
}

export default { render };
