import { createRequire } from "node:module";

// The TypeScript client has the tools.
const tseslint = createRequire(new URL("../../clients/typescript/package.json", import.meta.url))("typescript-eslint");

const MARKUP = ["innerHTML", "outerHTML", "insertAdjacentHTML", "write", "writeln", "srcdoc", "setHTMLUnsafe"];

export default tseslint.config(
  { ignores: ["**/*.css", "**/*.d.ts", "**/theme.js"] },
  ...tseslint.configs.recommended,
  {
    languageOptions: { parserOptions: { project: ["tests/console/tsconfig.json"], tsconfigRootDir: process.cwd() } },
    rules: {
      curly: "error",
      eqeqeq: "error",
      "no-restricted-properties": ["error", ...MARKUP.map((property) => ({ property, message: "text only ever becomes text" }))],
      "no-eval": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/no-explicit-any": "off",
      "@typescript-eslint/no-unused-vars": ["error", { varsIgnorePattern: "^_" }],
      "@typescript-eslint/prefer-nullish-coalescing": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    },
  },
);
