import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { defineConfig } from "vite";

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

// Puts the one script and the one style sheet into the HTML, and writes the
// policy under which a browser runs exactly these.
function singleFile() {
  return {
    name: "single-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const files = Object.values(bundle);
      const html = files.find((file) => file.fileName.endsWith(".html"));
      const script = files.find((file) => file.type === "chunk").code.trim().replaceAll("</script", "<\\/script");
      const style = files.find((file) => file.fileName.endsWith(".css")).source.toString().trim();
      const text = html.source
        .replace(/\s*<script[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`)
        .replace("</body>", () => `<script type="module">${script}</script></body>`);
      for (const name of Object.keys(bundle)) delete bundle[name];
      this.emitFile({ type: "asset", fileName: "page.html", source: text });
      this.emitFile({
        type: "asset",
        fileName: "page.csp",
        source: `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; ` +
          "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      });
    },
  };
}

export default defineConfig({
  plugins: [singleFile()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: { assetsInlineLimit: 0, cssCodeSplit: false, modulePreload: false, target: "es2022" },
});
