"""What a page owes to those who do not see it, or do not use a mouse: axe, and a walk by keys."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

SERIOUS = ("serious", "critical")
# The cells' text and outputs are ours; menus, toolbars, editors and prompts are JupyterLab's own.
IN_JUPYTERLAB = (".jp-MarkdownOutput", ".jp-OutputArea-output")
THEME = """async (name) => {
  const theme = `JupyterLab ${name}`;
  await window.jupyterapp.commands.execute('apputils:change-theme', { theme });
  const isLight = String(name === 'Light');
  while (document.body.dataset.jpThemeLight !== isLight) await new Promise(requestAnimationFrame);
}"""
# Pictures that say nothing to those who do not see them. What is inside an image is the image.
SILENT_PICTURES = """(parts) => {
  const said = (it) => (it.getAttribute('aria-label') ?? it.getAttribute('alt')
    ?? it.querySelector(':scope > title')?.textContent ?? '').trim();
  const isPart = (it) => it.parentElement.closest('svg, [role=img], [aria-hidden=true]');
  const isOption = (it) => it.getAttribute('role') === 'none' && it.querySelector('[role=option]');
  const all = (what) =>
    [...document.querySelectorAll(parts.map((each) => `${each} ${what}`).join())];
  const isSeen = (it) => it.checkVisibility() && it.getBoundingClientRect().width > 24;
  const drawn = all(':is(svg, img):not([aria-hidden=true])')
    .filter((it) => isSeen(it) && !isPart(it) && !isOption(it));
  return [...new Set([...drawn, ...all('[role=img]')])]
    .filter((it) => !/[a-z]{2}.* .*[a-z0-9]|[\\u4e00-\\u9fff].*[\\u4e00-\\u9fff]/i.test(said(it)))
    .map((it) => `a picture without words: ${it.outerHTML.slice(0, 120)}`);
}"""


def violations(page: Page, *parts: str, skip: tuple[str, ...] = (), only: str = "") -> list[str]:
    """Return the serious violations that axe finds on a page, or in what ``parts`` select.

    ``skip`` names rules that another test checks, ``only`` the one rule to check.
    """
    options: dict[str, object] = {
        "resultTypes": ["violations"],
        "preload": False,  # no style sheet has to be fetched again
        "rules": {rule: {"enabled": False} for rule in skip},
    }
    if only:
        options["runOnly"] = [only]
    context = {"include": [[part] for part in parts]} if parts else None
    found = Axe().run(page, context, options).response["violations"]
    return [
        f"{each['id']} ({each['impact']}): {each['help']}\n  {node['html'][:200]}\n"
        f"  at {' '.join(map(str, node['target']))[-200:]}\n  {node['failureSummary']}"
        for each in found
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


def silent_pictures(page: Page, *parts: str) -> list[str]:
    """Return the pictures that have no alternative text, on a page or in what ``parts`` select."""
    found: list[str] = page.evaluate(SILENT_PICTURES, list(parts or ["body"]))
    return found


def faults_of_notebook(page: Page) -> list[str]:
    """Return what is not accessible in a notebook, in the light and the dark theme."""
    page.evaluate(THEME, "Dark")  # structure is the same in both
    faults = violations(page, *IN_JUPYTERLAB, only="color-contrast")
    page.evaluate(THEME, "Light")
    return faults + violations(page, *IN_JUPYTERLAB) + silent_pictures(page, *IN_JUPYTERLAB)


# --- by keys ------------------------------------------------------------------------------------

WIDGETS = ".mlc[data-lm-suppress-shortcuts]"
# What Tab has to reach, of radio buttons with one name one. What a control then does is noted and
# goes no further, so that the widget stays as it was.
WATCH = """(widget) => {
  const what = 'input, select, textarea, button, [tabindex="0"]';
  const all = [...widget.querySelectorAll(what)]
    .filter((it) => it.checkVisibility({ visibilityProperty: true }) && !it.matches(':disabled'));
  document.activeElement.blur();
  const ring = (it) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(it);
    return outlineStyle === 'none' ? boxShadow : `${outlineStyle} ${outlineWidth} ${boxShadow}`;
  };
  const seen = widget.mlcSeen = { controls: [], said: '', changes: 0, asked: 0, ring };
  const note = (event) => { seen.said = event.type; event.stopImmediatePropagation(); };
  for (const kind of ['click', 'input', 'change']) widget.addEventListener(kind, note, true);
  const observer = new MutationObserver((all) => { seen.changes += all.length; });
  const everything = { subtree: true, childList: true, characterData: true, attributes: true };
  observer.observe(widget, everything);
  const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
  const ask = (_, { direction, msg }) => {
    seen.asked += direction === 'send' && msg.header.msg_type === 'comm_msg';
  };
  kernel?.anyMessage.connect(ask);
  seen.end = () => {
    kernel?.anyMessage.disconnect(ask);
    for (const kind of ['click', 'input', 'change']) widget.removeEventListener(kind, note, true);
    observer.disconnect();
  };
  const group = (it) => (it.type === 'radio' ? it.name : it);
  seen.controls = [...new Map(all.map((it) => [group(it), it])).values()];
  seen.group = group;
  seen.calm = seen.controls.map(ring);
  seen.controls[0].focus();
  const isAlone = (it) => it.type === 'radio'
    && all.filter(({ name }) => name === it.name).length < 2;
  return seen.controls.map((it) => isAlone(it) ? 'alone' : it.getAttribute('role') ?? it.type);
}"""
# Is the control of this number in focus? If so: what it is called, and whether its focus is seen.
HERE = """(widget, number) => {
  const { controls, calm, ring, group } = widget.mlcSeen, it = document.activeElement;
  if (group(it) !== group(controls[number])) return widget.contains(it) ? 'elsewhere' : 'outside';
  const { value, checked } = it;
  Object.assign(widget.mlcSeen, { said: '', changes: 0, asked: 0, value, checked, it });
  const words = [...(it.labels ?? []), it].map((each) => each.innerText).join(' ');
  const name = it.getAttribute('aria-label') ?? words;
  return [name.trim(), ring(it) !== calm[number], it.outerHTML.slice(0, 100)];
}"""
# What a key did: an event that went no further, or a change that the widget made by itself. Where
# it has asked the kernel, the answer of a busy one is waited for.
REACTED = """async (widget, [calm, asked]) => {
  const seen = widget.mlcSeen, start = performance.now();
  const ends = () => performance.now() > start + (seen.asked ? asked : calm);
  const how = () => seen.said
    || (seen.changes || seen.it.value !== seen.value ? 'by itself' : '');
  while (!how() && !ends()) await new Promise((done) => setTimeout(done, 10));
  return how();
}"""
RESTORE = """(widget) => {
  const { it, value, checked } = widget.mlcSeen;
  if ('checked' in it) it.checked = checked;
  if ('value' in it && it.value !== value) it.value = value;
  it.focus();
}"""
# For each kind of control a key, and the one that takes its effect back.
KEYS = {
    "checkbox": [("Space", "Space")],
    "radio": [("ArrowDown", "ArrowUp")],
    "select-one": [("ArrowDown", "ArrowUp"), ("ArrowUp", "ArrowDown")],
    "number": [("ArrowUp", "ArrowDown"), ("ArrowDown", "ArrowUp")],
    "range": [("ArrowRight", "ArrowLeft"), ("ArrowLeft", "ArrowRight")],
    "listbox": [("ArrowDown", "ArrowUp"), ("ArrowUp", "ArrowDown")],
    "application": [
        ("ArrowRight", "ArrowLeft"),
        ("ArrowDown", "ArrowUp"),
        ("ArrowLeft", "ArrowRight"),
        ("ArrowUp", "ArrowDown"),
    ],
    "button": [("Enter", "")],
    "submit": [("Enter", "")],
    "text": [("a", "")],
    "textarea": [("a", "")],
    "region": [],  # a text that is scrolled, by the browser
    "alone": [],  # a radio button without another has nothing to do
}
WAIT_MS = (2_000, 30_000)  # without a question to the kernel, and with one
SCROLLED = 5  # the most parts of one widget that do


def faults_of_keys(page: Page) -> list[str]:
    """Return what is wrong with the widgets of a page for those who use keys instead of a mouse.

    Tab reaches every control, each has a name and shows its focus, and does something when its key
    is pressed. The widgets stay as they were.
    """
    widgets = page.locator(WIDGETS).filter(
        has=page.locator("input, select, button, [tabindex='0']")
    )
    return [fault for widget in widgets.all() for fault in _walk(page, widget)]


def _walk(page: Page, widget: Locator) -> list[str]:
    faults = []
    page.keyboard.press("Shift")  # the browser shows the focus to who used a key last
    kinds = widget.evaluate(WATCH)
    if len(kinds) > 1:  # the way back from another cell is JupyterLab's
        page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")
    for number, kind in enumerate(kinds):
        here = widget.evaluate(HERE, number)
        for _ in range(SCROLLED):  # a browser lets Tab reach what scrolls, too
            if here == "elsewhere":
                page.keyboard.press("Tab")
                here = widget.evaluate(HERE, number)
        if here in ("elsewhere", "outside"):
            faults.append(f"Tab does not reach control {number} of a widget, a {kind}")
            break
        name, is_shown, text = here
        if not name:
            faults.append(f"no name: {text}")
        if not is_shown:
            faults.append(f"the focus is not shown: {text}")
        if not _reacts(page, widget, kind):
            faults.append(f"no key does anything: {text}")
        page.keyboard.press("Tab")
    widget.evaluate("(widget) => widget.mlcSeen.end()")
    return faults


def _reacts(page: Page, widget: Locator, kind: str) -> bool:
    for key, back in KEYS[kind]:
        page.keyboard.press(key)
        how = widget.evaluate(REACTED, WAIT_MS)
        if how == "by itself":  # the widget has answered the key itself
            widget.evaluate("({ mlcSeen }) => Object.assign(mlcSeen, { changes: 0, asked: 0 })")
            page.keyboard.press(back)
            widget.evaluate(REACTED, WAIT_MS)
        if how:
            widget.evaluate(RESTORE)
            return True
    return not KEYS[kind]
