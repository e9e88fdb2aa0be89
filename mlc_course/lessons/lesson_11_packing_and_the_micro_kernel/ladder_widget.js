const PARTS = '[id^="row-"], [id^="rung-"], [id^="name-"]';

function render({ model, el }) {
  begin(el);
  const source = radios(model, "source", "figures", [
    ["recorded", "recorded"], ["here", "measured here"],
  ]);
  const machine = element("select", {
    "aria-label": "machine of the recording", "data-testid": "machine",
  });
  machine.addEventListener("change", () => assign(model, "machine", machine.value));
  const threads = radios(model, "threads", "NumPy and ours on", [
    ["one", "one thread"], ["all", "all cores"],
  ]);
  const view = element("select", { "aria-label": "what to show", "data-testid": "view" });
  view.addEventListener("change", () => assign(model, "view", view.value));
  const course = element("select", { "aria-label": "what to measure", "data-testid": "course" });
  course.append(...model.get("courses").map((label) => element("option", {}, label)));
  course.addEventListener("change", () => assign(model, "course", course.value));
  const measure = worker(model, "Measure here", "measure");
  const { chart, draw } = chooser(model,
    "Rungs of the ladder. Arrow keys choose one; what it does is told below.", PARTS,
    () => model.get("names"));
  chart.style.maxWidth = "860px"; // so that picture, reason and program fit one screen
  const reason = element("p", {
    class: "mlc-reason", "aria-live": "polite", "data-testid": "reason",
  });
  const program = element("div", {
    class: "mlc-program", tabindex: "0", role: "region", "data-testid": "program",
    "aria-label": "The program before and after this rung",
  });
  program.style.maxHeight = "16em";
  el.append(
    element("div", { class: "mlc-controls" }, source, machine, threads, view, course, measure),
    statusLine(model), chart, reason, tickbox(model, "whole", "whole programs"), program,
  );

  follow(model, ["svg"], () => {
    draw(`[id^="${model.get("view") === "times" ? "row" : "rung"}-"]`); // under a roof are no rows
  });
  follow(model, ["reason", "name"], () => {
    reason.replaceChildren(element("b", {}, model.get("name")), ` ${model.get("reason")}`);
  });
  follow(model, ["program"], () => { program.innerHTML = model.get("program"); });
  follow(model, ["machines", "machine"], () => {
    machine.replaceChildren(...Object.entries(model.get("machines")).map(
      ([isa, label]) => element("option", { value: isa }, label)));
    machine.value = model.get("machine");
  });
  follow(model, ["views", "view"], () => {
    view.replaceChildren(...model.get("views").map((name) => element(
      "option", { value: name }, name === "times" ? "times" : `roofline, bytes from ${name}`)));
    view.value = model.get("view");
  });
  follow(model, ["course"], () => { course.value = model.get("course"); });
  follow(model, ["busy", "measured", "source"], () => {
    const busy = model.get("busy");
    for (const control of [threads, view, course, measure, source]) control.disabled = busy;
    source.querySelector('[value="here"]').disabled = !model.get("measured");
    machine.disabled = busy || model.get("source") === "here";
  });
}

export default { render };
