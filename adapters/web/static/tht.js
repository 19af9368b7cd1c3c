// What every page does: what an act came to is put under the reader's focus, so that it is read out and seen.
document.querySelector("[data-focus]")?.focus({ preventScroll: false });

// A form is sent once, however often its button is pressed.
for (const form of document.querySelectorAll("form[method='post']")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});
