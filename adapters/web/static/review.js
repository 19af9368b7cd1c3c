// Keys for the checklist. Everything they do can be done with Tab and the form's own controls as well.
const form = document.querySelector("[data-review]");
if (form) {
  const candidates = [...form.querySelectorAll("[data-candidate]")];
  const help = document.querySelector("[data-keys]");
  const confirm = document.querySelector("[data-confirm]");
  const ORDER = ["promote", "merge", "replace", "decline", "defer", "edit", "leave"];
  let current = 0;

  const radio = (item, action) => item.querySelector(`input[type=radio][value=${action}]`);
  const marked = (item) => item.querySelector("input[type=radio]:checked")?.value ?? "leave";
  const field = (item, name) => item.querySelector(`[name=${name}-${item.dataset.candidate}]`);

  function counted() {
    const marks = candidates.map(marked);
    return ORDER.filter((one) => marks.includes(one))
      .map((one) => `${one} ${marks.filter((mark) => mark === one).length}`)
      .join(", ");
  }

  function told() {
    form.querySelector("[data-count]").textContent = counted();
  }

  function go(number) {
    current = Math.max(0, Math.min(candidates.length - 1, number));
    candidates.forEach((item, index) => item.classList.toggle("current", index === current));
    candidates[current].focus({ preventScroll: true });
    candidates[current].scrollIntoView({ block: "nearest" });
  }

  function mark(action) {
    const choice = radio(candidates[current], action);
    if (!choice) return false;
    choice.checked = true;
    told();
    return true;
  }

  function toggle() {
    const item = candidates[current];
    const first = radio(item, "promote") ? "promote" : "leave";
    mark(marked(item) === first ? "decline" : first);
  }

  function write(action, name) {
    if (mark(action)) field(candidates[current], name).focus();
  }

  const keys = {
    j: () => go(current + 1),
    k: () => go(current - 1),
    ArrowDown: () => go(current + 1),
    ArrowUp: () => go(current - 1),
    " ": toggle,
    e: () => write("edit", "detail"),
    m: () => write("merge", "memory"),
    p: () => write("replace", "memory"),
    d: () => mark("defer"),
    x: () => mark("decline"),
    u: () => mark("leave"),
    r: () => field(candidates[current], "reason").focus(),
    Enter: ask,
    "?": () => help.showModal(),
  };

  function ask() {
    confirm.querySelector("[data-confirm-count]").textContent = counted();
    confirm.returnValue = "no";
    confirm.showModal();
  }
  confirm.addEventListener("close", () => {
    if (confirm.returnValue === "yes") form.requestSubmit();
    else go(current);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const at = event.target;
    const typing = at.matches("textarea, select, input:not([type=radio])");
    if (typing) {
      if (event.key === "Escape" || (event.key === "Enter" && at.tagName === "INPUT" && form.contains(at))) {
        event.preventDefault();
        go(candidates.indexOf(at.closest("[data-candidate]")));
      }
      return;
    }
    // Space and Enter belong to a link, button or summary that has the focus; the arrows to a radio button.
    if (at.matches("a, button, summary") && [" ", "Enter"].includes(event.key)) return;
    if (at.matches("input[type=radio]") && event.key.startsWith("Arrow")) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  form.addEventListener("focusin", (event) => {
    const item = event.target.closest("[data-candidate]");
    if (item) {
      current = candidates.indexOf(item);
      candidates.forEach((one, index) => one.classList.toggle("current", index === current));
    }
  });
  form.addEventListener("change", told);

  const button = form.querySelector("[data-help]");
  button.hidden = false;
  button.addEventListener("click", () => help.showModal());
  told();
  const failed = candidates.findIndex((item) => item.classList.contains("failed"));
  if (failed >= 0) candidates[failed].scrollIntoView({ block: "nearest" });
  candidates[Math.max(failed, 0)].classList.add("current");
  if (!document.querySelector("[data-focus]")) go(Math.max(failed, 0));
  else current = Math.max(failed, 0);
}
