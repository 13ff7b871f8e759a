import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist/", "build/", "src/toolsearch/", "eslint.config.js"] },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: { project: ["tsconfig.json", "tests/tsconfig.json"], tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      curly: "error",
      eqeqeq: "error",
      // The compiler asks for brackets where there is only an index signature.
      "@typescript-eslint/dot-notation": "off",
      // Numbers in messages are fine.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // A signal's reason is whatever its owner says.
      "@typescript-eslint/only-throw-error": ["error", { allowThrowingUnknown: true }],
      "@typescript-eslint/prefer-promise-reject-errors": ["error", { allowThrowingUnknown: true }],
    },
  },
  {
    files: ["tests/**"],
    rules: {
      // node:test's test() returns a promise that its runner waits for.
      "@typescript-eslint/no-floating-promises": [
        "error",
        {
          allowForKnownSafeCalls: [
            { from: "package", package: "node:test", name: ["test", "suite", "after", "describe", "it"] },
          ],
        },
      ],
    },
  },
);
