function render({ model, el }) {
  begin(el);
  const load = radios(model, "load", "load", model.get("loads").map((each) => [each, each]));
  const how = radios(model, "how", "sharing", model.get("hows").map((each) => [each, each]));
  const slider = (trait, text, values) => {
    const input = element("input", {
      type: "range", min: "0", max: String(values.length - 1), step: "1", "data-testid": trait,
      "aria-label": text,
    });
    const output = element("output", { class: "mlc-figure" });
    input.addEventListener("input", () => assign(model, trait, values[Number(input.value)]));
    follow(model, [trait], () => {
      input.value = String(values.indexOf(model.get(trait)));
      output.textContent = String(model.get(trait));
      input.setAttribute("aria-valuetext", String(model.get(trait)));
    });
    return [input, element("label", {}, `${text} `, input, " ", output)];
  };
  const numbers = Array.from({ length: model.get("most_workers") }, (_, i) => i + 1);
  const [grain, grainLabel] = slider("grain", "words in a task", model.get("grains"));
  const [workers, workersLabel] = slider("workers", "workers", numbers);
  const [serial, serialLabel] = slider("serial", "serial, %", model.get("serials"));
  const source = radios(model, "source", "picture", [
    ["simulated", "simulated"], ["here", "measured here"],
  ]);
  const measure = worker(model, "Measure here", "measure");
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });
  const curve = element("div", { class: "mlc-chart", "data-testid": "curve" });
  el.append(
    element("div", { class: "mlc-controls" }, load, how, source, measure),
    element("div", { class: "mlc-controls" }, grainLabel, workersLabel, serialLabel),
    statusLine(model), chart, curve,
  );

  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  follow(model, ["curve"], () => { curve.innerHTML = model.get("curve"); });
  follow(model, ["busy", "measured"], () => {
    const busy = model.get("busy");
    for (const control of [load, how, source, measure, grain, workers, serial]) {
      control.disabled = busy;
    }
    source.querySelector('[value="here"]').disabled = !model.get("measured");
  });
}

export default { render };
