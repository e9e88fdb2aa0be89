function render({ model, el }) {
  begin(el);
  const problem = element("select", { "aria-label": "problem", "data-testid": "problem" });
  problem.append(...model.get("problems").map((name) => element("option", {}, name)));
  problem.addEventListener("change", () => assign(model, "problem", problem.value));
  const ways = element("div", {});
  const measure = worker(model, "Measure here", "measure");
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });
  const reason = element("p", {
    class: "mlc-reason", "aria-live": "polite", "data-testid": "reason",
  });
  const program = element("div", {
    class: "mlc-program", style: "max-height: 14em", tabindex: "0", role: "region",
    "data-testid": "program",
    "aria-label": "The program apart, and fused",
  });
  el.append(
    element("div", { class: "mlc-controls" },
      element("label", {}, "problem ", problem), ways, measure),
    statusLine(model), chart, reason, program,
  );

  follow(model, ["fusions"], () => {
    const options = model.get("fusions").map((name) => [name, name]);
    ways.replaceChildren(radios(model, "fusion", "fusion", options));
  });
  follow(model, ["problem"], () => { problem.value = model.get("problem"); });
  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  follow(model, ["reason", "said"], () => {
    reason.replaceChildren(
      element("b", {}, model.get("fusion")), ` ${model.get("reason")} ${model.get("said")}`,
    );
  });
  follow(model, ["program"], () => { program.innerHTML = model.get("program"); });
  follow(model, ["busy"], () => {
    // A picture drawn meanwhile would count as time of the program that is measured.
    for (const control of [problem, ways.firstChild, measure]) control.disabled = model.get("busy");
  });
}

export default { render };
