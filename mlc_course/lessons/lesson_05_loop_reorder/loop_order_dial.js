const MATRICES = ["A", "B", "C"];

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
    stage.querySelector(`#count-${name}`).textContent = tr("{count} misses", { count: misses });
  });
  frames.nest.forEach((code, depth) => {
    stage.querySelector(`#nest-${depth}`).textContent = code;
  });
  stage.querySelector("#values").textContent = frames.values[step];
  stage.querySelector("svg").setAttribute("aria-label", frames.said[step]);
};

// The row of the chosen order in every picture.
const mark = (pictures, place) => {
  for (const row of pictures.querySelectorAll('[id^="row-"]')) {
    row.setAttribute("class", row.id === `row-${place}` ? "chosen" : "");
  }
};

function render({ model, el }) {
  begin(el);
  const orders = model.get("orders");
  const dial = radios(model, "order", tr("the loops, from outside to inside"),
    orders.map((order) => [order, order]));
  const stage = element("div", { class: "mlc-chart", "data-testid": "stage" });
  const said = element("p", { class: "mlc-status", "data-testid": "said" });
  const size = element("select", { "aria-label": tr("size of the matrices"), "data-testid": "size" });
  size.append(...model.get("sizes").map((n) => element("option", { value: n }, `${n} x ${n}`)));
  size.addEventListener("change", () => assign(model, "size", Number(size.value)));
  const measure = worker(model, tr("Measure all six"), "measure");
  const totals = element("div", { class: "mlc-chart", "data-testid": "totals" });
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });
  const pictures = element("div", {}, totals, chart);

  // The frames of all orders are here already, so the picture turns without asking Python.
  const chosen = {
    get: (name) => (name === "frames" ? model.get("frames")[model.get("order")] : model.get(name)),
    set: (...trait) => model.set(...trait),
    save_changes: () => model.save_changes(),
    on: (...handler) => model.on(...handler),
  };
  const { controls, restart, stop } = player(chosen, tr("iterations"), said,
    (frames, step) => pose(stage, frames, step));
  pictures.addEventListener("click", (event) => {
    const part = event.target.closest('[id^="row-"]');
    if (part) assign(model, "order", orders[Number(part.id.split("-")[1])]);
  });
  const turn = () => mark(pictures, orders.indexOf(model.get("order")));

  el.append(
    element("div", { class: "mlc-controls" }, dial, size, measure),
    controls, said,
    element("div", { class: "mlc-beside mlc-dial" }, stage, pictures),
    statusLine(model),
  );

  stage.innerHTML = model.get("stage");
  totals.innerHTML = model.get("totals");
  follow(model, ["order"], () => { restart(); turn(); });
  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); turn(); });
  follow(model, ["size"], () => { size.value = model.get("size"); });
  follow(model, ["busy"], () => {
    for (const control of [size, measure]) control.disabled = model.get("busy");
  });
  return stop;
}

export default { render };
