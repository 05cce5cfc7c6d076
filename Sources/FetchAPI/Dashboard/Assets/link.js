const code = document.getElementById("code");
const text = location.hash.slice(1);
if (text) {
    history.replaceState(null, "", location.pathname);
    code.value = text;
    code.form.submit();
}
