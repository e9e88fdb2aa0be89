// What is wider than the page is scrolled by keys, too: it can have the focus where it is wider.
const reach = () => {
  for (const it of document.querySelectorAll("article :is(pre, div)")) {
    const isWider = it.scrollWidth > it.clientWidth && /auto|scroll/.test(getComputedStyle(it).overflowX);
    if (isWider && !it.hasAttribute("tabindex")) it.tabIndex = 0;
  }
};
addEventListener("load", reach);
addEventListener("resize", reach);
