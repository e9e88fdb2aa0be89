// A slider for each loop; the arrow keys move it.
const slider = (model, name, extent) => {
  const input = element("input", {
    type: "range", min: "0", max: String(extent - 1), step: "1", "data-testid": `at-${name}`,
    "aria-label": `loop ${name}, 0 to ${extent - 1}`,
  });
  const shown = element("output", { "data-testid": `value-${name}` });
  const read = () => {
    input.value = model.get("at")[name] ?? 0;
    shown.textContent = `${name} = ${input.value}`;
  };
  input.addEventListener("input", () => {
    shown.textContent = `${name} = ${input.value}`;
    assign(model, "at", { ...model.get("at"), [name]: Number(input.value) });
  });
  return { name, read, label: element("label", { class: "mlc-loop" }, shown, input) };
};

// Radio buttons that are made again when their choices change.
const choices = (model, trait, legend, list) => {
  const fieldset = element("fieldset", {}, element("legend", {}, legend));
  const group = `${trait}-${Math.random().toString(36).slice(2)}`;
  let known = "";
  const check = () => {
    for (const button of fieldset.querySelectorAll("input")) {
      button.checked = button.value === model.get(trait);
    }
  };
  const make = () => {
    const options = list();
    if (JSON.stringify(options) === known) return check();
    known = JSON.stringify(options);
    fieldset.replaceChildren(fieldset.firstChild, ...options.map(([value, text]) => {
      const button = element("input", {
        type: "radio", name: group, value, "data-testid": `${trait}-${value.replaceAll(" ", "-")}`,
      });
      button.addEventListener("change", () => assign(model, trait, value));
      return element("label", {}, button, ` ${text}`);
    }));
    check();
  };
  return { fieldset, make, check };
};

function render({ model, el }) {
  begin(el);
  const program = element("select", { "data-testid": "program", "aria-label": "program" });
  program.append(...model.get("programs").map((name) => element("option", { value: name }, name)));
  program.addEventListener("change", () => assign(model, "program", program.value));
  const block = choices(model, "block", "block", () => model.get("blocks").map((b) => [b, b]));
  const moved = choices(model, "moved", "show", () => [
    ["this iteration", "this iteration"],
    ...model.get("loops").map(([name]) => [name, `along ${name}`]),
    ["all", "all iterations"],
  ]);
  const loops = element("div", { class: "mlc-controls mlc-loops" });
  const reason = element("p", { class: "mlc-status", "data-testid": "reason" });
  const status = statusLine(model);
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });
  const listing = element("div", {
    class: "mlc-listing", "data-testid": "listing", "aria-label": "the program, relevant lines marked",
  });

  el.append(
    element("div", { class: "mlc-controls" }, program, block.fieldset, moved.fieldset),
    reason, loops, status, element("div", { class: "mlc-beside mlc-inspect" }, chart, listing),
  );

  let sliders = [], known = "";
  const makeLoops = () => {
    if (JSON.stringify(model.get("loops")) === known) return;
    known = JSON.stringify(model.get("loops"));
    sliders = model.get("loops").map(([name, extent]) => slider(model, name, extent));
    loops.replaceChildren(...sliders.map((each) => each.label));
    for (const each of sliders) each.read();
  };
  follow(model, ["program"], () => { program.value = model.get("program"); });
  follow(model, ["reason"], () => { reason.textContent = model.get("reason"); });
  follow(model, ["blocks"], block.make);
  follow(model, ["block"], block.check);
  follow(model, ["loops"], () => { makeLoops(); moved.make(); });
  follow(model, ["moved"], moved.check);
  follow(model, ["at"], () => { for (const each of sliders) each.read(); });
  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  follow(model, ["listing"], () => { listing.innerHTML = model.get("listing"); });
}

export default { render };
