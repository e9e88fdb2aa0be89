function render({ model, el }) {
  begin(el);
  const chooser = (trait, label, options, read) => {
    const select = element("select", { "data-testid": trait, "aria-label": label });
    select.append(...options.map(([value, text]) => element("option", { value }, text)));
    select.addEventListener("change", () => assign(model, trait, read(select.value)));
    follow(model, [trait], () => { select.value = String(model.get(trait)); });
    return select;
  };
  const pair = chooser("pair", "pair of graphs", model.get("pairs"), String);
  const prime = chooser(
    "prime", "lowest prime", model.get("primes").map((each) => [each, each]), Number);
  const error = chooser("error", "error asked for", model.get("errors"), Number);
  const act = (text, task) => button(text, task, () => model.send({ task }));
  const one = act("One more test", "one");
  const finish = act("Run to a verdict", "finish");
  const hunt = act("Run until a verdict is wrong", "hunt");
  const restart = act("Start again", "restart");
  one.classList.add("mlc-main");
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });
  el.append(
    element("div", { class: "mlc-controls" },
      element("label", {}, "pair ", pair), element("label", {}, "prime ", prime),
      element("label", {}, "error ", error)),
    element("div", { class: "mlc-controls mlc-player" }, one, finish, hunt, restart),
    statusLine(model), chart,
  );

  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  let held = null;  // what had the focus: a control that is disabled loses it
  follow(model, ["busy", "can_run", "can_hunt"], () => {
    const busy = model.get("busy");
    if (busy && el.contains(document.activeElement)) held = document.activeElement;
    for (const control of [pair, prime, error, one, restart]) control.disabled = busy;
    finish.disabled = busy || !model.get("can_run");
    hunt.disabled = busy || !model.get("can_hunt");
    if (!busy && held) {
      if (document.activeElement === document.body || el.contains(document.activeElement)) held.focus();
      held = null;
    }
  });
}

export default { render };
