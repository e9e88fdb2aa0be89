// What the picture shows after `step` steps; every value was computed in Python.
const pose = (chart, frames, step) => {
  for (const [name, boxes] of Object.entries(frames.boxes)) {
    const box = chart.querySelector(`#${name}`);
    ["x", "y", "width", "height"].forEach((side, i) => box.setAttribute(side, boxes[step][i]));
  }
  ["c", "b", "a"].forEach((kind, i) => {
    for (const box of chart.querySelectorAll(`.reg-${kind}`)) {
      box.setAttribute("fill-opacity", frames.lit[step][i] ? 0.75 : 0.08);
    }
  });
  frames.bars[step].forEach((wide, i) => {
    chart.querySelector(`#bar-${i}`).setAttribute("width", wide);
    chart.querySelector(`#kib-${i} text`).textContent = frames.kib[step][i];
  });
};

function render({ model, el }) {
  begin(el);
  const choices = (trait, legend, values) => {
    const list = element("select", { "data-testid": trait });
    list.append(...values.map((value) => element("option", { value }, String(value))));
    list.addEventListener("change", () => assign(model, trait, Number(list.value)));
    follow(model, [trait], () => { list.value = String(model.get(trait)); });
    return element("label", {}, `${legend} `, list);
  };
  const chart = element("div", {
    class: "mlc-chart", role: "img", "data-testid": "chart",
    "aria-label": "Matrices A, B and C with their tiles, the registers, and what L1 and L2 hold; "
      + "the line above says what happens",
  });
  const said = statusLine(model);
  const words = element("p", { class: "mlc-hidden" });
  const { controls, restart, stop } = player(model, "steps", words, (frames, step) => {
    pose(chart, frames, step);
    said.textContent = frames.said[step];
  });
  const speed = element("div", { class: "mlc-chart", "data-testid": "latency" });
  const { rows, vectors } = model.get("sizes");
  const measure = worker(model, "Measure this tile here", "measure");
  el.append(
    element("div", { class: "mlc-controls" }, choices("rows", "rows of C", rows),
      choices("vectors", "vectors of C", vectors), measure),
    controls, said, chart, speed,
  );
  follow(model, ["stage"], () => { stop(); chart.innerHTML = model.get("stage"); restart(); });
  follow(model, ["speed"], () => { speed.innerHTML = model.get("speed"); });
  follow(model, ["busy"], () => { measure.disabled = model.get("busy"); });
  return stop;
}

export default { render };
