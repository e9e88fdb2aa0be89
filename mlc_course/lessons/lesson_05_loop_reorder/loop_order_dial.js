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

function render({ model, el }) {
  begin(el);
  const dial = radios(model, "order", "the loops, from outside to inside",
    model.get("orders").map((order) => [order, order]));
  const stage = element("div", { class: "mlc-chart", "data-testid": "stage" });
  const said = element("p", { class: "mlc-status", "data-testid": "said" });
  const size = element("select", { "aria-label": "size of the matrices", "data-testid": "size" });
  size.append(...model.get("sizes").map((n) => element("option", { value: n }, `${n} x ${n}`)));
  size.addEventListener("change", () => assign(model, "size", Number(size.value)));
  const measure = worker(model, "Measure all six", "measure");
  const chart = element("div", {
    class: "mlc-chart", role: "img", "data-testid": "chart",
    "aria-label": "Times of the six orders as bars, NumPy's as a line; click a bar to choose it",
  });
  const table = element("div", { "data-testid": "runs" });

  const { controls, restart, stop } = player(model, "iterations", said,
    (frames, step) => pose(stage, frames, step));
  chart.addEventListener("click", (event) => {
    const part = event.target.closest('[id^="row-"], [id^="rung-"], [id^="name-"]');
    if (part) assign(model, "order", model.get("orders")[Number(part.id.split("-")[1])]);
  });

  el.append(
    element("div", { class: "mlc-controls" }, dial),
    controls,
    said, stage, table,
    element("div", { class: "mlc-controls" }, size, measure), statusLine(model), chart,
  );

  follow(model, ["stage"], () => { stage.innerHTML = model.get("stage"); restart(); });
  follow(model, ["table"], () => { table.innerHTML = model.get("table"); });
  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  follow(model, ["size"], () => { size.value = model.get("size"); });
  follow(model, ["busy"], () => {
    for (const control of [size, measure]) control.disabled = model.get("busy");
  });
  return stop;
}

export default { render };
