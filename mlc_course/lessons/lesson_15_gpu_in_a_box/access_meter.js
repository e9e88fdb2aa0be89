// A slider with its number; JupyterLab keeps the arrow keys from sliders, so they are acted on here.
const numbered = (model, trait, text, most) => {
  const shown = element("output", { "data-testid": `${trait}-number` });
  const slider = element("input", {
    type: "range", min: "0", max: String(most), step: "1", "data-testid": trait, "aria-label": text,
  });
  const set = (wanted) => {
    const value = Math.min(Math.max(wanted, 0), most);
    if (value !== model.get(trait)) assign(model, trait, value);
  };
  slider.addEventListener("input", () => set(Number(slider.value)));
  slider.addEventListener("keydown", (event) => {
    if (!(event.key in JUMPS)) return;
    event.preventDefault();
    set(model.get(trait) + JUMPS[event.key]);
  });
  follow(model, [trait], () => {
    slider.value = model.get(trait);
    shown.textContent = model.get(trait);
  });
  return element("label", { class: "mlc-loop" }, `${text} `, slider, " ", shown);
};

// Radio buttons hold text, and the width is a number.
const widths = (model) => {
  const group = `width-${Math.random().toString(36).slice(2)}`;
  const buttons = [1, 2, 4].map((value) => {
    const button = element("input", { type: "radio", name: group, "data-testid": `width-${value}` });
    button.addEventListener("change", () => assign(model, "width", value));
    return [button, value];
  });
  follow(model, ["width"], () => {
    for (const [button, value] of buttons) button.checked = value === model.get("width");
  });
  const labels = buttons.map(([button, value]) => element("label", {}, button, ` ${value}`));
  return element("fieldset", {}, element("legend", {}, "floats a lane"), ...labels);
};

function render({ model, el }) {
  begin(el);
  const memory = radios(model, "memory", "memory",
    [["device", "device memory"], ["shared", "shared memory"]]);
  const pattern = radios(model, "pattern", "lanes access",
    [["row", "elements of a row"], ["column", "a column of a tile of 32"]]);
  const stride = numbered(model, "stride", "stride", 33);
  const padding = numbered(model, "padding", "padding", 8);
  const first = numbered(model, "first", "first element", 31);
  const meter = element("div", { class: "mlc-chart", "data-testid": "meter" });
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });
  el.append(element("div", { class: "mlc-controls" }, memory, pattern, widths(model)),
    element("div", { class: "mlc-controls mlc-player" }, stride, padding, first),
    meter, statusLine(model), chart);
  follow(model, ["pattern"], () => {
    stride.hidden = model.get("pattern") !== "row";
    padding.hidden = model.get("pattern") !== "column";
  });
  follow(model, ["meter"], () => { meter.innerHTML = model.get("meter"); });
  follow(model, ["chart"], () => { chart.innerHTML = model.get("chart"); });
}

export default { render };
