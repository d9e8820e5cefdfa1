// Without this script the page says all it has to say: it adds the filter and the buttons that copy.
(() => {
  "use strict";

  const search = document.getElementById("find");
  const shown = document.querySelector(".shown");
  const buttons = [...document.querySelectorAll("[data-only]")];
  const words = (element, selector) =>
    [...element.querySelectorAll(selector)].map((part) => part.textContent).join(" ").toLowerCase();
  const groups = [...document.querySelectorAll(".group")].map((element) => ({
    element,
    open: element.open,
    rows: [...element.querySelectorAll(".row")].map((row) => ({
      element: row,
      status: row.dataset.status,
      name: row.dataset.test ?? row,
      text: `${words(element, ":scope > summary .id, :scope > summary .sentence")} ${words(row, ".id, .message")}`,
    })),
  }));
  const count = (rows) => new Set(rows.map((row) => row.name)).size;
  const all = count(groups.flatMap((group) => group.rows));

  const apply = () => {
    const only = new Set(buttons.filter((button) => button.ariaPressed === "true").map((button) => button.dataset.only));
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const active = only.size > 0 || wanted.length > 0;
    const matches = (row) => (!only.size || only.has(row.status)) && wanted.every((word) => row.text.includes(word));
    const left = [];
    for (const { element, open, rows } of groups) {
      const found = rows.filter(matches);
      for (const row of rows) row.element.hidden = true;
      for (const row of found) row.element.hidden = false;
      element.hidden = found.length === 0;
      if ("open" in element) element.open = active || open;
      left.push(...found);
    }
    shown.textContent = active ? `Shows ${count(left)} of ${all}.` : "";
  };

  const showAll = () => {
    search.value = "";
    for (const button of buttons) button.ariaPressed = "false";
    apply();
  };

  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.ariaPressed = String(button.ariaPressed !== "true");
      apply();
    });
  }
  search.addEventListener("input", apply);
  document.querySelector(".all").addEventListener("click", showAll);
  // A link to a test that the filter hides would lead nowhere.
  window.addEventListener("hashchange", () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target?.closest("[hidden]")) {
      showAll();
      target.scrollIntoView();
    }
  });

  const copy = async (code) => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      return true;
    } catch {
      // A page served without TLS has no clipboard: what is selected can still be copied.
      getSelection().selectAllChildren(code);
      return document.execCommand("copy");
    }
  };
  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const done = await copy(document.getElementById(button.dataset.copies));
      button.textContent = done ? "Copied" : "Selected";
      shown.textContent = done ? "Copied the replay command." : "The replay command is selected.";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }

  document.querySelector(".filter").hidden = false;
})();
