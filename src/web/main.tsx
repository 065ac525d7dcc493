import "./ui/tokens.css";
import "./ui/base.css";
import "./ui/code.css";
import { render } from "preact";
import { pages } from "./pages.js";
import { Layout } from "./shell/layout.js";
import { followLinks } from "./route/router.js";
import { addKeys, keyListOpen, listenForKeys } from "./ui/keys.js";

const root = document.getElementById("page");
if (root !== null) {
  followLinks();
  listenForKeys();
  addKeys([
    {
      key: "?",
      what: "This list of keys",
      act: () => {
        keyListOpen.value = true;
      },
    },
  ]);
  render(<Layout pages={pages} />, root);
}
