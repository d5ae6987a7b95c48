// The form of a new key: whoever chooses how it begins has, where that is one product's, chosen the
// profile of that product too. It can be changed afterwards.

document.addEventListener("change", (event) => {
  const prefix = event.target.closest("[data-key-prefix]");
  const profile = prefix?.selectedOptions[0]?.dataset.profile;
  if (profile) prefix.form.elements.compat_profile.value = profile;
});
