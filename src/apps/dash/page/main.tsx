/** The entry of the page of `holdfast dash`: mounts the frame. */
import { render } from "preact";
import { App } from "./app.js";

render(<App />, document.body);
